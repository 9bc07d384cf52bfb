package exec_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// TestWriteGivesZerosWhereNoGradientFlows binds gradient arrays that hold other numbers to graphs
// that let no gradient pass: under write they become zeros, under add they keep what they hold.
func TestWriteGivesZerosWhereNoGradientFlows(t *testing.T) {
	x, y := sym.Var("x"), sym.Var("y")
	for name, s := range map[string]*sym.Symbol{
		"sign":        sym.Sign(x),
		"shape_array": sym.ShapeArray(x),
		"size_array":  sym.SizeArray(x),
		"BlockGrad":   sym.BlockGrad(x),
		"round":       sym.Round(x),
		"rint":        sym.Rint(x),
		"floor":       sym.Floor(x),
		"ceil":        sym.Ceil(x),
		"trunc":       sym.Trunc(x),
		"fix":         sym.Fix(x),
		"comparison":  sym.Group(sym.BroadcastGreater(x, y), sym.BroadcastEqual(x, y)),
		"argmax":      sym.ArgMax(x, sym.ArgParams{Axis: op.Some(0)}),
		"one_hot":     sym.OneHot(x, sym.OneHotParams{Depth: 3}),
		"zeros_like":  sym.ZerosLike(x),
		"ones_like":   sym.OnesLike(x),
		"through":     sym.Square(sym.Exp(sym.BlockGrad(sym.Exp(x)))),
		"beside":      sym.ElemwiseAdd(sym.Square(y), sym.Sign(x)),
	} {
		for _, req := range []op.Req{op.ReqWrite, op.ReqAdd} {
			c := sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {2, 3}}, DefaultReq: req,
				Grads: map[string]*nd.Array{}}
			for _, arg := range s.Arguments() {
				c.Shapes[arg] = dtype.Shape{2, 3}
				c.Grads[arg] = nd.Full(7, nd.Shape{2, 3})
			}
			ex, err := s.SimpleBind(c)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := ex.Forward(true); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := ex.Backward(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := float32(0)
			if req == op.ReqAdd {
				want = 7
			}
			for i, v := range nettest.Values(t, c.Grads["x"]) {
				if v != want {
					t.Errorf("%s, %v: gradient[%d] is %v, want %v", name, req, i, v, want)
					break
				}
			}
			ex.Close()
		}
	}
}

// TestSoftmaxLengthGetsZeros: the length of a masked softmax has no gradient while its data have
// one.
func TestSoftmaxLengthGetsZeros(t *testing.T) {
	s := sym.Softmax(sym.Var("x"), sym.SoftmaxParams{UseLength: true},
		sym.With("length", sym.Var("length")))
	g := nd.Full(7, nd.Shape{2}, nd.As(dtype.Int32))
	ex, err := s.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {2, 3}},
		Grads: map[string]*nd.Array{"length": g},
		Args:  map[string]*nd.Array{"length": nd.FromSlice([]int32{1, 2}, 2)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(); err != nil {
		t.Fatal(err)
	}
	if got, err := nd.Values[int32](g); err != nil || got[0] != 0 || got[1] != 0 {
		t.Errorf("gradient of the length is %v (%v), want zeros", got, err)
	}
}

// TestHeadGradientsOfOtherTypes: they are converted to the type of the output, as MXNet does.
func TestHeadGradientsOfOtherTypes(t *testing.T) {
	ex := boundSquare(t, sym.BindConfig{})
	for _, head := range []*nd.Array{
		nd.FromSlice([]float64{2.5, 2.5, 2.5}, 3), nd.Full(2.5, nd.Shape{3}, nd.As(dtype.Float16)),
	} {
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		if err := ex.Backward(head); err != nil {
			t.Fatalf("%v: %v", head.DType(), err)
		}
		nettest.Near(t, head.DType().String(), nettest.Values(t, ex.Grads["x"]),
			[]float32{5, 10, 15})
	}
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(nd.FromSlice([]int32{2, 2, 2}, 3)); err != nil {
		t.Fatal(err)
	}
	nettest.Near(t, "int32", nettest.Values(t, ex.Grads["x"]), []float32{4, 8, 12})
}

