package nn_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

// TestPReLUSlopes: one or two axes of slopes lie along channels and samples, by their extents.
func TestPReLUSlopes(t *testing.T) {
	p := nn.LeakyReLUParams{ActType: "prelu"}
	for _, c := range []struct {
		name        string
		x, gamma    op.Tensor
		y, dx, dgam op.Tensor // for head gradients of one
	}{
		{"per sample and channel", values(dtype.Shape{2, 2, 1}, -1, -1, -1, 2),
			values(dtype.Shape{2, 2}, 1, 2, 3, 4),
			values(dtype.Shape{2, 2, 1}, -1, -2, -3, 2), values(dtype.Shape{2, 2, 1}, 1, 2, 3, 1),
			values(dtype.Shape{2, 2}, -1, -1, -1, 0)},
		{"per sample", values(dtype.Shape{2, 3}, -1, -1, -1, -1, -1, -1), vec(2, 3),
			values(dtype.Shape{2, 3}, -2, -2, -2, -3, -3, -3), values(dtype.Shape{2, 3}, 2, 2, 2, 3,
				3, 3), vec(-3, -3)},
		{"one for both channels", values(dtype.Shape{2, 2}, -1, -1, -1, -1),
			values(dtype.Shape{2, 1}, 2, 3),
			values(dtype.Shape{2, 2}, -2, -2, -3, -3), values(dtype.Shape{2, 2}, 2, 2, 3, 3),
			values(dtype.Shape{2, 1}, -2, -2)},
	} {
		params, err := nn.LeakyReLU.Normalize(p)
		if err != nil {
			t.Fatal(err)
		}
		y, err := optest.Runner{}.Apply(nn.LeakyReLU.Op, params, []op.Tensor{c.x, c.gamma})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		ones := optest.Clone(c.x)
		for i := range op.Slice[float32](ones) {
			op.Slice[float32](ones)[i] = 1
		}
		grad, err := optest.Runner{}.Apply(nn.LeakyReLUGrad.Op, params, []op.Tensor{ones, c.x,
			c.gamma})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for i, got := range []op.Tensor{y[0], grad[0], grad[1]} {
			if d := optest.Diff(got, []op.Tensor{c.y, c.dx, c.dgam}[i],
				optest.Tolerance{}); d != "" {
				t.Errorf("%s, result %d: %s", c.name, i, d)
			}
		}
	}
	runInfer(t, []inferCase{{name: "gamma", op: nn.LeakyReLU.Op, attrs: "act_type=prelu",
		in: []dtype.Shape{{2, 3, 4}, {3, 4}}, out: []dtype.Shape{nil},
		err: "gamma: shape (3, 4), want one slope"}})
}

// TestDropoutOfAll: p = 1 drops every element in training and none in inference.
func TestDropoutOfAll(t *testing.T) {
	p := nn.DropoutParams{P: op.Some(1.0)}
	optest.Run(t, nn.Dropout.Op,
		optest.Case{Name: "inference", Params: p, NoDiff: true, In: []op.Tensor{vec(1, 2)},
			Want: []op.Tensor{vec(1, 2), {}}},
		optest.Case{Name: "training", Params: p, Train: true, NoDiff: true,
			In: []op.Tensor{vec(1, 2)}, Want: []op.Tensor{vec(0, 0), {}},
			Heads: []op.Tensor{vec(1, 1), {}}, WantGrad: []op.Tensor{vec(0, 0)}})
	if _, err := nn.Dropout.Normalize(nn.DropoutParams{P: op.Some(1.5)}); err == nil {
		t.Error("p = 1.5 is accepted")
	}
}

// TestPoolingWithMoreNumbersThanAxes: strides and pads beyond the kernel's axes are passed over,
// fewer are an error.
func TestPoolingWithMoreNumbersThanAxes(t *testing.T) {
	x := values(dtype.Shape{1, 1, 4}, 1, 3, 2, 4)
	optest.Run(t, nn.Pooling.Op,
		optest.Case{Name: "pads", Params: nn.PoolingParams{Kernel: []int{2}, Pad: []int{0, 0, 0}},
			In:   []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 3}, 3, 3, 4)}},
		optest.Case{Name: "strides", Params: nn.PoolingParams{Kernel: []int{2}, Stride: []int{2, 7},
			PoolType: "avg"}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2}, 2, 3)}})
	runInfer(t, []inferCase{{name: "fewer", op: nn.Pooling.Op, attrs: "kernel=(2,2) pad=(1,)",
		in: []dtype.Shape{{1, 1, 4, 4}}, out: []dtype.Shape{nil}, err: "pad: [1], want 2 numbers"}})
}
