package loss

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// BiasSoftmax is the softmax of data + bias along the last axis: the forward part of SoftmaxOutput
// after a dense layer, whose bias it adds. Only graph passes create it.
var BiasSoftmax = op.Declare[op.NoParams]("_FullyConnected_bias_SoftmaxOutput")

// AlongLast reports whether the last axis alone holds the classes of a SoftmaxOutput of data of
// shape s.
func (p SoftmaxOutputParams) AlongLast(s dtype.Shape) bool {
	return s.Known() && !p.MultiOutput && (len(s) == 2 || p.PreserveShape && len(s) > 2)
}

func init() {
	BiasSoftmax.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Hidden:  true,
			NoGrad:  "the gradient is that of the loss, which needs the output only",
			Inplace: [][2]int{{0, 0}},
		},
		Inputs: func(op.NoParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "bias"}}
		},
		Infer:     inferBiasSoftmax,
		InferType: op.FloatType[op.NoParams],
		Ref:       biasSoftmaxRef,
	})
}

func inferBiasSoftmax(_ op.NoParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil || in[0] == nil {
		return err
	}
	if len(in[0]) < 2 {
		return op.Errorf("data", "shape %v, want at least 2 axes", in[0])
	}
	return op.Require("bias", &in[1], in[0][len(in[0])-1:])
}

func biasSoftmaxRef(_ op.NoParams, c *op.Call) error {
	x, bias := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	for i := range x {
		x[i] += bias[i%len(bias)]
	}
	newClasses(SoftmaxOutputParams{PreserveShape: true}, c.In[0].Shape).softmax(x)
	loop.Store(c.Out[0], 0, x)
	return nil
}
