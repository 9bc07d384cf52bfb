package graph_test

import (
	"runtime"
	"testing"

	"gomx/dtype"
	sym "gomx/symbol"
)

// TestCompilingMakesNoArrays compiles a network whose values are much larger than its description.
func TestCompilingMakesNoArrays(t *testing.T) {
	const layers, bytes = 16, 1 << 20
	x := sym.Var("data")
	for range layers {
		x = sym.Pooling(x, sym.PoolingParams{Kernel: dtype.Shape{3, 3}, Pad: dtype.Shape{1, 1}})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ex, err := x.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {4, 16, 64, 64}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > layers*bytes/8 {
		t.Errorf("compiling %d layers of %d bytes allocated %d bytes in the heap", layers, bytes, got)
	}
}
