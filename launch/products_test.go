//go:build cgo && unix

package launch_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"gomx/device/cpu/narrow"
	"gomx/launch"
)

func init() {
	plays["products"] = func(string, string) int {
		err := launch.Run(context.Background(), func(context.Context) error {
			fmt.Println("choice", narrow.Chosen().Products, "from", narrow.Chosen().Source)
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
		return launch.ExitCode(err)
	}
}

// TestProducts gives the scheduler's choice to all workers of a job, whatever their processor.
func TestProducts(t *testing.T) {
	for _, want := range []string{"none", "depthwise,dense"} {
		var out bytes.Buffer
		l, _ := local(t, "products", &out)
		l.BFloat16 = want
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err, out.String())
		}
		if n := strings.Count(out.String(), "choice "+want+" from scheduler"); n != l.Workers {
			t.Errorf("%d workers have the choice %s of the scheduler, want %d:\n%s", n, want,
				l.Workers, out.String())
		}
	}
}