// boundSquare binds x² for x = (1, 2, 3).
func boundSquare(t *testing.T, c sym.BindConfig) *sym.Executor {
	t.Helper()
	c.Args = map[string]*nd.Array{"x": nd.FromSlice([]float32{1, 2, 3}, 3)}
	ex, err := sym.Square(sym.Var("x")).SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ex.Close)
	return ex
}

func TestHeadGradientsInNumber(t *testing.T) {
	ex := boundSquare(t, sym.BindConfig{})
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(nd.Full(2, nd.Shape{3}), nd.Full(9, nd.Shape{3}), nil); err != nil {
		t.Fatalf("more head gradients than outputs: %v", err)
	}
	nettest.Near(t, "gradient", nettest.Values(t, ex.Grads["x"]), []float32{4, 8, 12})
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	for want, heads := range map[string][]*nd.Array{"nil": {nil},
		"shape (2,)": {nd.Ones(nd.Shape{2})}} {
		if err := ex.Backward(heads...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that mentions %q", err, want)
		}
	}
	x := sym.Var("x")
	two, err := sym.Group(sym.Square(x), sym.Exp(x)).SimpleBind(
		sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {3}}})
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if err := two.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := two.Backward(nd.Ones(nd.Shape{3})); err == nil ||
		!strings.Contains(err.Error(), "1 head gradients, want 2") {
		t.Errorf("error %v, want one that counts the head gradients", err)
	}
}

// TestBackwardAfterInference: the graph is run again as in training, with the values of now.
func TestBackwardAfterInference(t *testing.T) {
	ex := boundSquare(t, sym.BindConfig{})
	for range 2 {
		if err := ex.Forward(false); err != nil {
			t.Fatal(err)
		}
		if err := ex.Backward(nd.Full(2, nd.Shape{3})); err != nil {
			t.Fatal(err)
		}
		nettest.Near(t, "gradient", nettest.Values(t, ex.Grads["x"]), []float32{4, 8, 12})
	}
	ex.Close()
	if err := ex.Backward(); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Backward of a closed executor: error %v", err)
	}
}

// TestBackwardTwice: every Backward after one Forward computes the same gradients, which add up
// where that is asked for. Dropout keeps its mask.
func TestBackwardTwice(t *testing.T) {
	for _, train := range []bool{true, false} {
		for _, req := range []op.Req{op.ReqWrite, op.ReqAdd} {
			s := sym.Dropout(sym.Square(sym.Var("x")), sym.DropoutParams{})
			ex, err := s.SimpleBind(sym.BindConfig{DefaultReq: req, Seed: 3,
				Args: map[string]*nd.Array{"x": nd.Full(1, nd.Shape{64})}})
			if err != nil {
				t.Fatal(err)
			}
			if err := ex.Backward(); err == nil ||
				!strings.Contains(err.Error(), "wants a Forward") {
				t.Errorf("Backward before Forward: error %v", err)
			}
			ex.Grads["x"].Fill(0)
			for run := range 2 {
				if err := ex.Forward(train); err != nil {
					t.Fatal(err)
				}
				want := nettest.Values(t, ex.Outputs()[0])
				ex.Grads["x"].Fill(0)
				for k := range 3 {
					if err := ex.Backward(); err != nil {
						t.Fatal(err)
					}
					times := float32(2)
					if req == op.ReqAdd {
						times *= float32(k + 1)
					}
					grad := make([]float32, len(want))
					for i, y := range want {
						grad[i] = times * y
					}
					nettest.Near(t, fmt.Sprintf("train %v, %v, run %d, gradient %d", train, req,
						run, k), nettest.Values(t, ex.Grads["x"]), grad)
				}
				nettest.Near(t, "output", nettest.Values(t, ex.Outputs()[0]), want)
			}
			ex.Close()
		}
	}
}

