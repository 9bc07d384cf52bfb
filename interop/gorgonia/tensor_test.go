package gorgonia_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gomx/dtype"
	"gomx/engine"
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

func TestLendTypes(t *testing.T) {
	for _, tt := range []struct {
		a    *nd.Array
		want string // of the tensor's data, or part of the error
	}{
		{nd.FromSlice([]float32{1, 2}), "[]float32 [1 2]"},
		{nd.FromSlice([]float64{1, 2}, 2, 1), "[]float64 [1 2]"},
		{nd.FromSlice([]int8{1, -2}, 1, 2), "[]int8 [1 -2]"},
		{nd.FromSlice([]int32{1, 2}), "[]int32 [1 2]"},
		{nd.FromSlice([]int64{7}), "[]int64 [7]"},
		{nd.FromSlice([]uint8{1, 2}), "[]uint8 [1 2]"},
		{nd.FromSlice([]bool{true, false}), "[]bool [true false]"},
		{nd.FromSlice([]float64{0, 1, 2, 3, 4, 5}, 3, 2).Slice(1, 3), "[]float64 [2 3 4 5]"},
		{nd.FromSlice([]uint16{1}), "element type uint16 is not supported"},
		{nd.Zeros(nd.Shape{2}, nd.As(dtype.Float16)), "element type float16 is not supported"},
		{nd.FromSlice([]float32{}, 0), "no elements"},
	} {
		d, back, err := interop.Lend(context.Background(), tt.a)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v %v: got error %v, want %q", tt.a.DType(), tt.a.Shape(), err, tt.want)
			}
			continue
		}
		if got := fmt.Sprintf("%T %v", d.Data(), d.Data()); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
		if !tt.a.Shape().Equal(nd.Shape(d.Shape())) {
			t.Errorf("got shape %v, want %v", d.Shape(), tt.a.Shape())
		}
		back()
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
	if _, _, err := interop.Lend(ctx, a); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v while the array was lent already, want %v", err, context.DeadlineExceeded)
	}
	back()
	if err := a.Wait(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestLendRefusesBadValues(t *testing.T) {
	a := nd.FromSlice([]float32{1, 2})
	bad := errors.New("bad")
	a.Engine().Push(&engine.Task{Name: "fail", Fn: func(*engine.Run) error { return bad },
		Uses: []engine.Use{{Var: a.Var(), Access: engine.Overwrite}}})
	if _, _, err := interop.Lend(context.Background(), a); !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
}

func TestLendFromNaiveEngine(t *testing.T) {
	e, err := engine.New(engine.Config{Naive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	a := nd.Ones(nd.Shape{3}, nd.Using(e))
	d, back, err := interop.Lend(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	d.Data().([]float32)[1] = 5
	back()
	if got := array(t, a); got[1] != 5 {
		t.Errorf("got %v, want what was written to the tensor", got)
	}
}

func TestFromDense(t *testing.T) {
	matrix := func(opts ...tensor.ConsOpt) *tensor.Dense {
		return tensor.New(append([]tensor.ConsOpt{tensor.WithShape(2, 3),
			tensor.WithBacking([]float64{1, 2, 3, 4, 5, 6})}, opts...)...)
	}
	transposed := matrix()
	if err := transposed.T(); err != nil {
		t.Fatal(err)
	}
	cut, err := matrix().Slice(nil, tensor.S(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	// its memory: 1 4 2 5 3 6
	columns := tensor.New(tensor.WithShape(2, 3), tensor.AsFortran([]float64{1, 2, 3, 4, 5, 6}))
	for _, tt := range []struct {
		name string
		d    *tensor.Dense
		want string // element type, shape and values, or part of the error
	}{
		{"matrix", matrix(), "float64 (2, 3) [1 2 3 4 5 6]"},
		{"transposed", transposed, "float64 (3, 2) [1 4 2 5 3 6]"},
		{"columns of a matrix", cut.(*tensor.Dense), "float64 (2, 2) [2 3 5 6]"},
		{"column-major", columns, "float64 (2, 3) [1 2 3 4 5 6]"},
		{"float32", tensor.New(tensor.WithBacking([]float32{1, 2})), "float32 (2,) [1 2]"},
		{"int", tensor.New(tensor.WithBacking([]int{1, -2})), "int64 (2,) [1 -2]"},
		{"bool", tensor.New(tensor.WithBacking([]bool{true, false})), "bool (2,) [1 0]"},
		{"uint8", tensor.New(tensor.WithBacking([]uint8{1, 255})), "uint8 (2,) [1 255]"},
		{"scalar", tensor.New(tensor.FromScalar(2.5)), "float64 (1,) [2.5]"},
		{"int scalar", tensor.New(tensor.FromScalar(3)), "int64 (1,) [3]"},
		{"strings", tensor.New(tensor.WithBacking([]string{"a"})),
			"element type string is not supported"},
		{"nil", nil, "nil"},
	} {
		a, err := interop.FromDense(tt.d)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got error %v, want %q", tt.name, err, tt.want)
			}
			continue
		}
		if got := fmt.Sprintf("%v %v %v", a.DType(), a.Shape(), array(t, a)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
