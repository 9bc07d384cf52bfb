package symbol_test

import (
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// TestArraysClosedAfterForward closes an input and an output while a run on them is pending: their memory stays until it is done.
func TestArraysClosedAfterForward(t *testing.T) {
	closed := make(chan struct{})
	meetings.Store("closing", func() error { <-closed; return nil })
	x := sym.Var("x")
	net := sym.Group(sym.ElemwiseAdd(sym.Apply(meet, meetParams{Name: "closing"}, x), x, sym.Name("sum")), sym.Negative(x, sym.Name("neg")))
	ex, err := net.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {3}}, DefaultReq: op.ReqNull})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	a := nd.FromSlice([]float32{1, 2, 3})
	if err := ex.Feed("x", a); err != nil {
		t.Fatal(err)
	}
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	a.Close()
	ex.Outputs()[1].Close()
	close(closed)
	got, err := ex.Outputs()[0].Float32s()
	if err != nil || len(got) != 3 || got[0] != 3 || got[1] != 5 || got[2] != 7 {
		t.Errorf("got %v, %v, want [3 5 7]", got, err)
	}
}
