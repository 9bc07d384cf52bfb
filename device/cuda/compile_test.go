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
	units = append(units, chains(t)...)
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

// chains returns generated units: chains of several element types, with broadcast inputs and without.
func chains(t *testing.T) (units []cuda.Unit) {
	t.Helper()
	for _, dt := range cuda.Floats() {
		for _, n := range []int{1 << 20, 1 << 33} {
			c, ok := cuda.NewChain(dt, n, []cuda.Repeat{{}, {Each: 4, Size: 8}, {Each: 1, Size: 1}}, []cuda.ChainStep{
				{Name: "muls", S: 0.7, Args: []int{0}}, {Name: "erf", Args: []int{3}}, {Name: "add", Args: []int{4, 1}}, {Name: "pow", Args: []int{5, 2}},
				{Name: "tanh_grad", Args: []int{6, 0}}, {Name: "clip", S: -1, T: 1, Args: []int{7}},
			}, []int{5, 8})
			if !ok {
				t.Fatalf("no chain of %d elements of %v", n, dt)
			}
			units = append(units, c.Unit())
		}
	}
	return units
}
