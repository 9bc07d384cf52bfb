package prim_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

var (
	nan  = math.NaN()
	none = op.NoParams{}
)

func TestUnary(t *testing.T) {
	tests := []struct {
		op   op.Handle[op.NoParams]
		x, y []float64
	}{
		{prim.Abs, []float64{-2, 0.5}, []float64{2, 0.5}},
		{prim.Sign, []float64{-2, 0.5}, []float64{-1, 1}},
		{prim.Negative, []float64{-2, 0.5}, []float64{2, -0.5}},
		{prim.Reciprocal, []float64{-2, 0.5}, []float64{-0.5, 2}},
		{prim.Square, []float64{-2, 0.5}, []float64{4, 0.25}},
		{prim.Sqrt, []float64{4, 0.25}, []float64{2, 0.5}},
		{prim.Rsqrt, []float64{4, 0.25}, []float64{0.5, 2}},
		{prim.Cbrt, []float64{-8, 27}, []float64{-2, 3}},
		{prim.Rcbrt, []float64{-8, 27}, []float64{-0.5, 1.0 / 3}},
		{prim.Exp, []float64{0, 1}, []float64{1, math.E}},
		{prim.Expm1, []float64{0, 1}, []float64{0, math.E - 1}},
		{prim.Log, []float64{1, math.E}, []float64{0, 1}},
		{prim.Log10, []float64{1, 100}, []float64{0, 2}},
		{prim.Log2, []float64{1, 8}, []float64{0, 3}},
		{prim.Log1p, []float64{0, 1}, []float64{0, math.Ln2}},
		{prim.Relu, []float64{-2, 3}, []float64{0, 3}},
		{prim.Sigmoid, []float64{0, 2}, []float64{0.5, 0.880797}},
		{prim.Softsign, []float64{-1, 3}, []float64{-0.5, 0.75}},
		{prim.Tanh, []float64{0, 1}, []float64{0, 0.761594}},
		{prim.Erf, []float64{0, 1}, []float64{0, 0.842701}},
		{prim.Erfinv, []float64{0, 0.842701}, []float64{0, 1}},
		{prim.Gamma, []float64{5, 0.5, -0.5}, []float64{24, 1.772454, -3.544908}},
		{prim.Gammaln, []float64{5, 0.5}, []float64{3.178054, 0.572365}},
		{prim.Sin, []float64{0, 1}, []float64{0, 0.841471}},
		{prim.Cos, []float64{0, 1}, []float64{1, 0.540302}},
		{prim.Tan, []float64{0, 1}, []float64{0, 1.557408}},
		{prim.Arcsin, []float64{0, 0.5}, []float64{0, 0.523599}},
		{prim.Arccos, []float64{0, 0.5}, []float64{1.570796, 1.047198}},
		{prim.Arctan, []float64{0, 1}, []float64{0, 0.785398}},
		{prim.Sinh, []float64{0, 1}, []float64{0, 1.175201}},
		{prim.Cosh, []float64{0, 1}, []float64{1, 1.543081}},
		{prim.Arcsinh, []float64{0, 1}, []float64{0, 0.881374}},
		{prim.Arccosh, []float64{1.5, 2}, []float64{0.962424, 1.316958}},
		{prim.Arctanh, []float64{0, 0.5}, []float64{0, 0.549306}},
		{prim.Degrees, []float64{math.Pi}, []float64{180}},
		{prim.Radians, []float64{180}, []float64{math.Pi}},
		{prim.Ceil, []float64{-1.4, 1.4}, []float64{-1, 2}},
		{prim.Floor, []float64{-1.4, 1.4}, []float64{-2, 1}},
		{prim.Trunc, []float64{-1.4, 1.6}, []float64{-1, 1}},
		{prim.Fix, []float64{-1.4, 1.6}, []float64{-1, 1}},
		{prim.LogicalNot, []float64{-1.4, 3}, []float64{0, 0}},
		{prim.ZerosLike, []float64{-1.4, 3}, []float64{0, 0}},
		{prim.OnesLike, []float64{-1.4, 3}, []float64{1, 1}},
		{prim.Identity, []float64{-1.4, nan}, []float64{-1.4, nan}},
	}
	for _, tt := range tests {
		n := []int{len(tt.x)}
		optest.Run(t, tt.op.Op, optest.Case{
			In: optest.Ops(optest.F(n, tt.x...)), Want: optest.Ops(optest.F(n, tt.y...)),
			NoDiff: tt.op == prim.Identity,
		})
	}
}

