package nn_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

func TestBatchNormTraining(t *testing.T) {
	type P = nn.BatchNormParams
	// channels (1, 3) and (10, 30): variance 1 and 100
	x := values(dtype.Shape{2, 2, 1}, 1, 10, 3, 30)
	gamma, beta := vec(2, 3), vec(5, 6)
	mean, variance := vec(0, 1), vec(1, 4)
	in := []op.Tensor{x, gamma, beta, mean, variance}
	inv := []float32{float32(1 / math.Sqrt(1+1e-3)), float32(1 / math.Sqrt(100+1e-3))}
	optest.Run(t, nn.BatchNorm.Op,
		optest.Case{Name: "fixed gamma", Train: true, In: in, Params: P{},
			Want: []op.Tensor{values(dtype.Shape{2, 2, 1}, 5-inv[0], 6-10*inv[1], 5+inv[0],
				6+10*inv[1]), vec(2, 20), vec(inv[0], inv[1])},
			After: []op.Tensor{x, gamma, beta, vec(0.2, 2.9), vec(1, 13.6)}, Const: []int{3, 4}},
		optest.Case{Name: "gamma", Train: true, In: in, Params: P{NoFixGamma: true,
			Momentum: op.Some(0.0)},
			Want: []op.Tensor{values(dtype.Shape{2, 2, 1}, 5-2*inv[0], 6-30*inv[1], 5+2*inv[0],
				6+30*inv[1])},
			After: []op.Tensor{x, gamma, beta, vec(2, 20), vec(1, 100)}, Const: []int{3, 4},
			NoDiff: true},
		optest.Case{Name: "half", Train: true, In: []op.Tensor{half(x), gamma, beta, mean,
			variance}, Params: P{}, NoDiff: true,
			Want: []op.Tensor{half(values(dtype.Shape{2, 2, 1}, 5-inv[0], 6-10*inv[1], 5+inv[0],
				6+10*inv[1]))}},
		optest.Case{Name: "differences", Train: true, Params: P{NoFixGamma: true, Axis: op.Some(-1),
			Eps: op.Some(0.1)}, Const: []int{3, 4},
			In: []op.Tensor{random(1, 3, 2, 2), random(2, 2), random(3, 2), random(4, 2),
				positive(5, 2)}},
		optest.Case{Name: "global statistics", Train: true, Params: P{NoFixGamma: true,
			UseGlobalStats: true}, Const: []int{3, 4},
			In:    []op.Tensor{random(1, 3, 2, 2), random(2, 2), random(3, 2), mean, variance},
			After: []op.Tensor{{}, {}, {}, mean, variance}},
	)
}

func TestBatchNormInference(t *testing.T) {
	mean, variance := vec(0, 1), vec(1-1e-3, 4-1e-3)
	optest.Run(t, nn.BatchNorm.Op,
		optest.Case{Name: "values", Params: nn.BatchNormParams{NoFixGamma: true},
			Const: []int{3, 4},
			In: []op.Tensor{values(dtype.Shape{1, 2, 2}, 1, 2, 3, 4), vec(2, 4), vec(5, 6), mean,
				variance},
			Want:  []op.Tensor{values(dtype.Shape{1, 2, 2}, 7, 9, 10, 12)},
			After: []op.Tensor{{}, {}, {}, mean, variance}},
		optest.Case{Name: "axis 0", Params: nn.BatchNormParams{NoFixGamma: true, Axis: op.Some(0)},
			Const: []int{3, 4},
			In:    []op.Tensor{random(1, 2, 3), random(2, 2), random(3, 2), mean, variance}},
	)
}

func TestBatchNormFixedGammaHasNoGradient(t *testing.T) {
	in := []op.Tensor{random(1, 3, 2), vec(3, 4), random(3, 2), random(4, 2), positive(5, 2)}
	optest.Run(t, nn.BatchNorm.Op, optest.Case{In: in, Params: nn.BatchNormParams{}, Train: true,
		NoDiff: true,
		Heads:  []op.Tensor{random(9, 3, 2)}, WantGrad: []op.Tensor{{}, vec(0, 0)}})
}

func TestBatchNormShows(t *testing.T) {
	for _, all := range []bool{false, true} {
		want := map[bool]int{false: 1, true: 3}[all]
		p, err := nn.BatchNorm.Normalize(nn.BatchNormParams{OutputMeanVar: all})
		if err != nil {
			t.Fatal(err)
		}
		if got := nn.BatchNorm.NumVisible(p); got != want {
			t.Errorf("output_mean_var %v: got %d visible outputs, want %d", all, got, want)
		}
	}
}

func TestBatchNormInfersShapes(t *testing.T) {
	bn := nn.BatchNorm.Op
	runInfer(t, []inferCase{
		{name: "forward", op: bn, in: []dtype.Shape{{5, 3, 2}, nil, nil, nil, nil},
			out:    []dtype.Shape{nil, nil, nil},
			wantIn: []dtype.Shape{{5, 3, 2}, {3}, {3}, {3}, {3}}, wantOut: []dtype.Shape{{5, 3, 2},
				{3}, {3}}},
		{name: "channels from a state", op: bn, in: []dtype.Shape{{5, -1, 2}, nil, nil, nil, {3}},
			out:    []dtype.Shape{nil, nil, nil},
			wantIn: []dtype.Shape{{5, 3, 2}, {3}, {3}, {3}, {3}}, wantOut: []dtype.Shape{{5, 3, 2},
				{3}, {3}}},
		{name: "data from the output", op: bn, attrs: "axis=-1", in: []dtype.Shape{nil, nil, nil,
			nil, nil}, out: []dtype.Shape{{5, 4}, nil, nil},
			wantIn: []dtype.Shape{{5, 4}, {4}, {4}, {4}, {4}}},
		{name: "contradiction", op: bn, in: []dtype.Shape{{5, 3, 2}, {4}, nil, nil, nil},
			out: []dtype.Shape{nil, nil, nil}, err: "gamma: shape (4,), want (3,)"},
		{name: "axis", op: bn, attrs: "axis=3", in: []dtype.Shape{{5, 3, 2}, nil, nil, nil, nil},
			out: []dtype.Shape{nil, nil, nil}, err: "axis 3 of an array with 3 axes"},
	})
}
