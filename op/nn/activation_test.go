package nn_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

func TestActivation(t *testing.T) {
	x := vec(-2, -0.5, 0.25, 3)
	each := func(f func(x float64) float64) op.Tensor {
		var y [4]float32
		for i, v := range op.Slice[float32](x) {
			y[i] = float32(f(float64(v)))
		}
		return vec(y[:]...)
	}
	for act, f := range map[string]func(x float64) float64{
		"relu":     func(x float64) float64 { return math.Max(x, 0) },
		"sigmoid":  func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
		"tanh":     math.Tanh,
		"softrelu": func(x float64) float64 { return math.Log(1 + math.Exp(x)) },
		"softsign": func(x float64) float64 { return x / (1 + math.Abs(x)) },
	} {
		optest.Run(t, nn.Activation.Op,
			optest.Case{Name: act, Params: nn.ActivationParams{ActType: act}, In: []op.Tensor{x},
				Want: []op.Tensor{each(f)}},
			optest.Case{Name: act + " half", Params: nn.ActivationParams{ActType: act},
				In: []op.Tensor{half(x)}, Want: []op.Tensor{half(each(f))}},
		)
	}
}

func TestActivationExtremes(t *testing.T) {
	x := vec(-200, 200)
	for act, want := range map[string]op.Tensor{"sigmoid": vec(0, 1), "softrelu": vec(0, 200),
		"tanh": vec(-1, 1)} {
		optest.Run(t, nn.Activation.Op, optest.Case{Name: act,
			Params: nn.ActivationParams{ActType: act}, In: []op.Tensor{x}, Want: []op.Tensor{want}})
	}
	nan := float32(math.NaN())
	optest.Run(t, nn.Activation.Op, optest.Case{Name: "relu of NaN",
		Params: nn.ActivationParams{ActType: "relu"}, NoDiff: true,
		In: []op.Tensor{vec(nan)}, Want: []op.Tensor{vec(nan)}})
}

func TestLeakyReLU(t *testing.T) {
	type P = nn.LeakyReLUParams
	x := vec(-2, -0.5, 0.25, 3)
	const scale, alpha = 1.0507009873554805, 1.6732632423543772
	m := func(f func(float64) float64, v float64) float32 { return float32(f(v)) }
	optest.Run(t, nn.LeakyReLU.Op,
		optest.Case{Name: "default", Params: P{}, In: []op.Tensor{x},
			Want: []op.Tensor{vec(-.5, -.125, .25, 3)}},
		optest.Case{Name: "slope 0", Params: P{Slope: op.Some(0.0)}, In: []op.Tensor{x},
			Want: []op.Tensor{vec(0, 0, .25, 3)}},
		optest.Case{Name: "slope below 0", Params: P{Slope: op.Some(-1.0)}, In: []op.Tensor{x},
			Want: []op.Tensor{vec(2, .5, .25, 3)}},
		optest.Case{Name: "elu", Params: P{ActType: "elu", Slope: op.Some(2.0)}, In: []op.Tensor{x},
			Want: []op.Tensor{vec(2*m(math.Expm1, -2), 2*m(math.Expm1, -.5), .25, 3)}},
		optest.Case{Name: "elu slope below 0", Params: P{ActType: "elu", Slope: op.Some(-2.0)},
			In: []op.Tensor{x}},
		optest.Case{Name: "selu", Params: P{ActType: "selu"}, In: []op.Tensor{x}, NoDiff: true,
			Want: []op.Tensor{vec(scale*alpha*m(math.Expm1, -2), scale*alpha*m(math.Expm1, -.5),
				scale*.25, scale*3)},
			Heads: []op.Tensor{vec(1, 1, 1, 1)},
			WantGrad: []op.Tensor{vec(scale*alpha*(1+scale*m(math.Expm1, -2)),
				scale*alpha*(1+scale*m(math.Expm1, -.5)), scale, scale)}},
		optest.Case{Name: "gelu", Params: P{ActType: "gelu"}, In: []op.Tensor{x},
			Want: []op.Tensor{vec(-0.04550026, -0.15426877, 0.14967658, 2.9959502)}},
		optest.Case{Name: "prelu", Params: P{ActType: "prelu"}, In: []op.Tensor{random(1, 2, 3, 2),
			vec(.1, -.2, .3)}},
		optest.Case{Name: "rrelu in inference", Params: P{ActType: "rrelu",
			LowerBound: op.Some(0.1), UpperBound: op.Some(0.3)}, In: []op.Tensor{x},
			Want: []op.Tensor{vec(-.4, -.1, .25, 3), vec(.2, .2, 1, 1)}, NoDiff: true},
		optest.Case{Name: "rrelu in training", Params: P{ActType: "rrelu"}, Train: true,
			In: []op.Tensor{random(1, 50)}, NoDiff: true},
	)
}

