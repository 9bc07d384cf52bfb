//go:build cuda

package cuda_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
)

var archs = flag.String("archs", "80", "compute capabilities that every kernel is compiled for, "+
	"separated by commas")

var (
	pack = flag.String("pack", "", "folder to which TestPack compiles every kernel, for machines "+
		"without NVRTC")
	translated = flag.Bool("translated", false, "let TestPack write PTX, for later devices, "+
		"instead of machine code")
)

// TestPack compiles every unit into a folder, see pack.sh.
func TestPack(t *testing.T) {
	if *pack == "" {
		t.Skip("no -pack")
	}
	each(t, func(u cuda.Unit, arch int) error {
		return cuda.Pack(*pack, u, arch, *translated)
	})
}

// TestCompile translates every unit with the compiler that this machine has, for each architecture
// asked for. It needs no device.
func TestCompile(t *testing.T) {
	each(t, func(u cuda.Unit, arch int) error {
		_, err := cuda.Compile(u, arch)
		return err
	})
}

// each calls compile for every unit and every architecture of -archs, two at a time.
func each(t *testing.T, compile func(u cuda.Unit, arch int) error) {
	t.Helper()
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
				if err := compile(u, number); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	compiled.Wait()
	fmt.Printf("NVRTC %s: %d units for compute capabilities %s\n", version, len(units), *archs)
}

// everyFunction returns chains for n numbers that together have every pointwise function.
func everyFunction(t *testing.T, dt dtype.Type, n int) (list []*cuda.Chain) {
	t.Helper()
	functions := cuda.Expressions()
	for names := range slices.Chunk(slices.Sorted(maps.Keys(functions)), cuda.ChainSteps) {
		var steps []cuda.ChainStep
		for i, name := range names {
			steps = append(steps, cuda.ChainStep{Name: name, S: 0.5, T: 0.25, Type: dt,
				Args: []int{max(1, i), 0}[:functions[name].Operands]})
		}
		c, ok := cuda.NewChain(n, []cuda.ChainInput{{Type: dt}, {Type: dt}}, steps,
			[]int{1 + len(steps)})
		if !ok {
			t.Fatalf("no chain of %q for %v", names, dt)
		}
		list = append(list, c)
	}
	return list
}

// TestChainFunctions runs chains that together have every pointwise function.
func TestChainFunctions(t *testing.T) {
	need(t)
	const n = 24
	q, a, b, out := queue(t, 0), alloc(t, 0, 4*n), alloc(t, 0, 4*n), alloc(t, 0, 4*n)
	ones := slices.Repeat([]float32{1}, n)
	a.CopyIn(0, bytesOf(ones))
	b.CopyIn(0, bytesOf(ones))
	for _, c := range everyFunction(t, dtype.Float32, n) {
		if err := c.Run(q, []unsafe.Pointer{out.Ptr}, []unsafe.Pointer{a.Ptr, b.Ptr}); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
}

// chains returns generated units: chains of several element types, with broadcast inputs and
// without, and of every function.
func chains(t *testing.T) (units []cuda.Unit) {
	t.Helper()
	for _, c := range everyFunction(t, dtype.BFloat16, 1<<20) {
		units = append(units, c.Unit())
	}
	for _, dt := range cuda.Floats() {
		for _, n := range []int{1 << 20, 1 << 33} {
			c, ok := cuda.NewChain(n, []cuda.ChainInput{{Type: dt}, {Each: 4, Size: 8, Type: dt},
				{Each: 1, Size: 1, Type: dt}}, []cuda.ChainStep{
				{Name: "muls", S: 0.7, Args: []int{0}, Type: dt}, {Name: "erf", Args: []int{3},
					Type: dt}, {Name: "add", Args: []int{4, 1}, Type: dt},
				{Name: "pow", Args: []int{5, 2}, Type: dt}, {Name: "tanh_grad", Args: []int{6, 0},
					Type: dt}, {Name: "clip", S: -1, T: 1, Args: []int{7}, Type: dt},
			}, []int{5, 8})
			if !ok {
				t.Fatalf("no chain of %d elements of %v", n, dt)
			}
			units = append(units, c.Unit())
		}
	}
	for _, narrow := range []dtype.Type{dtype.Float16, dtype.BFloat16} {
		c, ok := cuda.NewChain(1<<20, []cuda.ChainInput{{Type: narrow},
			{Each: 4, Size: 8, Type: dtype.Float32}}, []cuda.ChainStep{
			{Name: "copy", Args: []int{0}, Type: dtype.Float32}, {Name: "exp", Args: []int{2},
				Type: dtype.Float32}, {Name: "mul", Args: []int{3, 1}, Type: dtype.Float32},
			{Name: "copy", Args: []int{4}, Type: narrow}, {Name: "relu_grad", Args: []int{5, 0},
				Type: narrow},
		}, []int{4, 6})
		if !ok {
			t.Fatalf("no chain with casts from and to %v", narrow)
		}
		units = append(units, c.Unit())
	}
	if _, ok := cuda.NewChain(8, []cuda.ChainInput{{Type: dtype.Float64}},
		[]cuda.ChainStep{{Name: "copy", Args: []int{0}, Type: dtype.Float16}}, []int{1}); ok {
		t.Error("a chain that computes in double and in float")
	}
	return units
}
