package quant

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/nn"
)

// WeightOnlyParams configures WeightOnlyFullyConnected.
type WeightOnlyParams struct {
	NumHidden int  `op:"num_hidden,required" min:"1" doc:"number of outputs"`
	Bits      int  `op:"bits" default:"8" enum:"4|8" doc:"size of a weight"`
	Group     int  `op:"group" default:"0" min:"0" doc:"number of weights of an output that have one scale, a multiple of 32; 0: all"`
	NoBias    bool `op:"no_bias" doc:"leave the bias out"`
	NoFlatten bool `op:"flatten,not" default:"true" doc:"join all axes but the first; else transform the last axis alone"`
}

// WeightOnlyFullyConnected is FullyConnected with weights that are stored as small integers.
var WeightOnlyFullyConnected = op.Declare[WeightOnlyParams]("WeightOnlyFullyConnected")

// PackedColumns is the number of weights that are packed together with 4 bits each.
const PackedColumns = 32

func init() {
	WeightOnlyFullyConnected.Define(op.Spec[WeightOnlyParams]{
		Traits: op.Traits{
			Doc: `WeightOnlyFullyConnected is FullyConnected of real numbers with weights stored as
integers.

Weight k of output j is scale(j, k/group)·q(j, k), computed inside of the product in float32. With 8
bits, weight has shape (num_hidden, columns) and type int8. With 4 bits it has shape (num_hidden,
columns/2) and type uint8: byte i of every 16 bytes has column i of 32 columns in its low bits and
column i + 16 in its high bits, as numbers from -8 to 7. scale has shape (num_hidden,
columns/group). Columns are a multiple of the group and, with 4 bits, of 32.`,
			NoGrad: "its weights are integers",
			Kind:   op.Product,
		},
		Inputs: func(p WeightOnlyParams) []op.Input {
			list := []op.Input{{Name: "data"}, {Name: "weight", Role: op.Param},
				{Name: "scale", Role: op.Param}, {Name: "bias", Role: op.Param}}
			if p.NoBias {
				return list[:3]
			}
			return list
		},
		Check: func(p WeightOnlyParams) error {
			if p.Group%PackedColumns != 0 {
				return op.Errorf("group", "%d, want a multiple of %d, or 0", p.Group, PackedColumns)
			}
			return nil
		},
		Infer: inferWeightOnly,
		InferType: func(p WeightOnlyParams, in, out []dtype.Type) error {
			codes := dtype.Int8
			if p.Bits == 4 {
				codes = dtype.Uint8
			}
			if err := typed("weight", in[1:2], codes); err != nil {
				return err
			}
			for _, list := range [][]dtype.Type{in[:1], in[2:], out} {
				if err := typed("operand", list, dtype.Float32); err != nil {
					return err
				}
			}
			return nil
		},
		Ref: weightOnlyRef,
	})
}

func (p WeightOnlyParams) dense() nn.FullyConnectedParams {
	return nn.FullyConnectedParams{NumHidden: p.NumHidden, NoBias: p.NoBias, NoFlatten: p.NoFlatten}
}

// groups returns the number of scales of an output and the weights of each.
func (p WeightOnlyParams) groups(columns int) (n, each int) {
	if p.Group == 0 {
		return 1, columns
	}
	return columns / p.Group, p.Group
}

func inferWeightOnly(p WeightOnlyParams, in, out []dtype.Shape) error {
	real := []dtype.Shape{in[0], nil}
	if !p.NoBias {
		real = append(real, in[3])
	}
	if err := nn.FullyConnected.InferShape(p.dense(), real, out); err != nil {
		return err
	}
	in[0] = real[0]
	if !p.NoBias {
		in[3] = real[2]
	}
	if len(real[1]) != 2 || real[1][1] < 0 {
		return nil // the columns are not known yet
	}
	columns := real[1][1]
	multiple := max(p.Group, 1)
	if p.Bits == 4 {
		multiple = max(p.Group, PackedColumns)
	}
	if columns%multiple != 0 {
		return op.Errorf("data", "%d columns, want a multiple of %d", columns, multiple)
	}
	n, _ := p.groups(columns)
	if err := op.Require("scale", &in[2], dtype.Shape{p.NumHidden, n}); err != nil {
		return err
	}
	return op.Require("weight", &in[1], dtype.Shape{p.NumHidden, columns * p.Bits / 8})
}

// code returns weight k of a row of integers.
func (p WeightOnlyParams) code(row []int64, k int) int64 {
	if p.Bits == 8 {
		return row[k]
	}
	b := row[k/PackedColumns*PackedColumns/2+k%(PackedColumns/2)]
	if k%PackedColumns >= PackedColumns/2 {
		b >>= 4
	}
	return (b&15 ^ 8) - 8
}

func weightOnlyRef(p WeightOnlyParams, c *op.Call) error {
	x, codes, scale := loop.Floats(c.In[0]), loop.Ints(c.In[1]), loop.Floats(c.In[2])
	stride := c.In[1].Shape[1]
	columns := stride * 8 / p.Bits
	groups, each := p.groups(columns)
	var bias []float64
	if !p.NoBias {
		bias = loop.Floats(c.In[3])
	}
	y := make([]float64, c.Out[0].Shape.Size())
	for i := range y {
		row, j := i/p.NumHidden, i%p.NumHidden
		for k := range columns {
			w := scale[j*groups+k/max(each, 1)] * float64(p.code(codes[j*stride:(j+1)*stride], k))
			y[i] += w * x[row*columns+k]
		}
		if bias != nil {
			y[i] += bias[j]
		}
	}
	loop.Store(c.Out[0], 0, y)
	return nil
}