func TestSinglePReLUSlope(t *testing.T) {
	p, err := nn.LeakyReLU.Normalize(nn.LeakyReLUParams{ActType: "prelu"})
	if err != nil {
		t.Fatal(err)
	}
	in := []op.Tensor{values(dtype.Shape{2, 2}, -1, 2, -3, 4), vec(.5)}
	out, err := optest.Runner{}.Apply(nn.LeakyReLU.Op, p, in)
	if err != nil {
		t.Fatal(err)
	}
	if d := optest.Diff(out[0], values(dtype.Shape{2, 2}, -.5, 2, -1.5, 4),
		optest.Tolerance{}); d != "" {
		t.Error(d)
	}
	grad, err := optest.Runner{}.Apply(nn.LeakyReLUGrad.Op, p,
		[]op.Tensor{values(dtype.Shape{2, 2}, 1, 10, 100, 1000), in[0], in[1]})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []op.Tensor{values(dtype.Shape{2, 2}, .5, 10, 50, 1000), vec(-301)} {
		if d := optest.Diff(grad[i], want, optest.Tolerance{}); d != "" {
			t.Errorf("gradient %d: %s", i, d)
		}
	}
	runInfer(t, []inferCase{{name: "gamma", op: nn.LeakyReLU.Op, attrs: "act_type=prelu",
		in: []dtype.Shape{{2, 3}, {4}}, out: []dtype.Shape{nil},
		err: "gamma: shape (4,), want one slope"}})
}

func TestRReLUSlopesAreInRange(t *testing.T) {
	p, _ := nn.LeakyReLU.Normalize(nn.LeakyReLUParams{ActType: "rrelu"})
	x := random(1, 1000)
	out, err := optest.Runner{Train: true}.Apply(nn.LeakyReLU.Op, p, []op.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	y, mask, least, most := op.Slice[float32](out[0]), op.Slice[float32](out[1]), float32(1),
		float32(0)
	for i, v := range op.Slice[float32](x) {
		if v > 0 {
			if y[i] != v || mask[i] != 1 {
				t.Fatalf("element %d: got %v with slope %v, want %v", i, y[i], mask[i], v)
			}
			continue
		}
		least, most = min(least, mask[i]), max(most, mask[i])
	}
	if least < 0.125 || least > 0.14 || most > 0.334 || most < 0.32 {
		t.Errorf("got slopes from %v to %v, want them from 0.125 to 0.334", least, most)
	}
}

// TestReluAtNaN: the gradient is NaN where the data are, on every tier and in the layers that relu
// is fused into.
func TestReluAtNaN(t *testing.T) {
	nan := float32(math.NaN())
	optest.Run(t, nn.Activation.Op, optest.Case{Params: nn.ActivationParams{ActType: "relu"},
		NoDiff: true,
		In:     []op.Tensor{vec(nan, -1, 0, 2)}, Want: []op.Tensor{vec(nan, 0, 0, 2)},
		Heads: []op.Tensor{vec(3, 3, 3, 3)}, WantGrad: []op.Tensor{vec(nan, 0, 0, 3)}})
}
