package symbol_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gomx/autograd"
	"gomx/device"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// recipe is a random computation of a body: each step combines two earlier values.
type recipe []struct{ op, a, b int }

const recipeOps = 7

// newRecipe draws a computation that begins with a number of values.
func newRecipe(r *rand.Rand, begin int) recipe {
	p := make(recipe, 3+r.IntN(6))
	for i := range p {
		p[i].op, p[i].a, p[i].b = r.IntN(recipeOps), r.IntN(begin+i), r.IntN(begin+i)
	}
	return p
}

// symbols computes the recipe. The last value of the list is w, a weight that products read.
func (p recipe) symbols(w *sym.Symbol, list ...*sym.Symbol) []*sym.Symbol {
	for _, s := range p {
		a, b := list[s.a], list[s.b]
		list = append(list, [recipeOps]func() *sym.Symbol{
			func() *sym.Symbol { return sym.ElemwiseAdd(a, b) },
			func() *sym.Symbol { return sym.ElemwiseMul(a, b) },
			func() *sym.Symbol { return sym.Tanh(a) },
			func() *sym.Symbol { return sym.Sigmoid(b) },
			func() *sym.Symbol { return sym.MulScalar(a, sym.ScalarParams{Scalar: 0.7}) },
			func() *sym.Symbol { return sym.Dot(a, w, sym.DotParams{}) },
			func() *sym.Symbol {
				return sym.BroadcastMul(b, sym.Mean(a, sym.ReduceParams{Axis: []int{1}, KeepDims: true}))
			},
		}[s.op]())
	}
	return list
}

// arrays computes the recipe on arrays.
func (p recipe) arrays(w *nd.Array, list ...*nd.Array) []*nd.Array {
	for _, s := range p {
		a, b := list[s.a], list[s.b]
		list = append(list, [recipeOps]func() *nd.Array{
			func() *nd.Array { return nd.ElemwiseAdd(a, b) },
			func() *nd.Array { return nd.ElemwiseMul(a, b) },
			func() *nd.Array { return nd.Tanh(a) },
			func() *nd.Array { return nd.Sigmoid(b) },
			func() *nd.Array { return nd.MulScalar(a, nd.ScalarParams{Scalar: 0.7}) },
			func() *nd.Array { return nd.Dot(a, w, nd.DotParams{}) },
			func() *nd.Array {
				return nd.BroadcastMul(b, nd.Mean(a, nd.ReduceParams{Axis: []int{1}, KeepDims: true}))
			},
		}[s.op]())
	}
	return list
}

// uniform draws an array with elements between -1 and 1.
func uniform(r *rand.Rand, shape ...int) *nd.Array {
	data := make([]float32, nd.Shape(shape).Size())
	for i := range data {
		data[i] = float32(2*r.Float64() - 1)
	}
	return nd.FromSlice(data, shape...)
}

// graphRun binds s for training and returns its outputs and the gradients of all arguments, given
// ones as gradients of the outputs.
func graphRun(t *testing.T, s *sym.Symbol, c sym.BindConfig) (outs []*nd.Array,
	grads map[string]*nd.Array) {
	t.Helper()
	ex, err := s.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(); err != nil {
		t.Fatal(err)
	}
	return ex.Outputs(), ex.Grads
}

// argsRun is graphRun with the arrays that are arguments of s.
func argsRun(t *testing.T, s *sym.Symbol, args map[string]*nd.Array) (outs []*nd.Array,
	grads map[string]*nd.Array) {
	t.Helper()
	read := map[string]*nd.Array{}
	for _, name := range s.Arguments() {
		read[name] = args[name]
	}
	return graphRun(t, s, sym.BindConfig{Args: read})
}

// agree compares two arrays.
func agree(t *testing.T, what string, got, want *nd.Array, tol float64) {
	t.Helper()
	g, err := got.Float64s()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	w, err := want.Float64s()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if len(g) != len(w) {
		t.Fatalf("%s: shape %v, want %v", what, got.Shape(), want.Shape())
	}
	for i := range w {
		if d := math.Abs(g[i] - w[i]); !(d <= tol*(1+math.Abs(w[i]))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g[i], w[i])
		}
	}
}

// byTier runs a test with compiled bodies and with interpreted ones.
func byTier(t *testing.T, f func(t *testing.T)) {
	for _, tier := range []device.Tier{device.MaxTier(), device.TierRef} {
		t.Run(tier.String(), func(t *testing.T) {
			defer device.LimitTier(device.LimitTier(tier))
			f(t)
		})
	}
}

// TestLoopsAgreeWithEagerLoops compares random bodies in _foreach and _while_loop with loops over
// arrays, values and gradients.
func TestLoopsAgreeWithEagerLoops(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	byTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 1))
		for range 12 {
			compareForeach(t, r)
			compareWhile(t, r)
		}
	})
}

