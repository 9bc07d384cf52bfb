package prim_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestMakers(t *testing.T) {
	run := func(o *op.Op, attrs map[string]string, want op.Tensor) {
		optest.Run(t, o, optest.Case{Attrs: attrs, Want: optest.Ops(want)})
	}
	run(prim.Zeros.Op, map[string]string{"shape": "(2,)", "dtype": "int32"},
		optest.Array(dtype.Int32, []int{2}, 0))
	run(prim.Ones.Op, map[string]string{"shape": "(1, 2)", "dtype": "bool"},
		optest.Array(dtype.Bool, []int{1, 2}, 1))
	run(prim.Full.Op, map[string]string{"shape": "(2,)", "value": "1.5"}, optest.F([]int{2}, 1.5))
	run(prim.Arange.Op, map[string]string{"start": "0", "stop": "3"}, optest.F([]int{3}, 0, 1, 2))
	run(prim.Arange.Op, map[string]string{"start": "3"}, optest.F([]int{3}, 0, 1, 2))
	run(prim.Arange.Op, map[string]string{"start": "1", "stop": "2.5", "step": "0.5",
		"repeat": "2"}, optest.F([]int{6}, 1, 1, 1.5, 1.5, 2, 2))
	run(prim.Arange.Op, map[string]string{"start": "5", "stop": "0", "step": "-2",
		"dtype": "int32"}, optest.Array(dtype.Int32, []int{3}, 5, 3, 1))
	run(prim.Linspace.Op, map[string]string{"start": "0", "stop": "1", "num": "3"},
		optest.F([]int{3}, 0, 0.5, 1))
	run(prim.Linspace.Op, map[string]string{"start": "0", "stop": "1", "num": "4",
		"endpoint": "False"}, optest.F([]int{4}, 0, 0.25, 0.5, 0.75))
	run(prim.Eye.Op, map[string]string{"N": "2"}, optest.F([]int{2, 2}, 1, 0, 0, 1))
	run(prim.Eye.Op, map[string]string{"N": "2", "M": "3", "k": "1"}, optest.F([]int{2, 3}, 0, 1, 0,
		0, 0, 1))
	optest.Run(t, prim.ArangeLike.Op,
		optest.Case{In: optest.Ops(optest.Range(2, 2)), Want: optest.Ops(optest.Range(2, 2))},
		optest.Case{Attrs: map[string]string{"axis": "1", "start": "2", "step": "3"},
			In: optest.Ops(optest.Range(2, 3)), Want: optest.Ops(optest.F([]int{3}, 2, 5, 8))})
}

func TestZeroExtentsAreInferred(t *testing.T) {
	out := []dtype.Shape{{4, -1}}
	if err := prim.Zeros.InferShape(prim.InitParams{Shape: []int{0, 5}}, nil, out); err != nil ||
		!out[0].Equal(dtype.Shape{4, 5}) {
		t.Errorf("got %v, %v, want (4, 5)", out[0], err)
	}
}

// TestZerosOfALaterType: the element type comes from the use of the output unless it is given.
func TestZerosOfALaterType(t *testing.T) {
	for _, tt := range []struct {
		attrs       map[string]string
		given, want dtype.Type
	}{
		{map[string]string{}, dtype.Float64, dtype.Float64},
		{map[string]string{}, dtype.Unknown, dtype.Unknown},
		{map[string]string{"dtype": "-1"}, dtype.Int8, dtype.Int8},
		{map[string]string{"dtype": "5"}, dtype.Unknown, dtype.Int8},
	} {
		p, err := prim.ZerosLater.ParseParams(tt.attrs)
		if err != nil {
			t.Fatal(err)
		}
		out := []dtype.Type{tt.given}
		if err := prim.ZerosLater.InferType(p, nil, out); err != nil || out[0] != tt.want {
			t.Errorf("%v, type %v: got %v, %v, want %v", tt.attrs, tt.given, out[0], err, tt.want)
		}
	}
	optest.Run(t, prim.ZerosLater.Op, optest.Case{Attrs: map[string]string{"shape": "(2,)",
		"dtype": "4"}, Want: optest.Ops(optest.Array(dtype.Int32, []int{2}, 0, 0))})
}

func TestArangeErrors(t *testing.T) {
	for _, tt := range []struct {
		p    prim.ArangeParams
		want string
	}{
		{prim.ArangeParams{Start: 1, Stop: op.Some(0.0), Step: op.Some(1.0), Repeat: 1},
			"never arrives"},
		{prim.ArangeParams{Start: 0, Stop: op.Some(1e300), Step: op.Some(1e-300), Repeat: 1},
			"too many"},
	} {
		if _, err := optest.Infer(prim.Arange.Op, tt.p, nil); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("got error %v, want %q", err, tt.want)
		}
	}
}

// TestNumpyShapes makes a scalar and an array without elements.
func TestNumpyShapes(t *testing.T) {
	for _, o := range []*op.Op{prim.Zeros.Op, prim.Ones.Op, prim.Full.Op} {
		for _, shape := range []string{"()", "(5, 0)"} {
			attrs := map[string]string{"shape": shape, "np_shape": "True"}
			if o == prim.Full.Op {
				attrs["value"] = "3"
			}
			want := map[string]dtype.Shape{"()": {}, "(5, 0)": {5, 0}}[shape]
			p, err := o.ParseParams(attrs)
			if err != nil {
				t.Fatal(err)
			}
			d, err := optest.Infer(o, p, nil)
			if err != nil || !d[0].Shape.Equal(want) {
				t.Errorf("%s of %s: got %v, %v, want %v", o.Name, shape, d, err, want)
			}
		}
	}
}

// TestArangeTruncates: the number of values follows from the fractions, which start and step then
// lose. MXNet 1.9.1 gave the values of float16, whose numbers above 2048 are rounded.
func TestArangeTruncates(t *testing.T) {
	f16 := func(v ...float64) []op.Tensor {
		return optest.Ops(optest.Array(dtype.Float16, []int{len(v)}, v...))
	}
	optest.Run(t, prim.Arange.Op,
		optest.Case{Params: prim.ArangeParams{Start: 1.5, Stop: op.Some(8.5), Step: op.Some(1.5),
			DType: dtype.Float16}, Want: f16(1, 2, 3, 4, 5)},
		optest.Case{Params: prim.ArangeParams{Start: 0.1, Stop: op.Some(1.0), Step: op.Some(0.3),
			DType: dtype.Float16}, Want: f16(0, 0, 0)},
		optest.Case{Params: prim.ArangeParams{Start: 2051, Stop: op.Some(2060.0),
			Step: op.Some(1.7), DType: dtype.Float16},
			Want: f16(2052, 2052, 2054, 2056, 2056, 2056)})
	optest.Run(t, prim.ArangeLike.Op, optest.Case{Params: prim.ArangeLikeParams{Start: 0.5,
		Step: op.Some(1.5)},
		In: f16(0, 0, 0, 0, 0), Want: f16(0, 1, 2, 3, 4)})
	for _, typ := range []dtype.Type{dtype.Int32, dtype.Int64, dtype.Uint8} {
		optest.Run(t, prim.Arange.Op, optest.Case{Params: prim.ArangeParams{Start: 1.5,
			Stop: op.Some(8.5), Step: op.Some(1.5), DType: typ},
			Want: optest.Ops(optest.Array(typ, []int{5}, 1, 2, 3, 4, 5))})
	}
}
