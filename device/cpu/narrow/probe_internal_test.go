//go:build cgo

package narrow

import (
	"flag"
	"testing"
)

var speeds = flag.Bool("speeds", false, "measure the classes of products and print their speeds")

// TestSpeeds measures this processor and prints lines of the table.
func TestSpeeds(t *testing.T) {
	if instructions() == "" {
		t.Skip("this processor has no instructions for bfloat16")
	}
	if !*speeds {
		for p, list := range trials(1) {
			for i, tr := range list {
				for _, f := range []func() error{tr.wide, tr.narrow} {
					if f == nil {
						t.Errorf("%v, case %d: no kernel", p, i)
					} else if err := f(); err != nil {
						t.Errorf("%v, case %d: %v", p, i, err)
					}
				}
			}
		}
		return
	}
	for range 5 {
		c := Choice{Processor: model(), Speed: probe(), Source: "probe"}
		c.Products = faster(c.Speed)
		t.Log(c, c.Speeds())
	}
}
