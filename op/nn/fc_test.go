package nn_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

func TestFullyConnected(t *testing.T) {
	x := values(dtype.Shape{2, 3}, 1, 2, 3, 4, 5, 6)
	w := values(dtype.Shape{2, 3}, 1, 0, -1, 2, 1, 0)
	b := vec(10, 20)
	y := values(dtype.Shape{2, 2}, 8, 24, 8, 33)
	optest.Run(t, nn.FullyConnected.Op,
		optest.Case{Name: "bias", Params: nn.FullyConnectedParams{NumHidden: 2},
			In: []op.Tensor{x, w, b}, Want: []op.Tensor{y},
			Heads: []op.Tensor{values(dtype.Shape{2, 2}, 1, 2, 3, 4)},
			WantGrad: []op.Tensor{
				values(dtype.Shape{2, 3}, 5, 2, -1, 11, 4, -3),
				values(dtype.Shape{2, 3}, 13, 17, 21, 18, 24, 30),
				vec(4, 6)}},
		optest.Case{Name: "no bias", Params: nn.FullyConnectedParams{NumHidden: 2, NoBias: true},
			In:   []op.Tensor{x, w},
			Want: []op.Tensor{values(dtype.Shape{2, 2}, -2, 4, -2, 13)}},
		optest.Case{Name: "half", Params: nn.FullyConnectedParams{NumHidden: 2},
			In: []op.Tensor{half(x), half(w), half(b)}, Want: []op.Tensor{half(y)}},
		optest.Case{Name: "flatten", Params: nn.FullyConnectedParams{NumHidden: 4},
			In: []op.Tensor{random(1, 2, 3, 2), random(2, 4, 6), random(3, 4)}},
		optest.Case{Name: "last axis", Params: nn.FullyConnectedParams{NumHidden: 4,
			NoFlatten: true}, In: []op.Tensor{random(1, 2, 3, 2), random(2, 4, 2), random(3, 4)}},
	)
}

func TestFullyConnectedInfersShapes(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "forward", op: nn.FullyConnected.Op, attrs: "num_hidden=4",
			in: []dtype.Shape{{5, 2, 3}, nil, nil}, out: []dtype.Shape{nil},
			wantIn: []dtype.Shape{{5, 2, 3}, {4, 6}, {4}}, wantOut: []dtype.Shape{{5, 4}}},
		{name: "batch from the output", op: nn.FullyConnected.Op, attrs: "num_hidden=4",
			in: []dtype.Shape{{-1, 3}, nil, nil}, out: []dtype.Shape{{5, -1}},
			wantIn: []dtype.Shape{{5, 3}, {4, 3}}, wantOut: []dtype.Shape{{5, 4}}},
		{name: "inputs from the weight", op: nn.FullyConnected.Op,
			attrs: "num_hidden=4 flatten=False no_bias=1",
			in:    []dtype.Shape{nil, {-1, 3}}, out: []dtype.Shape{{5, 6, -1}},
			wantIn: []dtype.Shape{{5, 6, 3}, {4, 3}}, wantOut: []dtype.Shape{{5, 6, 4}}},
		{name: "wrong weight", op: nn.FullyConnected.Op, attrs: "num_hidden=4",
			in: []dtype.Shape{{5, 3}, {4, 2}, nil}, out: []dtype.Shape{nil},
			err: "weight: shape (4, 2), want (4, 3)"},
		{name: "scalar", op: nn.FullyConnected.Op, attrs: "num_hidden=4",
			in: []dtype.Shape{{}, nil, nil}, out: []dtype.Shape{nil}, err: "data: is a scalar"},
	})
}

// The gradient of the data is added to another array.
func TestFullyConnectedGradSum(t *testing.T) {
	dy, x, w, sum := random(1, 6, 4), random(2, 6, 3), random(3, 4, 3), random(4, 6, 3)
	p := nn.FullyConnectedParams{NumHidden: 4}
	want, err := optest.Runner{}.Apply(nn.FullyConnectedGrad.Op, p, []op.Tensor{dy, x, w})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range op.Slice[float32](sum) {
		op.Slice[float32](want[0])[i] += v
	}
	optest.Run(t, nn.FullyConnectedGradSum.Op, optest.Case{Params: p, Want: want, NoDiff: true,
		In: []op.Tensor{dy, x, w, sum}, Tol: optest.Tolerance{Abs: 1e-5, Rel: 1e-5}})
}