// TestGradientsOfDropoutAfterInference: they pass unchanged unless dropout always drops, also where
// the graph trained before. With p = 1 no gradient passes in training.
func TestGradientsOfDropoutAfterInference(t *testing.T) {
	heads := nd.Arange(1, 65, 1)
	for _, p := range []sym.DropoutParams{{}, {P: op.Some(1.0)}, {Mode: "always"}} {
		ex, err := sym.Dropout(sym.Var("x"),
			p).SimpleBind(sym.BindConfig{Args: map[string]*nd.Array{"x": nd.Ones(nd.Shape{64})}})
		if err != nil {
			t.Fatal(err)
		}
		for _, train := range []bool{true, false, true, false} {
			if err := ex.Forward(train); err != nil {
				t.Fatal(err)
			}
			if err := ex.Backward(heads); err != nil {
				t.Fatal(err)
			}
			want := nettest.Values(t, ex.Outputs()[0]) // of ones: the factor of each element
			for i, h := range nettest.Values(t, heads) {
				want[i] *= h
			}
			nettest.Near(t, fmt.Sprintf("%+v, train %v", p, train),
				nettest.Values(t, ex.Grads["x"]), want)
		}
		ex.Close()
	}
}

// TestBackwardAfterInferenceLeavesStates: outputs and moving averages stay those of inference.
func TestBackwardAfterInferenceLeavesStates(t *testing.T) {
	s := sym.BatchNorm(sym.Var("x"), sym.BatchNormParams{}, sym.Name("bn"))
	ex, err := s.SimpleBind(sym.BindConfig{Args: map[string]*nd.Array{"x": nd.FromSlice([]float32{1,
		2, 3, 8}, 4, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	ex.Args["bn_gamma"].Fill(1)
	ex.Aux["bn_moving_var"].Fill(4)
	heads := nd.FromSlice([]float32{1, 2, 4, 3}, 4, 1)
	grads := map[bool][]float32{}
	for _, train := range []bool{true, false} {
		ex.Aux["bn_moving_mean"].Fill(1)
		if err := ex.Forward(train); err != nil {
			t.Fatal(err)
		}
		before := nettest.Values(t, ex.Outputs()[0])
		mean := nettest.Values(t, ex.Aux["bn_moving_mean"])
		if err := ex.Backward(heads); err != nil {
			t.Fatal(err)
		}
		grads[train] = nettest.Values(t, ex.Grads["x"])
		nettest.Near(t, "output", nettest.Values(t, ex.Outputs()[0]), before)
		nettest.Near(t, "moving mean", nettest.Values(t, ex.Aux["bn_moving_mean"]), mean)
	}
	nettest.Near(t, "gradient", grads[false], grads[true])
}

func TestBackwardWithoutGradients(t *testing.T) {
	ex := boundSquare(t, sym.BindConfig{DefaultReq: op.ReqNull})
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(nd.Ones(nd.Shape{3})); err != nil {
		t.Errorf("every request is null: %v", err)
	}
}

// TestGradientArraysOfOtherTypes: they are refused when the symbol is bound.
func TestGradientArraysOfOtherTypes(t *testing.T) {
	for want, g := range map[string]*nd.Array{
		"is float64 (3,), want float32 (3,)": nd.Zeros(nd.Shape{3}, nd.As(dtype.Float64)),
		"is float32 (2,), want float32 (3,)": nd.Zeros(nd.Shape{2}),
		"is nil":                             nil,
	} {
		_, err := sym.Square(sym.Var("x")).SimpleBind(sym.BindConfig{
			Shapes: map[string]dtype.Shape{"x": {3}}, Grads: map[string]*nd.Array{"x": g}})
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `"x"`) {
			t.Errorf("error %v, want one that names x and mentions %q", err, want)
		}
	}
}

// TestReluPassesNaNOn is the class of a non-finite value that a compiled graph must not swallow.
func TestReluPassesNaNOn(t *testing.T) {
	for name, s := range map[string]*sym.Symbol{
		"relu": sym.Relu(sym.Var("x")), "Activation": sym.Activation(sym.Var("x"),
			sym.ActivationParams{ActType: "relu"})} {
		nan := float32(math.NaN())
		ex, err := s.SimpleBind(sym.BindConfig{Args: map[string]*nd.Array{"x": nd.FromSlice(
			[]float32{nan, -1, 0, 2}, 4)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		if err := ex.Backward(nd.Full(3, nd.Shape{4})); err != nil {
			t.Fatal(err)
		}
		if g := nettest.Values(t, ex.Grads["x"]); g[0] == g[0] || g[1] != 0 || g[2] != 0 ||
			g[3] != 3 {
			t.Errorf("%s: gradient %v, want [NaN 0 0 3]", name, g)
		}
		ex.Close()
	}
}
