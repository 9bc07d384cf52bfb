package quant

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/nn"
)

// FusedQuantizeParams configures FusedQuantize.
type FusedQuantizeParams struct {
	OutType  string          `op:"out_type" default:"uint8" enum:"int8|uint8" doc:"element type of the output"`
	Scale    op.Opt[float64] `op:"scale" default:"1" doc:"integers in a real number of one"`
	Shift    float64         `op:"shift" doc:"real number that is added first"`
	PadWidth []int           `op:"pad_width" doc:"zeros added before and after each axis before all else; none by default"`
}

// FusedQuantize makes integers (x + shift)·scale of real numbers, rounded and limited to their
// type, of an image with zeros around it. Only passes make it.
var FusedQuantize = op.Declare[FusedQuantizeParams]("_fused_quantize")

func init() {
	FusedQuantize.Define(op.Spec[FusedQuantizeParams]{
		Traits: op.Traits{Hidden: true, Layouts: true, NoGrad: noGrad},
		Infer: func(p FusedQuantizeParams, in, out []dtype.Shape) error {
			if len(p.PadWidth) > 0 {
				return nn.Pad.InferShape(p.pad(), in, out)
			}
			return op.Same("data", &in[0], &out[0])
		},
		InferType: func(p FusedQuantizeParams, in, out []dtype.Type) error {
			if err := typed("data", in, dtype.Float32); err != nil {
				return err
			}
			return typed("output", out, narrow(p.OutType))
		},
		Ref: func(p FusedQuantizeParams, c *op.Call) error {
			t, scale, shift := c.Out[0].DType, float32(p.Scale.Value()), float32(p.Shift)
			x, y := loop.Floats(c.In[0]), c.Out[0]
			number := func(v float64) float64 {
				s := float32(v) + shift
				return float64(nearest(s*scale, t))
			}
			all := make([]float64, y.Shape.Size())
			for i := range all {
				all[i] = number(0)
			}
			inside, at := c.In[0].Shape, 0
			for i := range all {
				if at = p.source(i, inside, y.Shape); at >= 0 {
					all[i] = number(x[at])
				}
			}
			loop.Store(y, 0, all)
			return nil
		},
	})
}

func (p FusedQuantizeParams) pad() nn.PadParams {
	return nn.PadParams{Mode: "constant", PadWidth: p.PadWidth}
}

// source returns the place of the number that output i is made of, -1 for a zero of the padding.
func (p FusedQuantizeParams) source(i int, in, out dtype.Shape) int {
	at, step := 0, 1
	for a := len(out) - 1; a >= 0; a-- {
		k := i % out[a]
		i /= out[a]
		if len(p.PadWidth) > 0 {
			k -= p.PadWidth[2*a]
		}
		if k < 0 || k >= in[a] {
			return -1
		}
		at += k * step
		step *= in[a]
	}
	return at
}
