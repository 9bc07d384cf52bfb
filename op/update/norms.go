package update

import (
	"fmt"
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// AllFiniteParams configures AllFinite.
type AllFiniteParams struct {
	NoInitOutput bool `op:"init_output,not" doc:"accepted for compatibility: the output is always set"`
}

// MultiAllFiniteParams configures MultiAllFinite.
type MultiAllFiniteParams struct {
	NumArrays    int  `op:"num_arrays,auto" max:"16384" doc:"number of inputs"`
	NoInitOutput bool `op:"init_output,not" doc:"accepted for compatibility: the output is always set"`
}

// MultiSumSqParams configures MultiSumSq.
type MultiSumSqParams struct {
	NumArrays int `op:"num_arrays,auto" max:"16384" doc:"number of inputs"`
}

// MultiLarsParams configures MultiLars.
type MultiLarsParams struct {
	Eta         float64         `op:"eta,required" doc:"trust coefficient"`
	Eps         float64         `op:"eps,required" doc:"added to the denominator"`
	RescaleGrad op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradients"`
}

// Questions of optimizers about many arrays at once.
var (
	// AllFinite tells whether an array has neither infinities nor NaNs.
	AllFinite = op.Declare[AllFiniteParams]("all_finite")
	// MultiAllFinite is AllFinite for many arrays.
	MultiAllFinite = op.Declare[MultiAllFiniteParams]("multi_all_finite")
	// MultiSumSq returns the sums of squares of many arrays.
	MultiSumSq = op.Declare[MultiSumSqParams]("multi_sum_sq")
	// MultiLars scales learning rates by the ratio of norms of weights and gradients.
	MultiLars = op.Declare[MultiLarsParams]("multi_lars")
)

const noDerivative = "it only measures"

func init() {
	AllFinite.Define(op.Spec[AllFiniteParams]{
		Traits: op.Traits{
			Doc: "AllFinite (all_finite) is 1 when no element of data is infinite or NaN, 0 " +
				"otherwise. The output has shape (1).",
			NoGrad: noDerivative,
		},
		Infer: func(_ AllFiniteParams, _, out []dtype.Shape) error {
			return op.Require("output", &out[0], dtype.Shape{1})
		},
		InferType: measureType[AllFiniteParams],
		Ref:       func(_ AllFiniteParams, c *op.Call) error { return finiteRef(c) },
		Storage:   measureStorage[AllFiniteParams],
		Sparse:    func(_ AllFiniteParams, c *op.Call) error { return finiteRef(storedOf(c)) },
	})
	MultiAllFinite.Define(op.Spec[MultiAllFiniteParams]{
		Traits: op.Traits{
			Doc: "MultiAllFinite (multi_all_finite) is 1 when no element of any input is " +
				"infinite or NaN, 0 otherwise. The output has shape (1).",
			Variadic: true,
			NoGrad:   noDerivative,
		},
		Inputs: func(p MultiAllFiniteParams) []op.Input { return arrays(p.NumArrays) },
		Infer: func(_ MultiAllFiniteParams, _, out []dtype.Shape) error {
			return op.Require("output", &out[0], dtype.Shape{1})
		},
		InferType: measureType[MultiAllFiniteParams],
		Ref:       func(_ MultiAllFiniteParams, c *op.Call) error { return finiteRef(c) },
		Storage:   measureStorage[MultiAllFiniteParams],
		Sparse: func(_ MultiAllFiniteParams, c *op.Call) error {
			return finiteRef(storedOf(c))
		},
	})
	MultiSumSq.Define(op.Spec[MultiSumSqParams]{
		Traits: op.Traits{
			Doc:      "MultiSumSq (multi_sum_sq) returns the sum of squares of each input, in a vector.",
			Variadic: true,
			NoGrad:   noDerivative,
		},
		Inputs: func(p MultiSumSqParams) []op.Input { return arrays(p.NumArrays) },
		Infer: func(p MultiSumSqParams, in, out []dtype.Shape) error {
			return op.Require("output", &out[0], dtype.Shape{len(in)})
		},
		InferType: measureType[MultiSumSqParams],
		Ref:       func(_ MultiSumSqParams, c *op.Call) error { return sumSquaresRef(c) },
		Storage:   measureStorage[MultiSumSqParams],
		Sparse:    func(_ MultiSumSqParams, c *op.Call) error { return sumSquaresRef(storedOf(c)) },
	})
	defineLars()
}

func defineLars() {
	MultiLars.Define(op.Spec[MultiLarsParams]{
		Traits: op.Traits{
			Doc: `MultiLars (multi_lars) scales learning rates by the layer-wise trust ratio (You et al. 2017).

With w and g the norms of weights and (rescaled) gradients of a layer, its learning rate becomes
lr·eta·w/(g + wd·w + eps) where both norms are positive. All operands are vectors over layers.`,
			NoGrad:  noDerivative,
			Inplace: [][2]int{{0, 0}},
		},
		Inputs: func(MultiLarsParams) []op.Input {
			return []op.Input{{Name: "lrs"}, {Name: "weights_sum_sq"}, {Name: "grads_sum_sq"},
				{Name: "wds"}}
		},
		Infer:     op.SameShape[MultiLarsParams],
		InferType: op.FloatType[MultiLarsParams],
		Ref: func(p MultiLarsParams, c *op.Call) error {
			each(c.In, c.Out, func(v []float64) {
				w, g := math.Sqrt(v[1]), math.Sqrt(v[2])*p.RescaleGrad.Value()
				if w > 0 && g > 0 {
					v[0] *= p.Eta * w / (g + v[3]*w + p.Eps)
				}
			})
			return nil
		},
	})
}

// arrays names n inputs.
func arrays(n int) []op.Input {
	list := make([]op.Input, n)
	for i := range list {
		list[i].Name = fmt.Sprintf("array_%d", i)
	}
	return list
}

// measureType infers one floating-point type for the inputs and float32 for the output.
func measureType[P any](p P, in, out []dtype.Type) error {
	if out[0] != dtype.Unknown && out[0] != dtype.Float32 {
		return op.Errorf("output", "element type %v, want float32", out[0])
	}
	out[0] = dtype.Float32
	return op.FloatType(p, in, nil)
}

// measureStorage serves all storage types: elements that are not stored are zeros.
func measureStorage[P any](P, []op.Storage) ([]op.Storage, bool) {
	return []op.Storage{op.Dense}, true
}

// storedOf returns a call with the stored values in the place of sparse operands.
func storedOf(c *op.Call) *op.Call {
	in := slices.Clone(c.In)
	for i, t := range in {
		if t.Sparse != nil {
			in[i] = t.Sparse.Values()
		}
	}
	return &op.Call{In: in, Out: c.Out}
}

func sumSquaresRef(c *op.Call) error {
	sums := make([]float64, len(c.In))
	for i, t := range c.In {
		each([]op.Tensor{t}, nil, func(v []float64) { sums[i] += v[0] * v[0] })
	}
	loop.Store(c.Out[0], 0, sums)
	return nil
}

func finiteRef(c *op.Call) error {
	ok := 1.0
	for _, t := range c.In {
		each([]op.Tensor{t}, nil, func(v []float64) {
			if math.IsNaN(v[0]) || math.IsInf(v[0], 0) {
				ok = 0
			}
		})
	}
	loop.Store(c.Out[0], 0, []float64{ok})
	return nil
}
