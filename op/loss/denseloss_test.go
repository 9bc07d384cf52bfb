package loss_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loss"
	"gomx/op/nn"
)

// denseCase is a dense layer under a softmax loss.
type denseCase struct {
	rows, in, out int
	p             loss.SoftmaxOutputParams
	noBias        bool
}

// operands returns the operands of DenseGrad: probabilities, some labels that are no classes, data
// and weight.
func (c denseCase) operands(t *testing.T) []op.Tensor {
	t.Helper()
	y, err := optest.Runner{}.Apply(loss.SoftmaxOutput.Op, loss.SoftmaxOutputParams{},
		[]op.Tensor{random(1, c.rows, c.out), vec(make([]float32, c.rows)...)})
	if err != nil {
		t.Fatal(err)
	}
	rng, label := rand.New(rand.NewPCG(3, 4)), make([]float32, c.rows)
	for i := range label {
		label[i] = float32(rng.IntN(c.out+2) - 1)
	}
	return []op.Tensor{y[0], vec(label...), random(5, c.rows, c.in), random(6, c.out, c.in)}
}

// apart computes the same by the two operators that DenseGrad stands for.
func (c denseCase) apart(t *testing.T, in []op.Tensor) []op.Tensor {
	t.Helper()
	dy, err := optest.Runner{}.Apply(loss.SoftmaxOutputGrad.Op, c.p, []op.Tensor{in[0], in[1],
		in[0]})
	if err != nil {
		t.Fatal(err)
	}
	grads, err := optest.Runner{}.Apply(nn.FullyConnectedGrad.Op,
		nn.FullyConnectedParams{NumHidden: c.out, NoBias: c.noBias}, []op.Tensor{dy[0], in[2],
			in[3]})
	if err != nil {
		t.Fatal(err)
	}
	return grads
}

func TestDenseGrad(t *testing.T) {
	type P = loss.SoftmaxOutputParams
	for _, c := range []denseCase{
		{rows: 3, in: 4, out: 5},
		{rows: 1, in: 1, out: 1},
		{rows: 7, in: 5, out: 40, p: P{GradScale: op.Some(0.5), SmoothAlpha: 0.1}},
		{rows: 40, in: 24, out: 1100, p: P{Normalization: "batch"}},
		{rows: 66, in: 33, out: 530, p: P{Normalization: "valid", UseIgnore: true,
			IgnoreLabel: op.Some(0.0)}, noBias: true},
		{rows: 9, in: 8, out: 64, p: P{UseIgnore: true}},
		{rows: 9, in: 8, out: 31, p: P{PreserveShape: true}},
	} {
		normal, err := loss.SoftmaxOutput.Normalize(c.p)
		if err != nil {
			t.Fatal(err)
		}
		c.p = normal.(P)
		in := c.operands(t)
		p, ok := loss.DenseGradOf(c.p, in[0].Shape, in[1].Shape, c.out, c.noBias)
		if !ok {
			t.Fatalf("%+v cannot be joined", c)
		}
		optest.Run(t, loss.DenseGrad.Op, optest.Case{Name: fmt.Sprintf("%d-%d-%d", c.rows, c.in,
			c.out), Params: p, In: in, Want: c.apart(t, in), Train: true})
	}
}

func TestDenseGradOf(t *testing.T) {
	type P = loss.SoftmaxOutputParams
	for _, c := range []struct {
		name          string
		p             P
		output, label dtype.Shape
		want          bool
	}{
		{"rows", P{}, dtype.Shape{4, 10}, dtype.Shape{4}, true},
		{"rows of rows", P{PreserveShape: true}, dtype.Shape{4, 3, 10}, dtype.Shape{4, 3}, true},
		{"classes along several axes", P{}, dtype.Shape{4, 3, 10}, dtype.Shape{4}, false},
		{"classes along axis 1", P{MultiOutput: true}, dtype.Shape{4, 10}, dtype.Shape{4, 1},
			false},
		{"probabilities", P{}, dtype.Shape{4, 10}, dtype.Shape{4, 10}, false},
		{"times the output", P{OutGrad: true}, dtype.Shape{4, 10}, dtype.Shape{4}, false},
		{"unknown", P{}, dtype.Shape{-1, 10}, dtype.Shape{4}, false},
	} {
		if _, got := loss.DenseGradOf(c.p, c.output, c.label, 10, false); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDenseGradInfersShapes(t *testing.T) {
	p := loss.DenseGradParams{NumHidden: 10}
	three := func() []dtype.Shape { return make([]dtype.Shape, 3) }
	runInfer(t, loss.DenseGrad.Op,
		inferCase{name: "all", params: p, in: []dtype.Shape{{4, 10}, {4}, {4, 3}, {10, 3}},
			out: three(), want: []dtype.Shape{{4, 10}, {4}, {4, 3}, {10, 3}}},
		inferCase{name: "wrong data", params: p, in: []dtype.Shape{{4, 10}, {4}, {4, 2}, {10, 3}},
			out: three(), err: "data: shape (4, 2), want 4 rows of 3"},
		inferCase{name: "wrong label", params: p, in: []dtype.Shape{{4, 10}, {5}, {4, 3}, {10, 3}},
			out: three(), err: "label: shape (5,), want one number for each of 4 rows"},
		inferCase{name: "wrong output", params: p, in: []dtype.Shape{{4, 9}, {4}, {4, 3}, {10, 3}},
			out: three(), err: "output: shape (4, 9), want 10 classes"},
	)
}