func compareForeach(t *testing.T, r *rand.Rand) {
	p, out, next := newRecipe(r, 4), r.IntN(4), r.IntN(3)
	args := map[string]*nd.Array{"x": uniform(r, 1+r.IntN(4), 2, 3), "s": uniform(r, 2, 3),
		"u": uniform(r, 2, 3), "w": uniform(r, 3, 3), "b": uniform(r, 2, 3)}
	w, b := sym.Var("w"), sym.Tanh(sym.Var("b"))
	outs, last := sym.Foreach(func(row, s []*sym.Symbol) (outs, states []*sym.Symbol) {
		v := p.symbols(w, sym.ElemwiseAdd(row[0], s[1]), s[0], s[1], b)
		return append(v[len(v)-1-out:], v[0]), []*sym.Symbol{v[len(v)-1-next], v[len(v)-2]}
	}, []*sym.Symbol{sym.Var("x")}, []*sym.Symbol{sym.Var("s"), sym.Var("u")})
	got, grads := argsRun(t, sym.Group(append(outs, last...)...), args)

	tape := autograd.Train()
	in := map[string]*nd.Array{}
	for name, a := range args {
		a.AttachGrad()
		in[name] = tape.Watch(a)
	}
	eb := nd.Tanh(in["b"])
	eouts, elast := nd.Foreach(func(row, s []*nd.Array) (outs, states []*nd.Array) {
		v := p.arrays(in["w"], nd.ElemwiseAdd(row[0], s[1]), s[0], s[1], eb)
		return append(v[len(v)-1-out:], v[0]), []*nd.Array{v[len(v)-1-next], v[len(v)-2]}
	}, []*nd.Array{in["x"]}, []*nd.Array{in["s"], in["u"]})
	compareWithTape(t, fmt.Sprintf("foreach %v", p), got, grads, append(eouts, elast...), in)
}

// compareWithTape compares a graph's outputs and gradients with arrays on a tape.
func compareWithTape(t *testing.T, what string, got []*nd.Array, grads map[string]*nd.Array,
	want []*nd.Array, in map[string]*nd.Array) {
	t.Helper()
	for i, a := range want {
		agree(t, fmt.Sprintf("%s: output %d", what, i), got[i], a, 1e-4)
	}
	var names []string
	var wrt []*nd.Array
	for name := range grads {
		names, wrt = append(names, name), append(wrt, in[name])
	}
	list, err := autograd.Grad(want, wrt)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		agree(t, what+": gradient of "+name, grads[name], list[i], 1e-3)
	}
}

func compareWhile(t *testing.T, r *rand.Rand) {
	p, out, next, steps := newRecipe(r, 3), r.IntN(3), r.IntN(3), 1+r.IntN(4)
	args := map[string]*nd.Array{"i": nd.Zeros(nd.Shape{1}), "s": uniform(r, 2, 3),
		"w": uniform(r, 3, 3), "b": uniform(r, 2, 3)}
	limit := sym.ScalarParams{Scalar: float64(steps)}
	one := sym.ScalarParams{Scalar: 1}
	w, b := sym.Var("w"), sym.Tanh(sym.Var("b"))
	outs, last := sym.WhileLoop(func(v []*sym.Symbol) *sym.Symbol {
		return sym.LesserScalar(v[0], limit)
	}, func(s []*sym.Symbol) (outs, states []*sym.Symbol) {
		v := p.symbols(w, s[1], sym.BroadcastMul(s[1], sym.Reshape(s[0],
			sym.ReshapeParams{Shape: []int{1, 1}})), b)
		return v[len(v)-1-out:], []*sym.Symbol{sym.PlusScalar(s[0], one), v[len(v)-1-next]}
	}, []*sym.Symbol{sym.Var("i"), sym.Var("s")}, 5)
	got, grads := argsRun(t, sym.Group(append(outs, last...)...), args)

	tape := autograd.Train()
	in := map[string]*nd.Array{}
	for name, a := range args {
		a.AttachGrad()
		in[name] = tape.Watch(a)
	}
	eb := nd.Tanh(in["b"])
	eouts, elast := nd.WhileLoop(func(v []*nd.Array) *nd.Array {
		return nd.LesserScalar(v[0], limit)
	}, func(s []*nd.Array) (outs, states []*nd.Array) {
		v := p.arrays(in["w"], s[1], nd.BroadcastMul(s[1], s[0].Reshape(1, 1)), eb)
		return v[len(v)-1-out:], []*nd.Array{nd.PlusScalar(s[0], one), v[len(v)-1-next]}
	}, []*nd.Array{in["i"], in["s"]}, 5)
	compareWithTape(t, fmt.Sprintf("while %v", p), got, grads, append(eouts, elast...), in)
}

