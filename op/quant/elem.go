package quant

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/nn"
)

// QuantizedAddParams configures Add.
type QuantizedAddParams struct {
	MinCalibRange op.Opt[float64] `op:"min_calib_range" doc:"least number of the output; None: the output is int32"`
	MaxCalibRange op.Opt[float64] `op:"max_calib_range" doc:"greatest number of the output; None: the output is int32"`
}

// QuantizedMulParams configures Mul.
type QuantizedMulParams struct {
	MinCalibRange op.Opt[float64] `op:"min_calib_range" doc:"least number of the output; None: the output is int32"`
	MaxCalibRange op.Opt[float64] `op:"max_calib_range" doc:"greatest number of the output; None: the output is int32"`
	FloatOutput   bool            `op:"enable_float_output" doc:"the output is float32, without a range"`
}

// Functions of quantized numbers, element by element.
var (
	Add        = op.Declare[QuantizedAddParams]("_contrib_quantized_elemwise_add")
	Mul        = op.Declare[QuantizedMulParams]("_contrib_quantized_elemwise_mul")
	Activation = op.Declare[nn.ActivationParams]("_contrib_quantized_act")
	BatchNorm  = op.Declare[nn.BatchNormParams]("_contrib_quantized_batch_norm")
)

func init() {
	pair := []string{"lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max"}
	Add.Define(op.Spec[QuantizedAddParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: "ContribQuantizedElemwiseAdd adds quantized numbers of two ranges. The output " +
				"is int32 with the sum of both magnitudes, or with a given range int8, uint8 where " +
				"both operands are. As in MXNet a uint8 operand beside an int8 operand is first " +
				"limited to int8 in the steps of the output.",
			NoGrad: noGrad,
		},
		Inputs:  inputs[QuantizedAddParams](pair...),
		Outputs: ranged[QuantizedAddParams],
		Infer:   inferPair[QuantizedAddParams],
		InferType: func(p QuantizedAddParams, in, out []dtype.Type) error {
			result, err := joined(in[:2])
			if err != nil {
				return err
			}
			if !calibrated(p.MinCalibRange, p.MaxCalibRange).known {
				result = dtype.Int32
			}
			if err := typed("range", in[2:], dtype.Float32); err != nil {
				return err
			}
			return typed("output", out, result, dtype.Float32)
		},
		Ref: add,
	})
	Mul.Define(op.Spec[QuantizedMulParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: "ContribQuantizedElemwiseMul multiplies int8 numbers of two ranges. The output " +
				"is int32, int8 with a given range, or float32.",
			NoGrad: noGrad,
		},
		Inputs: inputs[QuantizedMulParams](pair...),
		Outputs: func(p QuantizedMulParams) []string {
			if p.FloatOutput {
				return []string{"output"}
			}
			return ranged(p)
		},
		Infer: inferPair[QuantizedMulParams],
		InferType: func(p QuantizedMulParams, in, out []dtype.Type) error {
			if err := typed("input", in, dtype.Int8, dtype.Int8, dtype.Float32); err != nil {
				return err
			}
			result := dtype.Int32
			switch {
			case p.FloatOutput:
				result = dtype.Float32
			case calibrated(p.MinCalibRange, p.MaxCalibRange).known:
				result = dtype.Int8
			}
			return typed("output", out, result, dtype.Float32)
		},
		Ref: mul,
	})
	defineActivation()
	defineBatchNorm()
}

func inferPair[P any](_ P, in, out []dtype.Shape) error {
	if err := single("range", in[2:]); err != nil {
		return err
	}
	if err := single("range", out[1:]); err != nil {
		return err
	}
	return op.SameShape(op.NoParams{}, in[:2], out[:1])
}

func add(p QuantizedAddParams, c *op.Call) error {
	var scale [2]float32 // from steps of an operand to steps of the output
	m := [2]float32{magnitudeOf(c.In[2:]), magnitudeOf(c.In[4:])}
	r, t := calibrated(p.MinCalibRange, p.MaxCalibRange), c.Out[0].DType
	sum := m[0] + m[1]
	for i := range scale {
		steps := RangeOf(c.In[i].DType)
		if r.known {
			scale[i] = RangeOf(t) / magnitude(r.low, r.high) / (steps / m[i])
		} else {
			scale[i] = m[i] * RangeOf(t) / (sum * steps)
		}
	}
	if !r.known {
		r.low, r.high = -sum, sum
	}
	var x [2][]float64
	for i := range x {
		x[i] = loop.Floats(c.In[i])
		if c.In[i].DType == dtype.Uint8 && c.In[1-i].DType == dtype.Int8 {
			for k, v := range x[i] {
				x[i][k] = float64(nearest(float32(v)*scale[i], dtype.Int8))
			}
			scale[i] = 1
		}
	}
	if c.Out[0].Data != nil {
		y := make([]int64, len(x[0]))
		for k := range y {
			y[k] = nearest(float32(float32(x[0][k])*scale[0])+float32(float32(x[1][k])*scale[1]), t)
		}
		loop.StoreInt(c.Out[0], 0, y)
	}
	storeRange(c.Out[1:], r.low, r.high)
	return nil
}