func TestUnaryCorners(t *testing.T) {
	halves := []float64{0.5, 1.5, -0.5, -1.5, 2.5}
	tests := []struct {
		name string
		op   op.Handle[op.NoParams]
		x, y []float64
	}{
		{"halves away from zero", prim.Round, halves, []float64{1, 2, -1, -2, 3}},
		{"halves down", prim.Rint, halves, []float64{0, 1, -1, -2, 2}},
		{"NaN has no sign", prim.Sign, []float64{nan, 0}, []float64{0, 0}},
		{"NaN stays", prim.Relu, []float64{nan, -1}, []float64{nan, 0}},
		{"zero", prim.LogicalNot, []float64{0, nan}, []float64{1, 0}},
	}
	for _, tt := range tests {
		n := []int{len(tt.x)}
		optest.Run(t, tt.op.Op, optest.Case{Name: tt.name, NoDiff: true,
			In: optest.Ops(optest.F(n, tt.x...)), Want: optest.Ops(optest.F(n, tt.y...))})
	}
}

func TestUnaryTypes(t *testing.T) {
	big := float64(1<<31 + 1) // its square needs 63 bits
	tests := []struct {
		op   op.Handle[op.NoParams]
		t    dtype.Type
		x, y []float64
	}{
		{prim.Exp, dtype.Int32, []float64{1, -2, 7}, []float64{2, 0, 1096}},
		{prim.Sqrt, dtype.Uint8, []float64{1, 2, 250}, []float64{1, 1, 15}},
		{prim.Abs, dtype.Int8, []float64{-3, 4, 0}, []float64{3, 4, 0}},
		{prim.Square, dtype.Uint8, []float64{20, 1, 0}, []float64{144, 1, 0}},
		{prim.Floor, dtype.Int64, []float64{big, -1, 0}, []float64{big, -1, 0}},
		{prim.Exp, dtype.Float16, []float64{0, 1, 20}, []float64{1, math.E, math.Inf(1)}},
		{prim.Negative, dtype.BFloat16, []float64{0.5, 1, 2}, []float64{-0.5, -1, -2}},
		{prim.Exp, dtype.Float64, []float64{0, 1, -700}, []float64{1, math.E, math.Exp(-700)}},
		{prim.Identity, dtype.Bool, []float64{0, 1, 1}, []float64{0, 1, 1}},
	}
	for _, tt := range tests {
		optest.Run(t, tt.op.Op, optest.Case{Name: tt.t.String(), NoDiff: true,
			In:   optest.Ops(optest.Array(tt.t, []int{3}, tt.x...)),
			Want: optest.Ops(optest.Array(tt.t, []int{3}, tt.y...))})
	}
}

// TestSecondDerivatives differentiates the nodes of gradients again.
func TestSecondDerivatives(t *testing.T) {
	tests := []struct {
		op   op.Handle[op.NoParams]
		x, d float64
	}{
		{prim.Exp, 1, math.E},
		{prim.Sin, 1, -math.Sin(1)},
		{prim.Square, 3, 2},
		{prim.Log, 2, -0.25},
		{prim.Tanh, 0.5, -2 * math.Tanh(0.5) * (1 - math.Tanh(0.5)*math.Tanh(0.5))},
	}
	for _, tt := range tests {
		x := op.Var("x")
		y := tt.op.Node(none, x.Entry(0))
		one := prim.OnesLike.Apply(none, x.Entry(0))
		got := derivative(t, derivative(t, y.Entry(0), one, x), one, x)
		out, err := optest.Eval([]op.Entry{got},
			map[*op.Node]op.Tensor{x: op.TensorOf([]float64{tt.x})})
		if err != nil {
			t.Fatal(err)
		}
		if g := op.Slice[float64](out[0])[0]; math.Abs(g-tt.d) > 1e-12 {
			t.Errorf("%s: second derivative at %v: got %v, want %v", tt.op.Name, tt.x, g, tt.d)
		}
	}
}

// derivative returns the sum of the gradients that flow from e into x.
func derivative(t *testing.T, e, head op.Entry, x *op.Node) op.Entry {
	t.Helper()
	if e.Node == x {
		return head
	}
	zero := prim.ZerosLike.Apply(none, x.Entry(0))
	if e.Node.IsVar() {
		return zero
	}
	need := make([]bool, len(e.Node.In))
	for i := range need {
		need[i] = true
	}
	heads := make([]op.Entry, e.Node.NumOutputs())
	heads[e.Index] = head
	grads, err := op.Gradient(e.Node, heads, need)
	if err != nil {
		t.Fatal(err)
	}
	sum := zero
	for i, g := range grads {
		if g.Valid() {
			sum = prim.ElemwiseAdd.Apply(none, sum, derivative(t, e.Node.In[i], g, x))
		}
	}
	return sum
}
