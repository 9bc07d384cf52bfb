package contrib_test

import (
	"math"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/contrib"
)

func random(seed uint64, shape ...int) op.Tensor { return optest.Random(seed, -1, 1, shape...) }

func TestAttention(t *testing.T) {
	p := contrib.AttentionParams{Heads: 2}
	optest.Run(t, contrib.SelfAttQK.Op, optest.Case{Name: "heads", Params: p, In: optest.Ops(random(1, 3, 2, 12))},
		optest.Case{Name: "values", Params: contrib.AttentionParams{Heads: 1}, // queries 1 and 4, keys 2 and 5
			In: optest.Ops(optest.F([]int{2, 1, 3}, 1, 2, 3, 4, 5, 6)), Want: optest.Ops(optest.F([]int{1, 2, 2}, 2, 5, 8, 20))})
	optest.Run(t, contrib.SelfAttValAtt.Op, optest.Case{Name: "heads", Params: p, In: optest.Ops(random(1, 3, 2, 12), random(2, 4, 3, 3))},
		optest.Case{Name: "values", Params: contrib.AttentionParams{Heads: 1},
			In:   optest.Ops(optest.F([]int{2, 1, 3}, 1, 2, 3, 4, 5, 6), optest.F([]int{1, 2, 2}, 1, 0, 10, 1)),
			Want: optest.Ops(optest.F([]int{2, 1, 1}, 3, 36))})
	optest.Run(t, contrib.EncDecQK.Op, optest.Case{Name: "heads", Params: p, In: optest.Ops(random(1, 3, 2, 4), random(2, 4, 2, 8))})
	optest.Run(t, contrib.EncDecValAtt.Op, optest.Case{Name: "heads", Params: p, In: optest.Ops(random(1, 4, 2, 8), random(2, 4, 3, 4))},
		optest.Case{Name: "half", Params: p, NoDiff: true,
			In: optest.Ops(optest.Array(dtype.Float16, []int{4, 2, 8}, 0.5), optest.Array(dtype.Float16, []int{4, 3, 4}, 0.25))})
}

// The numbers are those of MXNet 1.9.1 for data counting in tenths.
func TestAttentionOfMXNet(t *testing.T) {
	tenths := func(shape ...int) op.Tensor {
		x := optest.Range(shape...)
		for i, v := range op.Slice[float32](x) {
			op.Slice[float32](x)[i] = v / 10
		}
		return x
	}
	p, err := contrib.EncDecQK.Normalize(contrib.AttentionParams{Heads: 2})
	if err != nil {
		t.Fatal(err)
	}
	out, err := optest.Runner{}.Apply(contrib.EncDecQK.Op, p, optest.Ops(tenths(3, 2, 4), tenths(4, 2, 8)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{0.00707107, 0.12020815, 0.23334524, 0.34648234, 0.0636396, 1.9869702} {
		if got := op.Slice[float32](out[0])[i]; math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("element %d: got %v, want %v", i, got, want)
		}
	}
}

func TestAttentionErrors(t *testing.T) {
	o := contrib.SelfAttQK.Op
	p, err := o.ParseParams(map[string]string{"heads": "2"})
	if err != nil {
		t.Fatal(err)
	}
	want := "queries_keys_values: extent 7 of axis 2 for 2 heads, want a multiple of 6"
	if _, err = (optest.Runner{}).Apply(o, p, optest.Ops(random(1, 2, 2, 7))); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
}

func TestElementwise(t *testing.T) {
	optest.Run(t, contrib.DivSqrtDim.Op, optest.Case{In: optest.Ops(optest.F([]int{1, 4}, 2, 4, 6, 8)), Want: optest.Ops(optest.F([]int{1, 4}, 1, 2, 3, 4))})
	optest.Run(t, contrib.Quadratic.Op, optest.Case{Params: contrib.QuadraticParams{A: 2, B: -1, C: 3},
		In: optest.Ops(optest.F([]int{3}, -1, 0, 2)), Want: optest.Ops(optest.F([]int{3}, 6, 3, 9))})
	x := optest.F([]int{2}, 1, -2)
	optest.Run(t, contrib.GradientMultiplier.Op, optest.Case{Params: contrib.GradientMultiplierParams{Scalar: op.Some(-0.5)}, In: optest.Ops(x),
		Want: optest.Ops(x), NoDiff: true, Heads: optest.Ops(optest.F([]int{2}, 3, 4)), WantGrad: optest.Ops(optest.F([]int{2}, -1.5, -2))})
}

func TestAllClose(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name string
		p    contrib.AllCloseParams
		a, b float64
		want float64
	}{
		{"equal", contrib.AllCloseParams{}, 3, 3, 1},
		{"close", contrib.AllCloseParams{}, 1.000001, 1, 1},
		{"apart", contrib.AllCloseParams{}, 1.0001, 1, 0},
		{"tolerant", contrib.AllCloseParams{RTol: op.Some(0.0), ATol: op.Some(1.0)}, 1, 1.9, 1},
		{"NaN", contrib.AllCloseParams{}, nan, nan, 1},
		{"NaN differs", contrib.AllCloseParams{NotEqualNaN: true}, nan, nan, 0},
		{"infinite", contrib.AllCloseParams{}, inf, inf, 1},
		{"signs", contrib.AllCloseParams{}, inf, -inf, 0},
	}
	for _, tt := range tests {
		optest.Run(t, contrib.AllClose.Op, optest.Case{Name: tt.name, Params: tt.p, In: optest.Ops(optest.F([]int{2}, 0, tt.a), optest.F([]int{2}, 0, tt.b)),
			Want: optest.Ops(optest.Array(dtype.Uint8, []int{}, tt.want))})
	}
}
