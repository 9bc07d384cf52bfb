package loss_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loss"
)

// logits gives the probabilities 1/4, 3/4 and 1/2, 1/2 by rows.
func logits() op.Tensor {
	return values(dtype.Shape{2, 2}, 0, float32(math.Log(3)), 7, 7)
}

func TestSoftmaxOutput(t *testing.T) {
	type P = loss.SoftmaxOutputParams
	probs := values(dtype.Shape{2, 2}, .25, .75, .5, .5)
	tests := []struct {
		name  string
		p     P
		label op.Tensor
		grad  op.Tensor
	}{
		{"plain", P{}, vec(0, 1), values(dtype.Shape{2, 2}, -.75, .75, .5, -.5)},
		{"scale", P{GradScale: op.Some(2.0)}, vec(0, 1), values(dtype.Shape{2, 2}, -1.5, 1.5, 1,
			-1)},
		{"batch", P{Normalization: "batch"}, vec(0, 1), values(dtype.Shape{2, 2}, -.375, .375, .25,
			-.25)},
		{"ignore label without use", P{IgnoreLabel: op.Some(0.0)}, vec(0, 1),
			values(dtype.Shape{2, 2}, -.75, .75, .5, -.5)},
		{"ignore", P{IgnoreLabel: op.Some(0.0), UseIgnore: true}, vec(0, 1),
			values(dtype.Shape{2, 2}, 0, 0, .5, -.5)},
		{"valid", P{IgnoreLabel: op.Some(0.0), UseIgnore: true, Normalization: "valid"}, vec(0, 1),
			values(dtype.Shape{2, 2}, 0, 0, .5, -.5)},
		{"valid counts without use", P{Normalization: "valid"}, vec(0, 1), values(dtype.Shape{2, 2},
			-.375, .375, .25, -.25)},
		{"nothing valid", P{UseIgnore: true, Normalization: "valid"}, vec(-1, -1),
			values(dtype.Shape{2, 2}, 0, 0, 0, 0)},
		{"smooth", P{SmoothAlpha: 0.2}, vec(0, 1), values(dtype.Shape{2, 2}, .25-.8, .75-.2, .5-.2,
			.5-.8)},
		{"no such class", P{}, vec(5, 1), values(dtype.Shape{2, 2}, .25, .75, .5, -.5)},
		{"times output", P{OutGrad: true}, vec(0, 1), values(dtype.Shape{2, 2}, -.75*.25, .75*.75,
			.25, -.25)},
	}
	for _, tt := range tests {
		for _, half := range []func(op.Tensor) op.Tensor{func(t op.Tensor) op.Tensor { return t },
			half} {
			optest.Run(t, loss.SoftmaxOutput.Op, optest.Case{Name: tt.name, Params: tt.p,
				NoDiff: true, Twice: true, Const: []int{1},
				In: []op.Tensor{half(logits()), half(tt.label)}, Want: []op.Tensor{half(probs)},
				Heads: []op.Tensor{half(random(1, 2, 2))}, WantGrad: []op.Tensor{half(tt.grad),
					{}}})
		}
	}
}

func TestSoftmaxOutputMulti(t *testing.T) {
	type P = loss.SoftmaxOutputParams
	l3 := float32(math.Log(3))
	x := values(dtype.Shape{1, 2, 2}, 0, 7, l3, 7) // classes along axis 1
	in := []op.Tensor{x, values(dtype.Shape{1, 2}, 0, 1)}
	optest.Run(t, loss.SoftmaxOutput.Op,
		optest.Case{Name: "plain", Params: P{MultiOutput: true}, NoDiff: true, Twice: true,
			Const: []int{1}, In: in,
			Want:  []op.Tensor{values(dtype.Shape{1, 2, 2}, .25, .5, .75, .5)},
			Heads: []op.Tensor{x}, WantGrad: []op.Tensor{values(dtype.Shape{1, 2, 2}, -.375, .25,
				.375, -.25), {}}},
		optest.Case{Name: "valid", Params: P{MultiOutput: true, Normalization: "valid",
			UseIgnore: true, IgnoreLabel: op.Some(0.0)}, NoDiff: true, Twice: true, Const: []int{1},
			In:    in,
			Heads: []op.Tensor{x}, WantGrad: []op.Tensor{values(dtype.Shape{1, 2, 2}, 0, .5, 0,
				-.5), {}}},
	)
	p := P{PreserveShape: true}
	optest.Run(t, loss.SoftmaxOutput.Op, optest.Case{Name: "last axis", Params: p, NoDiff: true,
		Twice: true, Const: []int{1},
		In: []op.Tensor{values(dtype.Shape{1, 2, 2}, 0, l3, 7, 7), values(dtype.Shape{1, 2}, 0,
			1)},
		Want:  []op.Tensor{values(dtype.Shape{1, 2, 2}, .25, .75, .5, .5)},
		Heads: []op.Tensor{x}, WantGrad: []op.Tensor{values(dtype.Shape{1, 2, 2}, -.75, .75, .5,
			-.5), {}}})
}

func TestSoftmaxOutputLearnsProbabilities(t *testing.T) {
	label := values(dtype.Shape{2, 2}, .5, .5, 0, 1)
	checkGrad(t, loss.SoftmaxOutput.Op, loss.SoftmaxOutputParams{GradScale: op.Some(2.0),
		Normalization: "batch"},
		[]op.Tensor{logits(), label}, values(dtype.Shape{2, 2}, -.5, .5, 1, -1))
}

func TestSoftmaxOutputInfersShapes(t *testing.T) {
	type P = loss.SoftmaxOutputParams
	runInfer(t, loss.SoftmaxOutput.Op,
		inferCase{name: "label", params: P{}, in: []dtype.Shape{{8, 5}, nil},
			want: []dtype.Shape{{8, 5}, {8}}},
		inferCase{name: "from the output", params: P{}, in: []dtype.Shape{nil, nil},
			out: []dtype.Shape{{8, 5}}, want: []dtype.Shape{{8, 5}, {8}}},
		inferCase{name: "partly known", params: P{}, in: []dtype.Shape{{-1, 5}, {8}},
			want: []dtype.Shape{{-1, 5}, {8}}},
		inferCase{name: "probabilities", params: P{}, in: []dtype.Shape{{8, 5}, {8, 5}},
			want: []dtype.Shape{{8, 5}, {8, 5}}},
		inferCase{name: "multi", params: P{MultiOutput: true}, in: []dtype.Shape{{8, 5, 3, 2}, nil},
			want: []dtype.Shape{{8, 5, 3, 2}, {8, 6}}},
		inferCase{name: "multi with axes", params: P{MultiOutput: true},
			in: []dtype.Shape{{8, 5, 3, 2}, {8, 3, 2}}, want: []dtype.Shape{{8, 5, 3, 2},
				{8, 3, 2}}},
		inferCase{name: "multi with all axes", params: P{MultiOutput: true},
			in: []dtype.Shape{{8, 5, 3, 2}, {8, 1, 3, 2}}},
		inferCase{name: "wrong label", params: P{}, in: []dtype.Shape{{8, 5}, {7}},
			err: "label: shape (7,), want (8,) for data of shape (8, 5)"},
		inferCase{name: "vector", params: P{}, in: []dtype.Shape{{8}, nil},
			err: "data: shape (8,), want at least 2 axes"},
	)
}
