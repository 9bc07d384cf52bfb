//go:build cuda

package cuda_test

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gomx/device/cuda"
)

var archs = flag.String("archs", "80", "compute capabilities that every kernel is compiled for, separated by commas")

// TestCompile translates every unit with the compiler that this machine has, for each architecture asked for. It needs no device.
func TestCompile(t *testing.T) {
	units, err := cuda.Units()
	if err != nil {
		t.Fatal(err)
	}
	version, err := cuda.CompilerVersion()
	if err != nil {
		t.Skip(err)
	}
	var compiled sync.WaitGroup
	slots := make(chan struct{}, 2)
	for _, arch := range strings.Split(*archs, ",") {
		number, err := strconv.Atoi(arch)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range units {
			compiled.Add(1)
			slots <- struct{}{}
			go func() {
				defer func() { <-slots; compiled.Done() }()
				if _, err := cuda.Compile(u, number); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	compiled.Wait()
	fmt.Printf("NVRTC %s: %d units for compute capabilities %s\n", version, len(units), *archs)
}
