package quant

import (
	"math"
	"strconv"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/index"
	"gomx/op/loop"
	"gomx/op/nn"
	"gomx/op/prim"
)

// QuantizedConcatParams configures Concat.
type QuantizedConcatParams struct {
	NumArgs int         `op:"num_args,auto" per:"3" max:"16384" doc:"number of arrays that are joined"`
	Dim     op.Opt[int] `op:"dim" default:"1" doc:"axis along which the inputs are joined"`
}

// Operators that move quantized numbers or summarize windows of them.
var (
	Flatten   = op.Declare[op.NoParams]("_contrib_quantized_flatten")
	Concat    = op.Declare[QuantizedConcatParams]("_contrib_quantized_concat")
	Embedding = op.Declare[index.EmbeddingParams]("_contrib_quantized_embedding")
	Pooling   = op.Declare[nn.PoolingParams]("_contrib_quantized_pooling")
)

func init() {
	Flatten.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: "ContribQuantizedFlatten sees quantized numbers of shape (n, ...) as a matrix " +
				"of n rows, with the same range.",
			NoGrad: noGrad,
			Moves:  true,
		},
		Inputs:  inputs[op.NoParams]("data", "min_data", "max_data"),
		Outputs: ranged[op.NoParams],
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			if err := single("range", in[1:]); err != nil {
				return err
			}
			if err := single("range", out[1:]); err != nil {
				return err
			}
			return prim.Flatten.InferShape(p, in[:1], out[:1])
		},
		InferType: keptType[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			if c.Out[0].Data != nil {
				loop.Move(c.Out[0], c.In[0])
			}
			storeRange(c.Out[1:], number(c.In[1]), number(c.In[2]))
			return nil
		},
	})
	defineConcat()
	Embedding.Define(op.Spec[index.EmbeddingParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: "ContribQuantizedEmbedding replaces every index of data by that row of an int8 " +
				"weight, with the range of weight. Indices out of range are clipped.",
			NoGrad: noGrad,
			Moves:  true,
		},
		Inputs: func(index.EmbeddingParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "weight", Role: op.Param},
				{Name: "min_weight"}, {Name: "max_weight"}}
		},
		Outputs: ranged[index.EmbeddingParams],
		Infer: func(p index.EmbeddingParams, in, out []dtype.Shape) error {
			if err := single("range", in[2:]); err != nil {
				return err
			}
			if err := single("range", out[1:]); err != nil {
				return err
			}
			return index.Embedding.InferShape(p, in[:2], out[:1])
		},
		InferType: func(_ index.EmbeddingParams, in, out []dtype.Type) error {
			if err := typed("input", in, dtype.Unknown, dtype.Int8, dtype.Float32); err != nil {
				return err
			}
			return typed("output", out, dtype.Int8, dtype.Float32)
		},
		Ref: embedding,
	})
	definePooling()
}

// keptType infers that data and output have one type of 8 bits.
func keptType[P any](_ P, in, out []dtype.Type) error {
	if in[0] == dtype.Unknown {
		in[0] = out[0]
	}
	return rangedTypes(in, out, in[0])
}

func embedding(p index.EmbeddingParams, c *op.Call) error {
	if c.Out[0].Data != nil {
		rows, y := op.Slice[int8](c.In[1]), op.Slice[int8](c.Out[0])
		for i, at := range loop.Ints(c.In[0]) {
			k := int(min(max(at, 0), int64(p.InputDim-1)))
			copy(y[i*p.OutputDim:(i+1)*p.OutputDim], rows[k*p.OutputDim:(k+1)*p.OutputDim])
		}
	}
	storeRange(c.Out[1:], number(c.In[2]), number(c.In[3]))
	return nil
}

