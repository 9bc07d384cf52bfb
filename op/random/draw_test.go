package random_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/random"
)

// many is how many numbers the tests of moments draw; seed is what they all start from.
const many = 1 << 15

var seed = op.Seed{Key: 2024, Counter: 77}

// moments draws and returns mean and variance.
func moments(t *testing.T, o *op.Op, params any, in ...op.Tensor) (mean, variance float64) {
	t.Helper()
	p, err := o.Normalize(params)
	if err != nil {
		t.Fatal(err)
	}
	out, err := optest.Runner{Seed: seed}.Apply(o, p, in)
	if err != nil {
		t.Fatal(err)
	}
	x := loop.Floats(out[0])
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, variance
}

func TestMoments(t *testing.T) {
	n, big := []int{many}, optest.New(dtype.Float32, many)
	tests := []struct {
		op             *op.Op
		p              any
		in             []op.Tensor
		mean, variance float64
	}{
		{random.Uniform.Op, random.UniformParams{Low: -1, High: op.Some(3.0), Shape: n}, nil, 1,
			16.0 / 12},
		{random.Normal.Op, random.NormalParams{Loc: 2, Scale: op.Some(3.0), Shape: n}, nil, 2, 9},
		{random.Exponential.Op, random.RateParams{Lam: op.Some(4.0), Shape: n}, nil, 0.25,
			1.0 / 16},
		{random.Poisson.Op, random.RateParams{Lam: op.Some(3.0), Shape: n}, nil, 3, 3},
		{random.Poisson.Op, random.RateParams{Lam: op.Some(50.0), Shape: n}, nil, 50, 50},
		{random.Gamma.Op, random.GammaParams{Alpha: op.Some(4.0), Beta: op.Some(0.5), Shape: n},
			nil, 2, 1},
		{random.Gamma.Op, random.GammaParams{Alpha: op.Some(0.5), Beta: op.Some(2.0), Shape: n},
			nil, 1, 2},
		{random.NegativeBinomial.Op, random.NegativeBinomialParams{K: op.Some(4), P: op.Some(0.5),
			Shape: n}, nil, 4, 8},
		{random.Dispersed.Op, random.DispersedParams{Mu: op.Some(3.0), Alpha: op.Some(0.5),
			Shape: n}, nil, 3, 7.5},
		{random.Dispersed.Op, random.DispersedParams{Mu: op.Some(3.0), Alpha: op.Some(0.0),
			Shape: n}, nil, 3, 3},
		{random.UniformLike.Op, random.UniformLikeParams{}, optest.Ops(big), 0.5, 1.0 / 12},
		{random.NormalLike.Op, random.NormalLikeParams{Loc: -1}, optest.Ops(big), -1, 1},
		{random.ExponentialLike.Op, random.RateLikeParams{}, optest.Ops(big), 1, 1},
		{random.PoissonLike.Op, random.RateLikeParams{}, optest.Ops(big), 1, 1},
		{random.GammaLike.Op, random.GammaLikeParams{Alpha: op.Some(2.0)}, optest.Ops(big), 2, 2},
		{random.NegativeBinomialLike.Op, random.NegativeBinomialLikeParams{K: op.Some(1),
			P: op.Some(0.5)}, optest.Ops(big), 1, 2},
		{random.DispersedLike.Op, random.DispersedLikeParams{}, optest.Ops(big), 1, 2},
		{random.RandInt.Op, random.RandIntParams{Low: -2, High: 3, Shape: n}, nil, 0, 2},
	}
	for _, tt := range tests {
		t.Run(tt.op.Name, func(t *testing.T) {
			mean, variance := moments(t, tt.op, tt.p, tt.in...)
			if limit := 5 * math.Sqrt(tt.variance/many); math.Abs(mean-tt.mean) > limit {
				t.Errorf("mean: got %v, want %v ± %v", mean, tt.mean, limit)
			}
			if math.Abs(variance/tt.variance-1) > 0.08 {
				t.Errorf("variance: got %v, want %v", variance, tt.variance)
			}
		})
	}
}

func TestDrawRepeats(t *testing.T) {
	optest.Run(t, random.Normal.Op,
		optest.Case{Name: "float32", Params: random.NormalParams{Shape: []int{3, 5}}, Seed: seed},
		optest.Case{Name: "many", Params: random.NormalParams{Loc: -2, Scale: op.Some(3.0),
			Shape: []int{many + 1}}, Seed: seed},
		optest.Case{Name: "float64", Params: random.NormalParams{Shape: []int{600},
			DType: op.Some(dtype.Float64)}, Seed: seed})
	optest.Run(t, random.Uniform.Op, optest.Case{Params: random.UniformParams{Shape: []int{7}},
		Seed: seed})
	optest.Run(t, random.GammaLike.Op, optest.Case{In: optest.Ops(optest.Range(2, 2)), NoDiff: true,
		Seed: seed})
}

func TestUniformStaysBelowHigh(t *testing.T) {
	p, _ := random.Uniform.Normalize(random.UniformParams{Low: 1 << 23,
		High: op.Some(float64(1<<23 + 1)), Shape: []int{64}})
	out, err := optest.Runner{Seed: seed}.Apply(random.Uniform.Op, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range loop.Floats(out[0]) {
		if v < 1<<23 || v >= 1<<23+1 {
			t.Fatalf("got %v, want less than %v", v, 1<<23+1)
		}
	}
}

func TestShapeIsInferredFromUse(t *testing.T) {
	out := []dtype.Shape{{3, 4}}
	if err := random.Normal.InferShape(random.NormalParams{Shape: []int{0, 4}}, nil,
		out); err != nil || !out[0].Equal(dtype.Shape{3, 4}) {
		t.Errorf("got %v, %v", out, err)
	}
}
