package quant

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// QuantizeParams configures Quantize.
type QuantizeParams struct {
	OutType string `op:"out_type" default:"uint8" enum:"int8|uint8" doc:"element type of the output"`
}

// QuantizeV2Params configures QuantizeV2 and Requantize.
type QuantizeV2Params struct {
	OutType       string          `op:"out_type" default:"int8" enum:"auto|int8|uint8" doc:"element type of the output; auto: uint8 for a given range without negative numbers, else int8"`
	MinCalibRange op.Opt[float64] `op:"min_calib_range" doc:"least number of the range; None: found from data"`
	MaxCalibRange op.Opt[float64] `op:"max_calib_range" doc:"greatest number of the range; None: found from data"`
}

// QuantizeAsymParams configures QuantizeAsym.
type QuantizeAsymParams struct {
	MinCalibRange op.Opt[float64] `op:"min_calib_range" doc:"least number of the range; None: found from data"`
	MaxCalibRange op.Opt[float64] `op:"max_calib_range" doc:"greatest number of the range; None: found from data"`
}

// DequantizeParams configures Dequantize.
type DequantizeParams struct {
	OutType string `op:"out_type" default:"float32" enum:"float32" doc:"element type of the output"`
}

// Conversions between real and quantized numbers.
var (
	Quantize     = op.Declare[QuantizeParams]("_contrib_quantize")
	QuantizeV2   = op.Declare[QuantizeV2Params]("_contrib_quantize_v2")
	QuantizeAsym = op.Declare[QuantizeAsymParams]("_contrib_quantize_asym")
	Dequantize   = op.Declare[DequantizeParams]("_contrib_dequantize")
	Requantize   = op.Declare[QuantizeV2Params]("_contrib_requantize")
)

func init() {
	Quantize.Define(op.Spec[QuantizeParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: "ContribQuantize turns float32 numbers into int8 or uint8 numbers: x·127/m or " +
				"x·255/m for a range of magnitude m, rounded and limited.",
			NoGrad: noGrad,
		},
		Inputs:  inputs[QuantizeParams]("data", "min_range", "max_range"),
		Outputs: numbered[QuantizeParams],
		Infer:   sameRanged[QuantizeParams],
		InferType: func(p QuantizeParams, in, out []dtype.Type) error {
			if err := typed("input", in, dtype.Float32); err != nil {
				return err
			}
			return typed("output", out, narrow(p.OutType), dtype.Float32)
		},
		Ref: func(p QuantizeParams, c *op.Call) error {
			m := magnitudeOf(c.In[1:])
			_, high := limits(narrow(p.OutType))
			rescale(c.Out[0], c.In[0], high/m)
			if p.OutType == "int8" {
				storeRange(c.Out[1:], -m, m)
			} else {
				storeRange(c.Out[1:], number(c.In[1]), number(c.In[2]))
			}
			return nil
		},
	})
	defineQuantizeV2()
	defineQuantizeAsym()
	Dequantize.Define(op.Spec[DequantizeParams]{
		Traits: op.Traits{
			Doc: "ContribDequantize turns int8 or uint8 numbers of a range into float32 numbers: " +
				"q·m/127.5 or q·m/255.5 for a range of magnitude m.",
			Layouts: true,
			NoGrad:  noGrad,
		},
		Inputs: inputs[DequantizeParams]("data", "min_range", "max_range"),
		Infer:  sameRanged[DequantizeParams],
		InferType: func(_ DequantizeParams, in, out []dtype.Type) error {
			return rangedTypes(in, out, dtype.Float32)
		},
		Ref: func(_ DequantizeParams, c *op.Call) error {
			step := magnitudeOf(c.In[1:]) / RangeOf(c.In[0].DType)
			x := loop.Floats(c.In[0])
			for i, v := range x {
				x[i] = float64(float32(v) * step)
			}
			loop.Store(c.Out[0], 0, x)
			return nil
		},
	})
	Requantize.Define(op.Spec[QuantizeV2Params]{
		Traits: op.Traits{
			Multi: true,
			Doc: "ContribRequantize turns int32 numbers of a range into int8 or uint8 numbers of " +
				"a smaller range: the given one, or that of the numbers found.",
			NoGrad: noGrad,
		},
		Inputs:  inputs[QuantizeV2Params]("data", "min_range", "max_range"),
		Outputs: numbered[QuantizeV2Params],
		Infer:   sameRanged[QuantizeV2Params],
		InferType: func(p QuantizeV2Params, in, out []dtype.Type) error {
			if err := typed("input", in, dtype.Int32, dtype.Float32); err != nil {
				return err
			}
			return typed("output", out, p.result(), dtype.Float32)
		},
		Ref: requantize,
	})
}

