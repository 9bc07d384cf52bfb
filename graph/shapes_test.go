package graph_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// TestFirstStatesOfUnknownBatch runs one step of a recurrent cell from zeros whose batch size
// follows from their use only, which passes take away, and compares it with the step from zeros of
// that size.
func TestFirstStatesOfUnknownBatch(t *testing.T) {
	cell := func(batch int) *sym.Symbol {
		fc := func(x *sym.Symbol, name string) *sym.Symbol {
			return sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3}, sym.Name(name))
		}
		first := sym.Zeros(sym.InitParams{Shape: []int{batch, 3}})
		h := sym.Tanh(sym.ElemwiseAdd(fc(sym.Var("x"), "i2h"), fc(first, "h2h")))
		return sym.ElemwiseAdd(sym.ElemwiseMul(h, first), h)
	}
	step := func(batch int, config sym.BindConfig, train bool) map[string][]float32 {
		config.Shapes = map[string]dtype.Shape{"x": {2, 3}}
		ex, err := cell(batch).SimpleBind(config)
		if err != nil {
			t.Fatalf("batch %d: %v", batch, err)
		}
		defer ex.Close()
		for name, a := range ex.Args {
			values := make([]float32, a.Size())
			for i := range values {
				values[i] = float32(len(name)+i%5) / 8
			}
			a.Set(nd.FromSlice(values, a.Shape()...))
		}
		if err := ex.Forward(train); err != nil {
			t.Fatalf("batch %d: %v", batch, err)
		}
		got := map[string][]float32{"output": nettest.Values(t, ex.Outputs()[0])}
		if train {
			if err := ex.Backward(nd.Ones(ex.Outputs()[0].Shape())); err != nil {
				t.Fatal(err)
			}
			for name, g := range ex.Grads {
				got[name] = nettest.Values(t, g)
			}
		}
		return got
	}
	for _, config := range []sym.BindConfig{{}, {NoFusion: true}} {
		for _, train := range []bool{false, true} {
			want := step(2, config, train)
			for name, v := range step(0, config, train) {
				nettest.Near(t, name, v, want[name])
			}
		}
	}
}
