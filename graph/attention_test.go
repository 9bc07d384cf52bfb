package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/internal/nettest"
	"gomx/op"
	sym "gomx/symbol"
)

// attentionProgram draws a program of attention between layers of other operators.
type attentionProgram struct {
	*rand.Rand
	batch, heads, rows, keys, size int
	shapes                         map[string]dtype.Shape
}

func newAttentionProgram(seed uint64) *attentionProgram {
	rng := rand.New(rand.NewPCG(seed, 3))
	n := func(most int) int { return 1 + rng.IntN(most) }
	return &attentionProgram{Rand: rng, batch: n(3), heads: n(3), rows: n(12), keys: n(12),
		size: n(8), shapes: map[string]dtype.Shape{}}
}

// input makes an argument.
func (p *attentionProgram) input(name string, shape ...int) *sym.Symbol {
	p.shapes[name] = shape
	return sym.Var(name)
}

// split gives an argument of shape (batch, n, heads·size) the shape (batch, heads, n, size), or
// joins the first two axes.
func (p *attentionProgram) split(name string, n int, join bool) *sym.Symbol {
	x := p.input(name, p.batch, n, p.heads*p.size)
	x = sym.Reshape(x, sym.ReshapeParams{Shape: []int{0, 0, -4, p.heads, -1}})
	x = sym.Transpose(x, sym.TransposeParams{Axes: []int{0, 2, 1, 3}})
	if join {
		x = sym.Reshape(x, sym.ReshapeParams{Shape: []int{-3, 0, 0}})
	}
	return x
}

// net draws the program; forms say which parts it has.
func (p *attentionProgram) net() (y *sym.Symbol, form string) {
	both := dtype.Shape{p.batch * p.heads, p.rows, p.keys}
	product := []string{"heads", "four axes", "apart", "transposed", "self", "encdec"}[p.IntN(6)]
	var weigh func(w *sym.Symbol) *sym.Symbol
	var s *sym.Symbol
	half := sym.AttentionParams{Heads: p.heads}
	switch product {
	case "self":
		p.keys = p.rows
		both[2] = p.rows
		x := p.input("x", p.rows, p.batch, 3*p.heads*p.size)
		x = sym.MulScalar(x, sym.ScalarParams{Scalar: 1.5})
		s = sym.ContribInterleavedMatmulSelfattQk(x, half)
		weigh = func(w *sym.Symbol) *sym.Symbol {
			return sym.ContribInterleavedMatmulSelfattValatt(x, w, half)
		}
	case "encdec":
		q := p.input("q", p.rows, p.batch, p.heads*p.size)
		x := p.input("x", p.keys, p.batch, 2*p.heads*p.size)
		s = sym.ContribInterleavedMatmulEncdecQk(q, x, half)
		weigh = func(w *sym.Symbol) *sym.Symbol {
			return sym.ContribInterleavedMatmulEncdecValatt(x, w, half)
		}
	case "transposed":
		q := p.input("q", both[0], p.size, p.rows)
		k, v := p.input("k", both[0], p.size, p.keys), p.input("v", both[0], p.size, p.keys)
		s = sym.BatchDot(q, k, sym.DotParams{TransposeA: true})
		weigh = func(w *sym.Symbol) *sym.Symbol {
			return sym.BatchDot(w, v, sym.DotParams{TransposeB: true})
		}
	default:
		var q, k, v *sym.Symbol
		if product == "apart" {
			q, k = p.input("q", both[0], p.rows, p.size), p.input("k", both[0], p.keys, p.size)
			v = p.input("v", both[0], p.keys, p.size)
		} else {
			join := product == "heads"
			q, k, v = p.split("q", p.rows, join), p.split("k", p.keys, join), p.split("v", p.keys,
				join)
			if !join {
				both = dtype.Shape{p.batch, p.heads, p.rows, p.keys}
			}
		}
		s = sym.BatchDot(q, k, sym.DotParams{TransposeB: true})
		weigh = func(w *sym.Symbol) *sym.Symbol { return sym.BatchDot(w, v, sym.DotParams{}) }
	}
	if p.IntN(2) == 0 {
		s = sym.MulScalar(s, sym.ScalarParams{Scalar: 0.7})
	}
	w, mask := p.weights(s, both)
	if p.IntN(2) == 0 {
		w = sym.Dropout(w, sym.DropoutParams{P: sym.Some(0.4)})
		mask += ", dropout"
	}
	return sym.Tanh(weigh(w)), product + ", " + mask
}