// nested is a loop in a loop, with a choice in the inner one, of x of shape (3, 2, 2), the state s
// of shape (2), and the weight w of shape (2).
func nested() *sym.Symbol {
	w := sym.Var("w")
	outs, last := sym.Foreach(func(rows, s []*sym.Symbol) (outs, states []*sym.Symbol) {
		inner, end := sym.Foreach(func(row, s []*sym.Symbol) (outs, states []*sym.Symbol) {
			v := sym.Tanh(sym.ElemwiseMul(sym.ElemwiseAdd(row[0], s[0]), w))
			some := sym.GreaterScalar(sym.Sum(row[0], sym.ReduceParams{}), sym.ScalarParams{})
			v = sym.Cond(some, func() []*sym.Symbol { return []*sym.Symbol{sym.ElemwiseMul(v, w)} },
				func() []*sym.Symbol { return []*sym.Symbol{sym.Sin(v)} })[0]
			return []*sym.Symbol{v}, []*sym.Symbol{sym.ElemwiseAdd(v, s[0])}
		}, []*sym.Symbol{rows[0]}, s)
		return inner, end
	}, []*sym.Symbol{sym.Var("x")}, []*sym.Symbol{sym.Var("s")})
	return sym.Group(append(outs, last...)...)
}

// nestedArgs draws arguments of nested in float64.
func nestedArgs() map[string]*nd.Array {
	r := rand.New(rand.NewPCG(1, 2))
	args := map[string]*nd.Array{}
	for name, shape := range map[string][]int{"x": {3, 2, 2}, "s": {2}, "w": {2}} {
		data := make([]float64, nd.Shape(shape).Size())
		for i := range data {
			data[i] = 2*r.Float64() - 1
		}
		args[name] = nd.FromSlice(data, shape...)
	}
	return args
}

// total computes a graph and adds up its outputs.
func total(t *testing.T, s *sym.Symbol, args map[string]*nd.Array) (sum float64) {
	t.Helper()
	outs, err := s.Eval(device.CPU(), args)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outs {
		list, err := o.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range list {
			sum += v
		}
	}
	return sum
}

// TestNestedGradient compares the gradients of nested loops, and gradients of these gradients, with
// finite differences.
func TestNestedGradient(t *testing.T) {
	byTier(t, func(t *testing.T) {
		net := nested()
		again := sym.Group(sym.Square(net.Gradient("w")), sym.Square(net.Gradient("x")))
		for name, s := range map[string]*sym.Symbol{"first": net, "second": again} {
			args := nestedArgs()
			_, grads := graphRun(t, s, sym.BindConfig{Args: args})
			for arg, g := range grads {
				got, err := g.Float64s()
				if err != nil {
					t.Fatal(err)
				}
				at, _ := args[arg].Float64s()
				for i := range got {
					const h = 1e-5
					diff := 0.0
					for _, sign := range []float64{1, -1} {
						moved := append([]float64{}, at...)
						moved[i] += sign * h
						args[arg] = nd.FromSlice(moved, args[arg].Shape()...)
						diff += sign * total(t, s, args) / (2 * h)
					}
					args[arg] = nd.FromSlice(at, args[arg].Shape()...)
					if math.Abs(diff-got[i]) > 1e-5*(1+math.Abs(diff)) {
						t.Errorf("%s derivative by %s %d is %v, differences give %v", name, arg, i,
							got[i], diff)
					}
				}
			}
		}
	})
}

// counted counts how often its kernel is prepared and run.
var counted = op.Declare[op.NoParams]("test_counted")

var preparations, calls int

func init() {
	counted.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Doc: "It passes its input on.", NoGrad: "it is for tests only"},
		Infer:  op.SameShape[op.NoParams],
		Ref:    func(_ op.NoParams, c *op.Call) error { return countedRun(c) },
	})
	counted.Kernel(device.KindCPU, device.TierRef,
		func(op.NoParams, *op.Args) (*op.Prepared, error) {
			preparations++
			return &op.Prepared{Run: countedRun}, nil
		})
}

func countedRun(c *op.Call) error {
	calls++
	copy(op.Slice[float32](c.Out[0]), op.Slice[float32](c.In[0]))
	return nil
}

