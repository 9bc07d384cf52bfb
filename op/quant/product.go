package quant

import (
	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/nn"
)

// Products of quantized numbers, in 32 bits.
var (
	Convolution    = op.Declare[nn.ConvolutionParams]("_contrib_quantized_conv")
	FullyConnected = op.Declare[nn.FullyConnectedParams]("_contrib_quantized_fully_connected")
)

func init() {
	Convolution.Define(op.Spec[nn.ConvolutionParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: `ContribQuantizedConv is Convolution of uint8 data with int8 weights.

Sums are int32. The bias, int8, is added to the sums as it is. The range of the output counts a step of data and
of weights as a 127th of their magnitudes, as MXNet does although the data are uint8. MXNet has no groups here.`,
			NoGrad: noGrad,
			Kind:   op.Product,
		},
		Inputs:  func(p nn.ConvolutionParams) []op.Input { return weighted(p.NoBias) },
		Outputs: ranged[nn.ConvolutionParams],
		Infer: func(p nn.ConvolutionParams, in, out []dtype.Shape) error {
			if n := len(p.Kernel); n != 2 && n != 3 {
				return op.Errorf("kernel", "%v, want two or three extents", p.Kernel)
			}
			return inferProduct(nn.Convolution.Op, p, p.NoBias, in, out)
		},
		InferType: func(p nn.ConvolutionParams, in, out []dtype.Type) error {
			if err := typed("data", in[:1], dtype.Uint8); err != nil {
				return err
			}
			return productTypes(p.NoBias, in, out)
		},
		Ref: func(p nn.ConvolutionParams, c *op.Call) error {
			n := operands(p.NoBias)
			var bias []int64
			if !p.NoBias {
				bias = loop.Ints(c.In[2])
			}
			p.NoBias = true
			y, err := exactly(nn.Convolution, p, c.In[:2], c.Out[0].Shape)
			if err != nil {
				return err
			}
			each := c.Out[0].Shape[2:].Size()
			storeSums(c.Out[0], y, bias, each)
			low := magnitudeOf(c.In[n:]) / 127 * (magnitudeOf(c.In[n+2:]) / 127) * int32Range
			storeRange(c.Out[1:], -low, low)
			return nil
		},
	})
	FullyConnected.Define(op.Spec[nn.FullyConnectedParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: `ContribQuantizedFullyConnected is FullyConnected of quantized data.

Weights are int8, sums int32. The bias, int8 with a range of its own, is converted to the steps of the sums, without its
fraction. The range of the output counts a step of data and of weights as a 127th of their
magnitudes; for uint8 data, that of weights as a 255th.`,
			NoGrad: noGrad,
			Kind:   op.Product,
		},
		Inputs:  func(p nn.FullyConnectedParams) []op.Input { return weighted(p.NoBias) },
		Outputs: ranged[nn.FullyConnectedParams],
		Infer: func(p nn.FullyConnectedParams, in, out []dtype.Shape) error {
			return inferProduct(nn.FullyConnected.Op, p, p.NoBias, in, out)
		},
		InferType: func(p nn.FullyConnectedParams, in, out []dtype.Type) error {
			if err := byte8("data", in[0]); err != nil {
				return err
			}
			return productTypes(p.NoBias, in, out)
		},
		Ref: fullyConnected,
	})
}

func fullyConnected(p nn.FullyConnectedParams, c *op.Call) error {
	n, t := operands(p.NoBias), c.In[0].DType
	data, weight := magnitudeOf(c.In[n:]), magnitudeOf(c.In[n+2:])
	var bias []int64
	if !p.NoBias {
		step := RangeOf(t) / data * (int8Range / weight) * magnitudeOf(c.In[n+4:]) / int8Range
		for _, v := range loop.Ints(c.In[2]) {
			bias = append(bias, int64(float32(v)*step))
		}
	}
	p.NoBias = true
	y, err := exactly(nn.FullyConnected, p, c.In[:2], c.Out[0].Shape)
	if err != nil {
		return err
	}
	storeSums(c.Out[0], y, bias, 1)
	steps := float32(127)
	if t == dtype.Uint8 {
		steps = 255
	}
	high := data / 127 * (weight / steps) * int32Range
	storeRange(c.Out[1:], -high, high)
	return nil
}

// weighted lists the inputs of products: the operands, and then their ranges.
func weighted(noBias bool) []op.Input {
	list := []op.Input{{Name: "data"}, {Name: "weight", Role: op.Param},
		{Name: "bias", Role: op.Param}}[:operands(noBias)]
	for _, o := range list[:len(list):len(list)] {
		list = append(list, op.Input{Name: "min_" + o.Name}, op.Input{Name: "max_" + o.Name})
	}
	return list
}

func operands(noBias bool) int {
	if noBias {
		return 2
	}
	return 3
}

// inferProduct infers the shapes of operands and output as the operator of real numbers does.
func inferProduct(real *op.Op, p any, noBias bool, in, out []dtype.Shape) error {
	n := operands(noBias)
	if err := single("range", in[n:]); err != nil {
		return err
	}
	if err := single("range", out[1:]); err != nil {
		return err
	}
	return real.InferShape(p, in[:n], out[:1])
}

func productTypes(noBias bool, in, out []dtype.Type) error {
	n := operands(noBias)
	if err := typed("operand", in[1:n], dtype.Int8); err != nil {
		return err
	}
	if err := typed("range", in[n:], dtype.Float32); err != nil {
		return err
	}
	return typed("output", out, dtype.Int32, dtype.Float32)
}

// exactly computes an operator of real numbers in float64, where sums of products of integers are
// exact.
func exactly[P any](h op.Handle[P], p P, in []op.Tensor, out dtype.Shape) ([]float64, error) {
	y := make([]float64, out.Size())
	c := &op.Call{Out: []op.Tensor{op.TensorOf(y, out...)}}
	a := &op.Args{Out: []op.Desc{c.Out[0].Desc}, Threads: 1}
	for _, t := range in {
		x := op.TensorOf(loop.Floats(t), t.Shape...)
		c.In, a.In = append(c.In, x), append(a.In, x.Desc)
	}
	k, err := h.Prepare(device.CPU(), device.TierRef, p, a)
	if err != nil {
		return nil, err
	}
	return y, k.Run(c)
}

// storeSums adds the bias of every channel to sums, in which each channel has a number of
// neighbours, and writes them as int32, whose overflow wraps around.
func storeSums(out op.Tensor, sums []float64, bias []int64, each int) {
	if out.Data == nil {
		return
	}
	y := op.Slice[int32](out)
	for i, v := range sums {
		s := int64(v)
		if bias != nil {
			s += bias[i/each%len(bias)]
		}
		y[i] = int32(s)
	}
}
