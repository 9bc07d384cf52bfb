package gorgonia_test

import (
	"context"
	"testing"
	"time"

	interop "gomx/interop/gorgonia"
	nd "gomx/ndarray"
	"gorgonia.org/tensor"
)

func TestLendSharesMemory(t *testing.T) {
	a := nd.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	d, back, err := interop.Lend(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	later := a.AddScalar(1) // waits until the tensor is given back
	if _, err := tensor.Add(d, d, tensor.UseUnsafe()); err != nil {
		t.Fatal(err)
	}
	back()
	back()
	got, err := later.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != 3 || got[5] != 13 {
		t.Errorf("got %v, want 2x+1", got)
	}
}

func TestLendHonoursItsContext(t *testing.T) {
	a := nd.FromSlice([]float32{1, 2})
	_, back, err := interop.Lend(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := interop.Lend(ctx, a); err == nil {
		t.Error("got no error while the array was lent already")
	}
	back()
	if err := a.Wait(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestFromDenseCopiesViews(t *testing.T) {
	d := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float64{1, 2, 3, 4, 5, 6}))
	if err := d.T(); err != nil {
		t.Fatal(err)
	}
	a, err := interop.FromDense(d)
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	if got[1] != 4 || !a.Shape().Equal(nd.Shape{3, 2}) {
		t.Errorf("got %v of shape %v, want the transpose", got, a.Shape())
	}
}
