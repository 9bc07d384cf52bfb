package graph_test

import (
	"runtime"
	"testing"

	"gomx/dtype"
	sym "gomx/symbol"
)

// TestCompilingMakesNoArrays compiles a network whose values are much larger than its description.
func TestCompilingMakesNoArrays(t *testing.T) {
	const layers, bytes = 32, 1 << 20
	x := sym.Var("data")
	for range layers {
		x = sym.Activation(sym.Sin(x), sym.ActivationParams{ActType: "tanh"})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ex, err := x.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {256, 1024}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > layers*bytes/4 {
		t.Errorf("compiling %d layers of %d bytes allocated %d bytes in the heap", layers, bytes, got)
	}
}