func defineConcat() {
	Concat.Define(op.Spec[QuantizedConcatParams]{
		Traits: op.Traits{
			Doc: "ContribQuantizedConcat joins quantized arrays along an axis. The inputs are " +
				"the arrays and then the least and the greatest number of each. The output has a " +
				"range that covers all of them and zero; it is uint8 where all arrays are, else int8.",
			Variadic: true,
			Multi:    true,
			NoGrad:   noGrad,
		},
		Inputs: func(p QuantizedConcatParams) []op.Input {
			var list, ranges []op.Input
			for i := range p.NumArgs {
				name := argName(i)
				list = append(list, op.Input{Name: name})
				ranges = append(ranges, op.Input{Name: name + "_min"},
					op.Input{Name: name + "_max"})
			}
			return append(list, ranges...)
		},
		Outputs: ranged[QuantizedConcatParams],
		Infer: func(p QuantizedConcatParams, in, out []dtype.Shape) error {
			n := p.NumArgs
			if n == 0 {
				return op.Errorf("num_args", "no arrays to join")
			}
			if err := single("range", in[n:]); err != nil {
				return err
			}
			if err := single("range", out[1:]); err != nil {
				return err
			}
			return prim.Concat.InferShape(prim.ConcatParams{NumArgs: n, Dim: p.Dim}, in[:n],
				out[:1])
		},
		InferType: func(p QuantizedConcatParams, in, out []dtype.Type) error {
			result, err := joined(in[:p.NumArgs])
			if err != nil {
				return err
			}
			if err := typed("range", in[p.NumArgs:], dtype.Float32); err != nil {
				return err
			}
			return typed("output", out, result, dtype.Float32)
		},
		Ref: concat,
	})
}

func concat(p QuantizedConcatParams, c *op.Call) error {
	n := p.NumArgs
	var low, high float32
	for i := range n {
		low, high = min(low, number(c.In[n+2*i])), max(high, number(c.In[n+2*i+1]))
	}
	storeRange(c.Out[1:], low, high)
	if c.Out[0].Data == nil {
		return nil
	}
	t := c.Out[0].DType
	parts := make([]op.Tensor, n)
	for i := range parts {
		x := c.In[i]
		own, all := RangeOf(x.DType)/magnitudeOf(c.In[n+2*i:]), RangeOf(t)/magnitude(low, high)
		y := make([]float64, x.Shape.Size())
		for k, v := range loop.Floats(x) {
			if own != all {
				v = float64(nearest(float32(v)*(all/own), t))
			}
			y[k] = v
		}
		parts[i] = op.TensorOf(y, x.Shape...)
	}
	y, err := exactly(prim.Concat, prim.ConcatParams{NumArgs: n, Dim: p.Dim}, parts, c.Out[0].Shape)
	if err == nil {
		loop.Store(c.Out[0], 0, y)
	}
	return err
}

func definePooling() {
	Pooling.Define(op.Spec[nn.PoolingParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: "ContribQuantizedPooling is Pooling by max or avg of quantized numbers with two " +
				"or three spatial axes. Averages are rounded; the range stays.",
			Layouts: true,
			NoGrad:  noGrad,
		},
		Inputs:  inputs[nn.PoolingParams]("data", "min_data", "max_data"),
		Outputs: ranged[nn.PoolingParams],
		Check: func(p nn.PoolingParams) error {
			if p.PoolType != "max" && p.PoolType != "avg" {
				return op.Errorf("pool_type", "%q, want max or avg", p.PoolType)
			}
			return nil
		},
		Infer: func(p nn.PoolingParams, in, out []dtype.Shape) error {
			if s := in[0]; s != nil && len(s) != 4 && len(s) != 5 {
				return op.Errorf("data", "shape %v, want 4 or 5 axes", s)
			}
			if err := single("range", in[1:]); err != nil {
				return err
			}
			if err := single("range", out[1:]); err != nil {
				return err
			}
			return nn.Pooling.InferShape(p, in[:1], out[:1])
		},
		InferType: keptType[nn.PoolingParams],
		Ref: func(p nn.PoolingParams, c *op.Call) error {
			// oneDNN divides by the window's extent even where it reaches beyond the padding
			volume := 1.0
			if p.PoolType == "avg" && !p.GlobalPool && p.CountIncludePad.Or(true) {
				p.PoolType, volume = "sum", float64(dtype.Shape(p.Kernel).Size())
			}
			y, err := exactly(nn.Pooling, p, c.In[:1], c.Out[0].Shape)
			if err != nil {
				return err
			}
			if c.Out[0].Data != nil {
				for i, v := range y {
					y[i] = math.RoundToEven(float64(float32(v / volume)))
				}
				loop.Store(c.Out[0], 0, y)
			}
			storeRange(c.Out[1:], number(c.In[1]), number(c.In[2]))
			return nil
		},
	})
}

// joined returns the element type of numbers of several types: uint8 where all are, else int8.
func joined(list []dtype.Type) (dtype.Type, error) {
	result := dtype.Uint8
	for _, t := range list {
		if err := byte8("array", t); err != nil {
			return t, err
		}
		if t == dtype.Int8 || result == dtype.Uint8 && t == dtype.Unknown {
			result = t
		}
	}
	return result, nil
}

// argName is the name of an array that is joined.
func argName(i int) string { return "arg" + strconv.Itoa(i) }