func narrow(name string) dtype.Type {
	if name == "uint8" {
		return dtype.Uint8
	}
	return dtype.Int8
}

// result is the element type of the output.
func (p QuantizeV2Params) result() dtype.Type {
	c := calibrated(p.MinCalibRange, p.MaxCalibRange)
	if p.OutType == "auto" && c.known && c.low >= 0 {
		return dtype.Uint8
	}
	return narrow(p.OutType)
}

func defineQuantizeV2() {
	QuantizeV2.Define(op.Spec[QuantizeV2Params]{
		Traits: op.Traits{
			Multi: true,
			Doc: "ContribQuantizeV2 turns float32 numbers into int8 or uint8 numbers: x·127.5/m " +
				"or x·255.5/m for a range of magnitude m, rounded and limited. Quantized numbers " +
				"stay as they are.",
			Layouts: true,
			NoGrad:  noGrad,
		},
		Outputs: numbered[QuantizeV2Params],
		Infer:   sameRanged[QuantizeV2Params],
		InferType: func(p QuantizeV2Params, in, out []dtype.Type) error {
			if in[0] != dtype.Float32 {
				if err := byte8("data", in[0]); err != nil {
					return err
				}
			}
			return typed("output", out, p.result(), dtype.Float32)
		},
		Ref: func(p QuantizeV2Params, c *op.Call) error {
			x, y := c.In[0], c.Out[0]
			r := calibrated(p.MinCalibRange, p.MaxCalibRange)
			if x.DType != dtype.Float32 {
				if y.Data != nil {
					loop.StoreInt(y, 0, loop.Ints(x))
				}
				switch {
				case r.known:
				case x.DType == dtype.Int8:
					r.low, r.high = -int8Range, int8Range
				default:
					r.low, r.high = 0, uint8Range
				}
				storeRange(c.Out[1:], r.low, r.high)
				return nil
			}
			if !r.known {
				r.low, r.high = extremes(x)
			}
			m := magnitude(r.low, r.high)
			rescale(y, x, RangeOf(y.DType)/m)
			if y.DType == dtype.Int8 {
				r.low, r.high = -m, m
			}
			storeRange(c.Out[1:], r.low, r.high)
			return nil
		},
	})
}

func defineQuantizeAsym() {
	QuantizeAsym.Define(op.Spec[QuantizeAsymParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: "ContribQuantizeAsym turns float32 numbers of a range from low to high into " +
				"uint8 numbers: x·scale + shift with scale 255/(high - low) and shift " +
				"255 - high·scale, rounded and limited. Outputs after data are scale and shift.",
			NoGrad: noGrad,
		},
		Outputs: func(QuantizeAsymParams) []string { return []string{"output", "scale", "shift"} },
		Infer:   sameRanged[QuantizeAsymParams],
		InferType: func(_ QuantizeAsymParams, in, out []dtype.Type) error {
			if err := typed("input", in, dtype.Float32); err != nil {
				return err
			}
			return typed("output", out, dtype.Uint8, dtype.Float32)
		},
		Ref: func(p QuantizeAsymParams, c *op.Call) error {
			r := calibrated(p.MinCalibRange, p.MaxCalibRange)
			if !r.known {
				r.low, r.high = extremes(c.In[0])
			}
			scale := 255 / (r.high - r.low)
			shift := 255 - r.high*scale
			if c.Out[0].Data != nil {
				apply(c.Out[0], c.In[0], func(v float32) int64 {
					return nearest(float32(v*scale)+shift, dtype.Uint8)
				})
			}
			storeRange(c.Out[1:], scale, shift)
			return nil
		},
	})
}

func requantize(p QuantizeV2Params, c *op.Call) error {
	step := magnitudeOf(c.In[1:]) / int32Range
	r := calibrated(p.MinCalibRange, p.MaxCalibRange)
	m := magnitude(r.low, r.high)
	if !r.known {
		low, high := extremes(c.In[0])
		m = magnitude(low, high) * magnitudeOf(c.In[1:]) / int32Range
	}
	_, high := limits(c.Out[0].DType)
	rescale(c.Out[0], c.In[0], step*(high/m))
	if c.Out[0].DType == dtype.Int8 {
		storeRange(c.Out[1:], -m, m)
	} else {
		storeRange(c.Out[1:], 0, m)
	}
	return nil
}