// TestBodyIsCompiledOnce counts kernels and memory of loops of different length: a body is prepared
// once, and in inference memory does not grow with the steps. A branch that is not taken does not
// run.
func TestBodyIsCompiledOnce(t *testing.T) {
	var arenas []int64
	for _, steps := range []int{3, 300} {
		_, last := sym.Foreach(func(row, s []*sym.Symbol) (outs, states []*sym.Symbol) {
			v := sym.Apply(counted, op.NoParams{}, sym.ElemwiseAdd(row[0], s[0]))
			v = sym.Tanh(sym.Dot(v, sym.Var("w"), sym.DotParams{}))
			return nil, []*sym.Symbol{v}
		}, []*sym.Symbol{sym.Var("x")}, []*sym.Symbol{sym.Var("s")})
		preparations, calls = 0, 0
		ex, err := last[0].SimpleBind(sym.BindConfig{DefaultReq: op.ReqNull,
			Shapes: map[string]nd.Shape{"x": {steps, 2, 4}, "s": {2, 4}, "w": {4, 4}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := ex.Forward(false); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ex.Outputs()[0].Float32s(); err != nil {
			t.Fatal(err)
		}
		if preparations != 1 || calls != 2*steps {
			t.Errorf("%d steps: %d preparations and %d calls, want 1 and %d", steps, preparations,
				calls, 2*steps)
		}
		use, err := ex.MemoryUse(false)
		if err != nil {
			t.Fatal(err)
		}
		arenas = append(arenas, use.Arena)
	}
	if arenas[0] != arenas[1] {
		t.Errorf("the arena has %d bytes for 3 steps and %d for 300, want the same", arenas[0],
			arenas[1])
	}
	for _, pred := range []float32{0, 1} {
		calls = 0
		x := sym.Var("x")
		branch := func() []*sym.Symbol {
			return []*sym.Symbol{sym.Apply(counted, op.NoParams{}, x)}
		}
		out := sym.Cond(sym.Var("p"), branch, func() []*sym.Symbol { return []*sym.Symbol{x} })
		total(t, out[0], map[string]*nd.Array{"p": nd.FromSlice([]float32{pred}),
			"x": nd.Ones(nd.Shape{2})})
		if calls != int(pred) {
			t.Errorf("condition %v: the first branch ran %d times", pred, calls)
		}
	}
}

// TestStatesOfBodies trains a batch norm and a dropout inside a loop: moving averages move at every
// step, as in a loop over arrays, and every step drops other elements, the same ones in the
// gradient.
func TestStatesOfBodies(t *testing.T) {
	byTier(t, func(t *testing.T) {
		outs, _ := sym.Foreach(func(row, _ []*sym.Symbol) (outs, states []*sym.Symbol) {
			norm := sym.BatchNorm(row[0], sym.BatchNormParams{NoFixGamma: true}, sym.Name("bn"))
			return []*sym.Symbol{norm.At(0),
				sym.Dropout(row[0], sym.DropoutParams{}, sym.Name("drop")).At(0)}, nil
		}, []*sym.Symbol{sym.Var("x")}, nil)
		s := sym.Group(outs...)
		if got := fmt.Sprint(s.AuxStates()); got != "[bn_moving_mean bn_moving_var]" {
			t.Fatalf("auxiliary states %s", got)
		}
		r := rand.New(rand.NewPCG(3, 4))
		x := uniform(r, 4, 8, 3)
		ex, err := s.SimpleBind(sym.BindConfig{Args: map[string]*nd.Array{"x": x,
			"bn_gamma": nd.Ones(nd.Shape{3}), "bn_beta": nd.Zeros(nd.Shape{3})}, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		mean, variance := nd.Zeros(nd.Shape{3}), nd.Zeros(nd.Shape{3})
		tape := autograd.Train()
		gamma, beta := nd.Ones(nd.Shape{3}), nd.Zeros(nd.Shape{3})
		for i, row := range x.Rows() {
			y := nd.BatchNorm(tape.Watch(row), gamma, beta, mean, variance,
				nd.BatchNormParams{NoFixGamma: true})
			agree(t, "batch norm", ex.Outputs()[0].At(i), y, 1e-5)
		}
		agree(t, "moving mean", ex.Aux["bn_moving_mean"], mean, 1e-6)
		agree(t, "moving variance", ex.Aux["bn_moving_var"], variance, 1e-6)

		if err := ex.Backward(nd.Zeros(x.Shape()), nd.Ones(x.Shape())); err != nil {
			t.Fatal(err)
		}
		agree(t, "gradient of dropout", nd.ElemwiseMul(ex.Grads["x"], x), ex.Outputs()[1], 1e-6)
		masks := map[string]bool{}
		for _, row := range ex.Outputs()[1].Rows() {
			list, err := row.Float32s()
			if err != nil {
				t.Fatal(err)
			}
			mask := ""
			for _, v := range list {
				mask += fmt.Sprint(v == 0)
			}
			masks[mask] = true
		}
		if len(masks) != 4 {
			t.Errorf("%d different masks in 4 steps", len(masks))
		}
	})
}