// weights are the softmax of scores of a shape, with or without masks.
func (p *attentionProgram) weights(s *sym.Symbol, both dtype.Shape) (*sym.Symbol, string) {
	four := []int{p.batch, p.heads, p.rows, p.keys}
	wide := func(x *sym.Symbol) *sym.Symbol {
		return sym.Reshape(x, sym.ReshapeParams{Shape: four})
	}
	back := func(x *sym.Symbol) *sym.Symbol { return sym.Reshape(x, sym.ReshapeParams{Shape: both}) }
	some := func(name string, of ...int) *sym.Symbol {
		shape := append([]int{}, of...)
		for i := range shape {
			if p.IntN(3) == 0 {
				shape[i] = 1
			}
		}
		return p.input(name, shape...)
	}
	may := func(x *sym.Symbol) *sym.Symbol { // zeros and ones
		return sym.BroadcastTo(sym.GreaterScalar(x, sym.ScalarParams{Scalar: -0.2}),
			sym.BroadcastToParams{Shape: both})
	}
	softmax := func(x *sym.Symbol) *sym.Symbol { return sym.Softmax(x, sym.SoftmaxParams{}) }
	first := func(x *sym.Symbol) *sym.Symbol { // zeros and ones, with a one in each row
		at := sym.EqualScalar(sym.Arange(sym.ArangeParams{Stop: sym.Some(float64(p.keys))}),
			sym.ScalarParams{})
		return sym.BroadcastLogicalOr(sym.GreaterScalar(x, sym.ScalarParams{Scalar: -0.2}),
			sym.Reshape(at, sym.ReshapeParams{Shape: append(ones(len(both)-1), p.keys)}))
	}
	number := func(v float64, shape ...int) *sym.Symbol {
		return sym.Full(sym.FullParams{Shape: shape, Value: v})
	}
	switch p.IntN(8) {
	case 0:
		return softmax(s), "no mask"
	case 1:
		return softmax(sym.BroadcastAdd(s, some("m", both[len(both)-3:]...))), "added"
	case 2:
		x := sym.BroadcastAdd(some("m", four...), wide(s))
		x = sym.MulScalar(x, sym.ScalarParams{Scalar: 2})
		return back(softmax(sym.BroadcastAdd(x, some("o", four...)))), "added twice"
	case 3:
		m := sym.GreaterScalar(some("m", four...), sym.ScalarParams{Scalar: -0.2})
		low := sym.MulScalar(sym.MinusScalar(m, sym.ScalarParams{Scalar: 1}),
			sym.ScalarParams{Scalar: 1e30})
		return back(sym.BroadcastMul(softmax(sym.BroadcastAdd(wide(s), low)), m)), "lowered"
	case 4:
		m := may(some("m", both...))
		low := sym.MulScalar(sym.OnesLike(s), sym.ScalarParams{Scalar: -1e18})
		return sym.ElemwiseMul(softmax(sym.Where(m, s, low)), m), "where"
	case 5:
		m := sym.BroadcastTo(first(p.input("m", append(ones(len(both)-2), p.rows, p.keys)...)),
			sym.BroadcastToParams{Shape: both})
		low := number(-math.MaxFloat32, both...)
		if p.IntN(2) == 0 {
			return softmax(sym.Where(m, s, low)), "low"
		}
		return softmax(sym.Where(sym.LogicalNot(m), low, s)), "low"
	case 6:
		m := first(p.input("m", both...))
		w := softmax(sym.BroadcastAdd(s, sym.Where(m, number(0, both...), number(math.Inf(-1),
			both...))))
		return sym.Where(sym.NotEqual(w, w), number(0, both...), w), "guarded"
	}
	n := sym.MulScalar(p.input("n", both[:len(both)-1]...), sym.ScalarParams{Scalar: 9})
	return sym.Softmax(s, sym.SoftmaxParams{UseLength: true},
		sym.With("length", sym.Cast(n, sym.CastParams{DType: dtype.Int32}))), "length"
}

// ones is a list of ones.
func ones(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// fuses checks that the pass finds one attention in a program, in training and in inference.
func fuses(t *testing.T, net *sym.Symbol, config sym.BindConfig) {
	t.Helper()
	for _, train := range []bool{true, false} {
		e, err := sym.Explain(net, config, train)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range e.Passes {
			if r.Pass == "fuse-attention" && len(r.Changes) != 1 {
				t.Errorf("precision %v, train %v: %d changes, want 1", config.Precision, train,
					len(r.Changes))
			}
		}
	}
}

// narrowError is the rounding of a chain of a few operators in bfloat16, relative to the norm.
const narrowError = 0.02

// TestAttentionIsOneOperator compares random programs with and without the pass, which must find the
// attention in all of them, and drop the same weights; in bfloat16 it must not lose more to rounding.
func TestAttentionIsOneOperator(t *testing.T) {
	forms := map[string]bool{}
	for seed := range uint64(150) {
		p := newAttentionProgram(seed)
		net, form := p.net()
		forms[form] = true
		t.Run(fmt.Sprintf("seed %d: %s", seed, form), func(t *testing.T) {
			c := &nettest.Trial{Net: net, Seed: seed, Config: sym.BindConfig{Shapes: p.shapes,
				GradReq: map[string]op.Req{"n": op.ReqNull}, Seed: seed}}
			fuses(t, net, c.Config)
			narrow := c.Config
			narrow.Precision, narrow.Products = dtype.BFloat16, op.Some(device.AllProducts)
			fuses(t, net, narrow)
			want, got := c.Run(t, false, []string{"fuse-attention"}), c.Run(t, false, nil)
			c.Config = narrow
			rounded, fused := c.Run(t, false, []string{"fuse-attention"}), c.Run(t, false, nil)
			for key := range want {
				nettest.Alike(t, key, got[key], want[key])
				// The gradient of a mask without effect is zero but for rounding.
				apart := nettest.Distance(fused[key], want[key], 1)
				bound := nettest.Distance(rounded[key], want[key], 1)
				if !(apart <= 2*bound+narrowError) {
					t.Errorf("%s in bfloat16: %v away from float32, without the pass %v", key, apart,
						bound)
				}
			}
		})
	}
	if len(forms) < 40 {
		t.Errorf("%d forms, want most of 96", len(forms))
	}
}
