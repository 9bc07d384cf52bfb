package symbol_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// penalty is a loss on how fast the critic net(x) changes with x: the mean of (|∇| - 1)² over
// samples, as of a Wasserstein GAN with gradient penalty.
func penalty(net *sym.Symbol) *sym.Symbol {
	slope := sym.Flatten(sym.Sum(net, sym.ReduceParams{}).Gradient("x"))
	length := sym.Sqrt(sym.Sum(sym.Square(slope), sym.ReduceParams{Axis: []int{1}}))
	return sym.Mean(sym.Square(sym.PlusScalar(length, sym.ScalarParams{Scalar: -1})),
		sym.ReduceParams{})
}

// critics are networks of which a penalty is learned.
var critics = []struct {
	name  string
	shape dtype.Shape
	net   func(x *sym.Symbol) *sym.Symbol
}{
	{"dense", dtype.Shape{3, 4}, func(x *sym.Symbol) *sym.Symbol {
		h := sym.Activation(sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 6},
			sym.Name("fc1")), sym.ActivationParams{ActType: "tanh"})
		return sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 1}, sym.Name("fc2"))
	}},
	{"convolutional", dtype.Shape{2, 2, 6, 6}, func(x *sym.Symbol) *sym.Symbol {
		p := sym.ConvolutionParams{Kernel: []int{3, 3}, Stride: []int{2, 2}, Pad: []int{1, 1},
			NumFilter: 3}
		h := sym.LeakyReLU(sym.Convolution(x, p, sym.Name("conv1")),
			sym.LeakyReLUParams{ActType: "elu"})
		h = sym.Convolution(sym.InstanceNorm(h, sym.InstanceNormParams{}), p, sym.Name("conv2"))
		h = sym.Pooling(sym.Sigmoid(h), sym.PoolingParams{PoolType: "avg", Kernel: []int{2, 2}})
		return sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 1}, sym.Name("fc"))
	}},
	{"softmax output", dtype.Shape{3, 4}, func(x *sym.Symbol) *sym.Symbol {
		logits := sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 5}, sym.Name("fc"))
		return sym.SoftmaxOutput(logits, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
	}},
}

// TestGradientPenalty learns from the gradient of a network: gradients by weights against
// differences in float64, and those of the fast kernels in float32 against these.
func TestGradientPenalty(t *testing.T) {
	for _, c := range critics {
		t.Run(c.name, func(t *testing.T) {
			loss := penalty(c.net(sym.Var("x")))
			exact := bindRandom(t, loss, c.shape, dtype.Float64)
			nettest.Step(t, exact)
			quick := bindRandom(t, loss, c.shape, dtype.Float32)
			nettest.Step(t, quick)
			for name, g := range exact.Grads {
				if strings.Contains(name, "label") {
					continue
				}
				want := doubles(t, g)
				for k, v := range doubles(t, quick.Grads[name]) {
					if math.Abs(v-want[k]) > 2e-4*(1+math.Abs(want[k])) {
						t.Errorf("float32 gradient of %s at %d: got %v, want %v", name, k, v,
							want[k])
						break
					}
				}
				checkDifferences(t, exact, name, want)
			}
		})
	}
}

func doubles(t *testing.T, a *nd.Array) []float64 {
	t.Helper()
	v, err := a.AsType(dtype.Float64).Float64s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// bindRandom binds a loss with arguments that depend on their names alone.
func bindRandom(t *testing.T, loss *sym.Symbol, x dtype.Shape, typ dtype.Type) *sym.Executor {
	t.Helper()
	ex, err := loss.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"x": x},
		Types: map[string]dtype.Type{"x": typ}})
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range ex.Args {
		rng := rand.New(rand.NewPCG(uint64(len(name)), uint64(name[len(name)-1])))
		v := make([]float64, a.Size())
		for i := range v {
			if v[i] = rng.Float64() - 0.3; strings.Contains(name, "label") {
				v[i] = float64(i)
			}
		}
		a.Set(nd.FromSlice(v, a.Shape()...).AsType(typ))
	}
	return ex
}

// checkDifferences compares a gradient of a scalar loss at some places with central differences.
func checkDifferences(t *testing.T, ex *sym.Executor, name string, grad []float64) {
	t.Helper()
	const h = 1e-5
	x := doubles(t, ex.Args[name])
	for k := 0; k < len(x); k += 1 + len(x)/12 {
		at := func(d float64) float64 {
			moved := slices.Clone(x)
			moved[k] += d
			if err := nd.CopyFrom(ex.Args[name], moved); err != nil {
				t.Fatal(err)
			}
			if err := ex.Forward(true); err != nil {
				t.Fatal(err)
			}
			return doubles(t, ex.Outputs()[0])[0]
		}
		if want := (at(h) - at(-h)) / (2 * h); math.Abs(grad[k]-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("gradient of %s at %d: got %v, want %v", name, k, grad[k], want)
		}
	}
	if err := nd.CopyFrom(ex.Args[name], x); err != nil {
		t.Fatal(err)
	}
}

func TestGradientMistakes(t *testing.T) {
	x := sym.Var("x")
	ctc := sym.CTCLoss(x, sym.CTCLossParams{}, sym.Name("ctc"))
	for _, c := range []struct {
		name string
		s    *sym.Symbol
		want string
	}{
		{"no such variable", sym.Square(x).Gradient("y"), `"y" is no argument, want one of ["x"]`},
		{"second derivative", ctc.Gradient("x").Gradient("x"), "_backward_CTCLoss ctc_backward"},
		{"no gradient", sym.Cosh(sym.ContribAllclose(x, sym.Var("y"),
			sym.AllCloseParams{})).Gradient("x"), "_contrib_allclose"},
	} {
		if err := c.s.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if s := sym.Square(x).Gradient("x"); s.Err() != nil {
		t.Error(s.Err())
	}
}

func TestGradientOfWhatDoesNotMatter(t *testing.T) {
	x, y := sym.Var("x"), sym.Var("y")
	g := sym.Group(sym.Square(x), y).Gradient("y", "x")
	ex, err := g.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {2}, "y": {2}},
		DefaultReq: op.ReqNull})
	if err != nil {
		t.Fatal(err)
	}
	ex.Args["x"].Fill(3)
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	nettest.Compare(t, "gradient by y", nettest.Values(t, ex.Outputs()[0]), []float32{1, 1})
	nettest.Compare(t, "gradient by x", nettest.Values(t, ex.Outputs()[1]), []float32{6, 6})
}

func ExampleSymbol_Gradient() {
	x := sym.Var("x")
	cube := sym.ElemwiseMul(sym.Square(x), x)
	slope := cube.Gradient("x")
	ex, err := sym.Group(slope, slope.Gradient("x")).SimpleBind(
		sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {2}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ex.Args["x"].Fill(2)
	if err := ex.Forward(false); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ex.Outputs()[0])
	fmt.Println(ex.Outputs()[1])
	// Output:
	// [12. 12.]
	// <Array 2 cpu(0)>
	// [12. 12.]
	// <Array 2 cpu(0)>
}