func mul(p QuantizedMulParams, c *op.Call) error {
	a, b := magnitudeOf(c.In[2:]), magnitudeOf(c.In[4:])
	r := calibrated(p.MinCalibRange, p.MaxCalibRange)
	scale, steps := float32(1), (int8Range / a)
	switch {
	case p.FloatOutput:
		scale = float32(float64(1) / float64(steps) / float64(int8Range/b))
	case r.known:
		scale = int8Range / magnitude(r.low, r.high) / steps / (int8Range / b)
	default:
		r.high = a / 127 * (b / 127) * int32Range
		r.low = -r.high
	}
	x, y := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	if c.Out[0].Data != nil {
		for i := range x {
			x[i] = float64(float32(x[i]*y[i]) * scale)
			if !p.FloatOutput {
				x[i] = math.Trunc(x[i])
			}
		}
		loop.Store(c.Out[0], 0, x)
	}
	if !p.FloatOutput {
		storeRange(c.Out[1:], r.low, r.high)
	}
	return nil
}

func defineActivation() {
	Activation.Define(op.Spec[nn.ActivationParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: "ContribQuantizedAct is max(q, 0) for quantized numbers; act_type must be relu. " +
				"The output is int8 with the range of data; uint8 numbers keep their bits.",
			NoGrad: noGrad,
		},
		Inputs:  inputs[nn.ActivationParams]("data", "min_data", "max_data"),
		Outputs: ranged[nn.ActivationParams],
		Check: func(p nn.ActivationParams) error {
			if p.ActType != "relu" {
				return op.Errorf("act_type", "%q, want relu", p.ActType)
			}
			return nil
		},
		Infer: sameRanged[nn.ActivationParams],
		InferType: func(_ nn.ActivationParams, in, out []dtype.Type) error {
			return rangedTypes(in, out, dtype.Int8)
		},
		Ref: func(_ nn.ActivationParams, c *op.Call) error {
			if c.Out[0].Data != nil {
				x := loop.Ints(c.In[0])
				for i, v := range x {
					x[i] = max(v, 0)
				}
				loop.StoreInt(c.Out[0], 0, x)
			}
			storeRange(c.Out[1:], number(c.In[1]), number(c.In[2]))
			return nil
		},
	})
}

func defineBatchNorm() {
	BatchNorm.Define(op.Spec[nn.BatchNormParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: `ContribQuantizedBatchNorm is BatchNorm of quantized numbers by moving averages.

The output is int8 and has the range of min_calib_range and max_calib_range, which must be given.
As in MXNet gamma counts whatever fix_gamma says, and results are divided by sqrt(1 + eps).`,
			NoGrad: noGrad,
			Kind:   op.Normalization,
		},
		Inputs: func(nn.BatchNormParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "gamma", Role: op.Param},
				{Name: "beta", Role: op.Param}, {Name: "moving_mean", Role: op.Aux},
				{Name: "moving_var", Role: op.Aux}, {Name: "min_data"}, {Name: "max_data"}}
		},
		Outputs: ranged[nn.BatchNormParams],
		Infer: func(p nn.BatchNormParams, in, out []dtype.Shape) error {
			if err := single("range", in[5:]); err != nil {
				return err
			}
			if err := single("range", out[1:]); err != nil {
				return err
			}
			stats := []dtype.Shape{out[0], nil, nil}
			err := nn.BatchNorm.InferShape(p, in[:5], stats)
			out[0] = stats[0]
			return err
		},
		InferType: func(_ nn.BatchNormParams, in, out []dtype.Type) error {
			return rangedTypes(in, out, dtype.Int8)
		},
		Ref: batchNorm,
	})
}

func batchNorm(p nn.BatchNormParams, c *op.Call) error {
	r := calibrated(p.MinCalibRange, p.MaxCalibRange)
	if !r.known {
		return op.Errorf("min_calib_range", "missing: the range of the output must be given")
	}
	x := c.In[0]
	axis := p.Axis.Value()
	if axis < 0 {
		axis += len(x.Shape)
	}
	gamma, beta := op.Slice[float32](c.In[1]), op.Slice[float32](c.In[2])
	mean, variance := op.Slice[float32](c.In[3]), op.Slice[float32](c.In[4])
	data, high := magnitudeOf(c.In[5:]), magnitude(r.low, r.high)
	root := float32(math.Sqrt(float64(1 + float32(p.Eps.Value()))))
	channels, inner := x.Shape[axis], x.Shape[axis+1:].Size()
	values, y := loop.Floats(x), make([]int64, x.Shape.Size())
	for i, v := range values {
		k := i / inner % channels
		inv := float32(1 / math.Sqrt(float64(variance[k])+p.Eps.Value()))
		scale := gamma[k] * inv * data / high
		shift := (beta[k] - mean[k]*gamma[k]*inv) * int8Range / high
		q := float32(v)
		if x.DType == dtype.Uint8 {
			q = float32(nearest(q*(int8Range/uint8Range), dtype.Int8))
		}
		y[i] = nearest(float32(scale/root*q)+shift, dtype.Int8)
	}
	if c.Out[0].Data != nil {
		loop.StoreInt(c.Out[0], 0, y)
	}
	storeRange(c.Out[1:], r.low, r.high)
	return nil
}
