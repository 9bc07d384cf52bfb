package loss

import (
	"gomx/dtype"
	"gomx/op"
)

// SoftmaxOutputParams configures SoftmaxOutput.
type SoftmaxOutputParams struct {
	GradScale     op.Opt[float64] `op:"grad_scale" default:"1" doc:"factor of the gradient"`
	IgnoreLabel   op.Opt[float64] `op:"ignore_label" default:"-1" doc:"label of ignored samples, with use_ignore"`
	MultiOutput   bool            `op:"multi_output" doc:"classes along axis 1, one label per position of the other axes"`
	UseIgnore     bool            `op:"use_ignore" doc:"samples labelled ignore_label get no gradient"`
	PreserveShape bool            `op:"preserve_shape" doc:"classes along the last axis instead of all axes but the first"`
	Normalization string          `op:"normalization" default:"null" enum:"null|batch|valid" doc:"divisor of the gradient: 1, the batch size, or the number of labels that are not ignore_label"`
	OutGrad       bool            `op:"out_grad" doc:"multiply the gradient by the output"`
	SmoothAlpha   float64         `op:"smooth_alpha" min:"0" doc:"share of the target that is distributed over the other classes"`
}

// SoftmaxOutput is the softmax head of a classifier.
var SoftmaxOutput = op.Declare[SoftmaxOutputParams]("SoftmaxOutput")

// SoftmaxOutputGrad is the gradient of SoftmaxOutput: its inputs are output, label and data, of
// which only the shape is read, its output is the gradient of data.
var SoftmaxOutputGrad = op.Declare[SoftmaxOutputParams]("_backward_SoftmaxOutput")

func init() {
	SoftmaxOutput.Define(op.Spec[SoftmaxOutputParams]{
		Traits: op.Traits{
			Doc: `SoftmaxOutput computes class probabilities; its loss is the cross entropy.

The output is the softmax of data over all axes but the first, over the last axis with
preserve_shape, or over axis 1 with multi_output. The gradient by data is output - onehot(label)
times grad_scale, divided by the divisor of normalization; the gradient of the output is ignored.
As in MXNet, out_grad multiplies the gradient by the output, not by the gradient of the output.
The label holds class numbers, of shape data.shape without the axis of classes; a label of the
shape of data holds probabilities.`,
			Aliases:   []string{"Softmax"},
			Inplace:   [][2]int{{0, 0}},
			Ignores:   []int{1},
			Precision: op.Wide,
			Head:      true,
			Kind:      op.Loss,
		},
		Inputs:    dataLabel[SoftmaxOutputParams],
		Infer:     inferSoftmax,
		InferType: op.FloatType[SoftmaxOutputParams],
		Grad: func(g *op.Grad, p SoftmaxOutputParams) []op.Entry {
			return []op.Entry{SoftmaxOutputGrad.Apply(p, g.Out(0), g.In(1), g.In(0)), {}}
		},
		Ref: softmaxRef,
	})
	SoftmaxOutputGrad.Define(op.Spec[SoftmaxOutputParams]{
		Traits:    op.Traits{Hidden: true, Ignores: []int{2}, Inplace: [][2]int{{0, 0}}},
		Inputs:    lossInputs[SoftmaxOutputParams],
		Infer:     lossShapes(inferSoftmax),
		InferType: op.FloatType[SoftmaxOutputParams],
		Grad:      softmaxSecond,
		Ref:       softmaxGradRef,
	})
}

// inferSoftmax infers that output has the shape of data; a label of unknown rank gets the shape of
// data without the axis of classes, with multi_output as a matrix.
func inferSoftmax(p SoftmaxOutputParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil || in[0] == nil {
		return err
	}
	if len(in[0]) < 2 {
		return op.Errorf("data", "shape %v, want at least 2 axes", in[0])
	}
	options := labelShapes(p, in[0])
	if in[1] == nil {
		if options[0].Known() {
			in[1] = options[0]
		}
		return nil
	}
	var fits []dtype.Shape
	for _, s := range options {
		if m, ok := in[1].Merge(s); ok {
			fits = append(fits, m)
		}
	}
	switch {
	case len(fits) == 0:
		return op.Errorf("label", "shape %v, want %v for data of shape %v", in[1], options[0],
			in[0])
	case len(fits) == 1 || !in[0].Known():
		if len(fits) == 1 {
			in[1] = fits[0]
		}
	case !in[1].Known():
		in[1] = fits[0]
	}
	return nil
}

// labelShapes lists the shapes that a label may have, the usual one first.
func labelShapes(p SoftmaxOutputParams, data dtype.Shape) []dtype.Shape {
	if !p.MultiOutput {
		return []dtype.Shape{data[:len(data)-1].Clone(), data}
	}
	flat := dtype.Shape{data[0], data[2:].Size()}
	squeezed := append(dtype.Shape{data[0]}, data[2:]...)
	kept := append(dtype.Shape{data[0], 1}, data[2:]...)
	return []dtype.Shape{flat, squeezed, kept, data}
}
