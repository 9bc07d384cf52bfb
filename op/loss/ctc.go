package loss

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// CTCLossParams configures CTCLoss.
type CTCLossParams struct {
	UseDataLengths  bool   `op:"use_data_lengths" doc:"data_lengths gives the number of steps of each sequence"`
	UseLabelLengths bool   `op:"use_label_lengths" doc:"label_lengths gives the number of labels of each sequence"`
	BlankLabel      string `op:"blank_label" default:"first" enum:"first|last" doc:"class of the blank: 0 (labels start at 1) or the last class (labels start at 0)"`
}

// CTCLoss is the loss of connectionist temporal classification.
var CTCLoss = op.Declare[CTCLossParams]("CTCLoss")

// CTCLossGrad is the gradient of CTCLoss: its inputs are the gradient of the output and the
// derivatives that the forward operator has computed, its output is the gradient of data.
var CTCLossGrad = op.Declare[CTCLossParams]("_backward_CTCLoss")

func init() {
	CTCLoss.Define(op.Spec[CTCLossParams]{
		Traits: op.Traits{
			Doc: `CTCLoss is the loss of connectionist temporal classification (Graves et al. 2006).

Data has shape (steps, n, classes) and holds the arguments of a softmax, the label has shape
(n, labels). The output (n) is the negative logarithm of the probability of the label, with
repetitions and blanks between its elements. Without label_lengths a label ends at its first
padding: 0 or, with blank_label last, -1. A label that does not fit into the steps has loss 0.`,
			Aliases:   []string{"ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"},
			Once:      "the kernel computes it along with the loss",
			Precision: op.Wide,
			Kind:      op.Loss,
		},
		Inputs: func(p CTCLossParams) []op.Input {
			in := dataLabel(p)
			if p.UseDataLengths {
				in = append(in, op.Input{Name: "data_lengths", Role: op.Label})
			}
			if p.UseLabelLengths {
				in = append(in, op.Input{Name: "label_lengths", Role: op.Label})
			}
			return in
		},
		Outputs:   func(CTCLossParams) []string { return []string{"output0", "output1"} },
		Visible:   func(CTCLossParams) int { return 1 },
		Infer:     inferCTC,
		InferType: ctcTypes,
		Grad: func(g *op.Grad, p CTCLossParams) []op.Entry {
			in := make([]op.Entry, len(g.Node.In))
			in[0] = CTCLossGrad.Apply(p, g.Head(0), g.Out(1))
			return in
		},
		Ref: ctcRef,
	})
	CTCLossGrad.Define(op.Spec[CTCLossParams]{
		Traits: op.Traits{
			Hidden:  true,
			NoGrad:  "the second derivative of CTCLoss is not provided",
			Inplace: [][2]int{{1, 0}},
		},
		Inputs: func(CTCLossParams) []op.Input {
			return []op.Input{{Name: "out_grad"}, {Name: "derivative"}}
		},
		Infer:     inferCTCGrad,
		InferType: op.FloatType[CTCLossParams],
		Ref: func(_ CTCLossParams, c *op.Call) error {
			head := c.In[0]
			head.Shape = dtype.Shape{1, head.Shape[0], 1}
			loop.Zip(loop.Func2{F: func(x, g float64) float64 { return x * g }}, c.Out[0], c.In[1],
				head)
			return nil
		},
	})
}

func inferCTC(p CTCLossParams, in, out []dtype.Shape) error {
	batch := -1
	for range 2 {
		for i, input := range CTCLoss.Inputs(p) {
			want := [][]int{{-1, batch, -1}, {batch, -1}, {batch}, {batch}}[i]
			if err := op.Require(input.Name, &in[i], want); err != nil {
				return err
			}
			if batch = in[i][0]; i == 0 {
				batch = in[i][1]
			}
		}
		if err := op.Require("output0", &out[0], dtype.Shape{batch}); err != nil {
			return err
		}
		if err := op.Same("output1", &in[0], &out[1]); err != nil {
			return err
		}
		if batch = in[0][1]; batch == -1 {
			batch = out[0][0]
		}
	}
	if in[0][2] == 0 {
		return op.Errorf("data", "shape %v: no classes, want at least the blank", in[0])
	}
	if t, l := in[0][0], in[1][1]; t != -1 && l != -1 && t < l {
		return op.Errorf("label", "shape %v: more labels than data of shape %v has steps", in[1],
			in[0])
	}
	return nil
}

// ctcTypes infers one type for data and outputs; labels and lengths keep their types.
func ctcTypes(p CTCLossParams, in, out []dtype.Type) error {
	if err := op.FloatType(p, in[:1], out); err != nil {
		return err
	}
	for i, t := range in[1:] {
		if t == dtype.Unknown {
			in[1+i] = in[0]
		}
	}
	return nil
}

func inferCTCGrad(_ CTCLossParams, in, out []dtype.Shape) error {
	if err := op.Require("derivative", &in[1], dtype.Shape{-1, -1, -1}); err != nil {
		return err
	}
	if err := op.Same("gradient", &in[1], &out[0]); err != nil {
		return err
	}
	if err := op.Require("out_grad", &in[0], dtype.Shape{in[1][1]}); err != nil {
		return err
	}
	if err := op.Require("derivative", &in[1], dtype.Shape{-1, in[0][0], -1}); err != nil {
		return err
	}
	out[0] = in[1].Clone()
	return nil
}
