package oracle

import (
	"fmt"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/quant"
	"gomx/op/rnn"
)

func init() {
	const s8, u8, s32, f32 = dtype.Int8, dtype.Uint8, dtype.Int32, dtype.Float32
	for o, types := range map[*op.Op][]dtype.Type{
		quant.Quantize.Op: {f32}, quant.QuantizeV2.Op: {f32, s8, u8}, quant.QuantizeAsym.Op: {f32},
		quant.Dequantize.Op: {s8, u8}, quant.Requantize.Op: {s32}, quant.Flatten.Op: {s8, u8},
	} {
		recipes[o] = func(d drawer) recipe {
			return recipe{attrs: d.attrs(o), shapes: []dtype.Shape{d.list(d.between(1, 4), 1, 4)},
				types: []dtype.Type{types[d.IntN(len(types))]}}
		}
	}
	recipes[quant.Activation.Op] = func(d drawer) recipe {
		return recipe{attrs: map[string]string{"act_type": "relu"},
			shapes: []dtype.Shape{d.list(2, 1, 5)}, types: []dtype.Type{s8}}
	}
	recipes[quant.Add.Op] = func(d drawer) recipe { return quantizedPair(d, s8, u8) }
	recipes[quant.Mul.Op] = func(d drawer) recipe { return quantizedPair(d, s8, s8) }
	recipes[quant.Convolution.Op] = quantizedConv
	recipes[quant.FullyConnected.Op] = func(d drawer) recipe {
		return recipe{attrs: map[string]string{"num_hidden": fmt.Sprint(d.between(1, 5)),
			"no_bias": d.bool()}, shapes: []dtype.Shape{d.list(d.between(2, 4), 1, 5)},
			types: []dtype.Type{[]dtype.Type{s8, u8}[d.IntN(2)]}}
	}
	recipes[quant.WeightOnlyFullyConnected.Op] = func(d drawer) recipe {
		bits, codes := "8", s8
		if d.IntN(2) == 0 {
			bits, codes = "4", u8
		}
		return recipe{attrs: map[string]string{"num_hidden": fmt.Sprint(d.between(1, 5)),
			"bits": bits, "group": d.one("0", "32"), "no_bias": d.bool(), "flatten": "False"},
			shapes: []dtype.Shape{{d.between(1, 3), 32 * d.between(1, 2)}},
			types:  []dtype.Type{f32, codes, f32, f32}}
	}
	recipes[quant.Pooling.Op] = func(d drawer) recipe {
		r := quantizedConv(d)
		attrs := map[string]string{"kernel": r.attrs["kernel"], "pool_type": d.one("max", "avg")}
		return recipe{attrs: attrs, shapes: r.shapes, types: r.types}
	}
	recipes[quant.BatchNorm.Op] = func(d drawer) recipe {
		return recipe{attrs: map[string]string{"min_calib_range": "-1", "max_calib_range": "2"},
			shapes: []dtype.Shape{d.list(4, 1, 4)}, types: []dtype.Type{s8}}
	}
	recipes[quant.RNN.Op] = func(d drawer) recipe {
		p := rnn.RNNParams{StateSize: d.between(1, 3), NumLayers: d.between(1, 2), Mode: "lstm"}
		return recipe{attrs: quant.RNN.FormatParams(p), shapes: []dtype.Shape{d.list(3, 1, 4)},
			types: []dtype.Type{u8}}
	}
	recipes[quant.LSTMSteps.Op] = func(d drawer) recipe {
		direction, n, dirs := d.one("forward", "reverse", "bidirectional"), d.between(1, 3), 1
		if direction == "bidirectional" {
			dirs = 2
		}
		return recipe{attrs: map[string]string{"state_size": fmt.Sprint(n), "direction": direction,
			"state_outputs": d.bool()},
			shapes: []dtype.Shape{{d.between(1, 3), d.between(1, 3), dirs * 4 * n}},
			types:  []dtype.Type{f32, s8, f32, f32, f32}}
	}
	recipes[quant.Embedding.Op] = func(d drawer) recipe {
		return recipe{attrs: map[string]string{"input_dim": "4", "output_dim": "3"},
			shapes: []dtype.Shape{d.list(2, 1, 4)}, types: []dtype.Type{f32, s8}}
	}
	recipes[quant.Concat.Op] = func(d drawer) recipe {
		return recipe{attrs: map[string]string{"dim": "1"}, types: []dtype.Type{u8},
			shapes: []dtype.Shape{d.list(2, 1, 4), {1}, {1}}}
	}
	recipes[quant.Calibrate.Op] = func(d drawer) recipe {
		n := 2*d.between(20, 40) + 1
		return recipe{attrs: map[string]string{"num_quantized_bins": "15"},
			shapes: []dtype.Shape{{n}, {n + 1}}, types: []dtype.Type{f32}}
	}
}

// quantizedPair draws two arrays of one shape.
func quantizedPair(d drawer, a, b dtype.Type) recipe {
	attrs := map[string]string{}
	if d.IntN(2) == 0 {
		attrs["min_calib_range"], attrs["max_calib_range"] = "-1.5", "2"
	}
	shape := dtype.Shape(d.list(d.between(1, 3), 1, 4))
	return recipe{attrs: attrs, shapes: []dtype.Shape{shape, shape.Clone()},
		types: []dtype.Type{a, b}}
}

// quantizedConv draws a window over uint8 data.
func quantizedConv(d drawer) recipe {
	return recipe{attrs: map[string]string{"kernel": tupleOf(d.list(2, 1, 3)),
		"num_filter": fmt.Sprint(d.between(1, 4)), "no_bias": d.bool()},
		shapes: []dtype.Shape{append(dtype.Shape{d.between(1, 2), d.between(1, 4)},
			d.list(2, 3, 6)...)}, types: []dtype.Type{dtype.Uint8}}
}
