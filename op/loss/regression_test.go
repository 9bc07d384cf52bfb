package loss_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loss"
)

func TestRegressionOutputs(t *testing.T) {
	x := values(dtype.Shape{2, 2}, 1, -2, 0, 3)
	label := values(dtype.Shape{2, 2}, 0, 0, 1, 3)
	sigmoid := func(v float64) float32 { return float32(1 / (1 + math.Exp(-v))) }
	s := values(dtype.Shape{2, 2}, sigmoid(1), sigmoid(-2), .5, sigmoid(3))
	for _, c := range []struct {
		o          op.Handle[loss.RegressionParams]
		want, grad op.Tensor
	}{
		{loss.LinearRegressionOutput, x, values(dtype.Shape{2, 2}, 2, -4, -2, 0)},
		{loss.LogisticRegressionOutput, s, values(dtype.Shape{2, 2}, 2*sigmoid(1), 2*sigmoid(-2),
			-1, 2*(sigmoid(3)-3))},
		{loss.MAERegressionOutput, x, values(dtype.Shape{2, 2}, 2, -2, -2, -2)},
	} {
		optest.Run(t, c.o.Op, optest.Case{Params: loss.RegressionParams{GradScale: op.Some(4.0)},
			NoDiff: true, Twice: c.o != loss.MAERegressionOutput, Const: []int{1},
			In: []op.Tensor{x, label}, Want: []op.Tensor{c.want},
			Heads: []op.Tensor{random(1, 2, 2)}, WantGrad: []op.Tensor{c.grad, {}}})
	}
}

func TestRegressionWithVectorLabel(t *testing.T) {
	optest.Run(t, loss.LinearRegressionOutput.Op, optest.Case{Params: loss.RegressionParams{},
		NoDiff: true, Twice: true, Const: []int{1},
		In:       []op.Tensor{values(dtype.Shape{3, 1}, 1, 2, 3), vec(3, 2, 1)},
		Heads:    []op.Tensor{values(dtype.Shape{3, 1}, 0, 0, 0)},
		WantGrad: []op.Tensor{values(dtype.Shape{3, 1}, -2, 0, 2), {}}})
	checkGrad(t, loss.LinearRegressionOutput.Op, loss.RegressionParams{},
		[]op.Tensor{values(dtype.Shape{2, 2}, 1, 2, 3, 4), vec(0, 0, 0, 0)},
		values(dtype.Shape{2, 2}, .5, 1, 1.5, 2))
}

func TestRegressionInfersShapes(t *testing.T) {
	p := loss.RegressionParams{}
	runInfer(t, loss.LinearRegressionOutput.Op,
		inferCase{name: "label", params: p, in: []dtype.Shape{{4, 3}, nil},
			want: []dtype.Shape{{4, 3}, {4, 3}}},
		inferCase{name: "one column", params: p, in: []dtype.Shape{{4, 1}, nil},
			want: []dtype.Shape{{4, 1}, {4}}},
		inferCase{name: "output", params: p, in: []dtype.Shape{nil, nil},
			out: []dtype.Shape{{4, 3}}, want: []dtype.Shape{{4, 3}, {4, 3}}},
		inferCase{name: "too short", params: p, in: []dtype.Shape{{4, 3}, {4}},
			err: "label: shape (4,), want as many elements as data of shape (4, 3) has"},
	)
}

// TestScaleZero gives the gradient's factor as a file does: an explicit zero is no default, also
// after the gradient's node has read its parameters again.
func TestScaleZero(t *testing.T) {
	for _, o := range []*op.Op{loss.LinearRegressionOutput.Op, loss.MAERegressionOutput.Op} {
		p, err := o.ParseParams(map[string]string{"grad_scale": "0"})
		if err != nil {
			t.Fatal(err)
		}
		if got := o.FormatParams(p)["grad_scale"]; got != "0" {
			t.Errorf("%s: grad_scale is written as %q, want 0", o.Name, got)
		}
		if p, err = o.Normalize(p); err != nil {
			t.Fatal(err)
		}
		optest.Run(t, o, optest.Case{Params: p, NoDiff: true,
			In:       []op.Tensor{values(dtype.Shape{2, 1}, 1, 2), vec(3, 4)},
			Heads:    []op.Tensor{values(dtype.Shape{2, 1}, 1, 1)},
			WantGrad: []op.Tensor{values(dtype.Shape{2, 1}, 0, 0), {}}})
	}
}

// TestMAEGradientAtNaN: as in MXNet the sign of what is not a number is -1.
func TestMAEGradientAtNaN(t *testing.T) {
	nan := float32(math.NaN())
	optest.Run(t, loss.MAERegressionOutput.Op, optest.Case{NoDiff: true, Const: []int{1},
		In: []op.Tensor{values(dtype.Shape{2, 2}, nan, 1, 2, 1), values(dtype.Shape{2, 2}, 1,
			nan, 1, 1)},
		Heads:    []op.Tensor{values(dtype.Shape{2, 2}, 9, 9, 9, 9)},
		WantGrad: []op.Tensor{values(dtype.Shape{2, 2}, -.5, -.5, .5, -.5), {}}})
}
