package nn

import (
	"gomx/dtype"
	"gomx/op"
)

// DeformableConvolutionParams configures DeformableConvolution.
type DeformableConvolutionParams struct {
	Kernel             []int       `op:"kernel,required" doc:"height and width of the window"`
	Stride             []int       `op:"stride" doc:"step of the window, 1 by default"`
	Dilate             []int       `op:"dilate" doc:"distance of neighbouring window elements, 1 by default"`
	Pad                []int       `op:"pad" doc:"zeros added on both sides, 0 by default"`
	NumFilter          int         `op:"num_filter,required" min:"1" doc:"number of output channels"`
	NumGroup           int         `op:"num_group" default:"1" min:"1" doc:"number of groups that channels are divided into"`
	NumDeformableGroup int         `op:"num_deformable_group" default:"1" min:"1" doc:"number of groups of input channels with offsets of their own"`
	Workspace          op.Opt[int] `op:"workspace" default:"1024" doc:"accepted for compatibility, without effect"`
	NoBias             bool        `op:"no_bias" doc:"leave the bias out"`
	Layout             string      `op:"layout" default:"None" enum:"None|NCW|NCHW|NCDHW" doc:"accepted for compatibility, without effect"`
}

// ModulatedDeformableConvolutionParams configures ModulatedDeformableConvolution.
type ModulatedDeformableConvolutionParams struct {
	Kernel             []int       `op:"kernel,required" doc:"height and width of the window"`
	Stride             []int       `op:"stride" doc:"step of the window, 1 by default"`
	Dilate             []int       `op:"dilate" doc:"distance of neighbouring window elements, 1 by default"`
	Pad                []int       `op:"pad" doc:"zeros added on both sides, 0 by default"`
	NumFilter          int         `op:"num_filter,required" min:"1" doc:"number of output channels"`
	NumGroup           int         `op:"num_group" default:"1" min:"1" doc:"number of groups that channels are divided into"`
	NumDeformableGroup int         `op:"num_deformable_group" default:"1" min:"1" doc:"number of groups of input channels with offsets and masks of their own"`
	Workspace          op.Opt[int] `op:"workspace" default:"1024" doc:"accepted for compatibility, without effect"`
	NoBias             bool        `op:"no_bias" doc:"leave the bias out"`
	Im2ColStep         op.Opt[int] `op:"im2col_step" default:"64" doc:"accepted for compatibility, without effect"`
	Layout             string      `op:"layout" default:"None" enum:"None|NCW|NCHW|NCDHW" doc:"accepted for compatibility, without effect"`
}

// DeformableConvolution and ModulatedDeformableConvolution, and their gradients.
var (
	DeformableConvolution = op.Declare[DeformableConvolutionParams](
		"_contrib_DeformableConvolution")
	ModulatedDeformableConvolution = op.Declare[ModulatedDeformableConvolutionParams](
		"_contrib_ModulatedDeformableConvolution")
	deformableGrad = op.Declare[DeformableConvolutionParams](
		"_backward__contrib_DeformableConvolution")
	modulatedGrad = op.Declare[ModulatedDeformableConvolutionParams](
		"_backward__contrib_ModulatedDeformableConvolution")
)

func init() {
	defineDeformable(DeformableConvolution, deformableGrad, op.Traits{
		GoName: "DeformableConvolution",
		Doc: `DeformableConvolution is a convolution whose window elements are moved by offsets (Dai
et al. 2017).

Data has shape (n, c, h, w), the weight (num_filter, c/num_group, kh, kw), the bias (num_filter).
Offset has shape (n, 2·g·kh·kw, height, width) for g = num_deformable_group and the height and width
of the output: for each window element the offset along the height, then along the width. Data are
interpolated between four elements. Elements outside [0, h) × [0, w) are 0; beyond the centre of the
last row or column the outermost element is repeated.`,
	})
	defineDeformable(ModulatedDeformableConvolution, modulatedGrad, op.Traits{
		GoName: "ModulatedDeformableConvolution",
		Doc: `ModulatedDeformableConvolution is DeformableConvolution with a factor for each window
element (Zhu et al. 2019).

Mask has shape (n, g·kh·kw, height, width) and holds the factors; the other inputs are those of
DeformableConvolution. Data are interpolated as if zeros surrounded them.`,
	})
}

// deformation is the common form of the parameters.
type deformation struct {
	ConvolutionParams
	groups    int  // groups of input channels with offsets of their own
	modulated bool // there is a mask, and zeros surround the data
}

// deformed is the constraint of the parameters of both operators.
type deformed interface{ deformation() deformation }

func (p DeformableConvolutionParams) deformation() deformation {
	return deformation{ConvolutionParams{Kernel: p.Kernel, Stride: p.Stride, Dilate: p.Dilate,
		Pad: p.Pad, NumFilter: p.NumFilter, NumGroup: p.NumGroup, NoBias: p.NoBias,
		Layout: p.Layout}, p.NumDeformableGroup, false}
}

func (p ModulatedDeformableConvolutionParams) deformation() deformation {
	return deformation{ConvolutionParams{Kernel: p.Kernel, Stride: p.Stride, Dilate: p.Dilate,
		Pad: p.Pad, NumFilter: p.NumFilter, NumGroup: p.NumGroup, NoBias: p.NoBias,
		Layout: p.Layout}, p.NumDeformableGroup, true}
}

// inputs lists the inputs of the operator.
func (d deformation) inputs() []op.Input {
	list := []op.Input{{Name: "data"}, {Name: "offset"}}
	if d.modulated {
		list = append(list, op.Input{Name: "mask"})
	}
	return append(list, weighted(d.NoBias)[1:]...)
}

// weight returns the number of the weight among the inputs.
func (d deformation) weight() int {
	if d.modulated {
		return 3
	}
	return 2
}

// defineDeformable defines an operator and its gradient.
func defineDeformable[P deformed](fwd, back op.Handle[P], traits op.Traits) {
	traits.Once = "it jumps where offsets pass elements"
	traits.Precision, traits.Kind = op.Wide, op.Product
	infer := func(p P, in, out []dtype.Shape) error { return p.deformation().infer(in, out) }
	fwd.Define(op.Spec[P]{
		Traits:    traits,
		Inputs:    func(p P) []op.Input { return p.deformation().inputs() },
		Infer:     infer,
		InferType: op.FloatType[P],
		Grad: func(g *op.Grad, p P) []op.Entry {
			in := []op.Entry{g.Head(0)}
			for i := range p.deformation().weight() + 1 {
				in = append(in, g.In(i))
			}
			return g.Each(back.Node(p, in...))
		},
		FLOPs: func(p P, in, out []dtype.Shape) int64 {
			d := p.deformation()
			return products(in[d.weight()], out[0]) + biasFLOPs(!d.NoBias, out[0])
		},
		Ref: func(p P, c *op.Call) error { return p.deformation().forward(c) },
	})
	back.Define(op.Spec[P]{
		Traits: op.Traits{Hidden: true, NoGrad: "the second derivative of deformable " +
			"convolutions is not provided"},
		Inputs: func(p P) []op.Input {
			d := p.deformation()
			return append([]op.Input{{Name: "out_grad"}}, d.inputs()[:d.weight()+1]...)
		},
		Outputs: func(p P) (names []string) {
			for _, in := range p.deformation().inputs() {
				names = append(names, in.Name)
			}
			return names
		},
		Infer: func(p P, in, out []dtype.Shape) error {
			d := p.deformation()
			reads := []int{0, 1, 2, 3}[:d.weight()+1]
			count := func(P) int { return len(d.inputs()) }
			return backward(infer, count, reads...)(p, in, out)
		},
		InferType: op.FloatType[P],
		FLOPs: func(p P, in, out []dtype.Shape) int64 {
			d := p.deformation()
			return 2*products(in[d.weight()+1], in[0]) + biasFLOPs(!d.NoBias, in[0])
		},
		Ref: func(p P, c *op.Call) error { return p.deformation().backward(c) },
	})
}

// infer infers the shapes of the convolution, then of offsets and mask.
func (d deformation) infer(in, out []dtype.Shape) error {
	if len(d.Kernel) != 2 {
		return op.Errorf("kernel", "%v, want a height and a width", d.Kernel)
	}
	w := d.weight()
	conv := append([]dtype.Shape{in[0]}, in[w:]...)
	if err := inferConv(d.ConvolutionParams, conv, out); err != nil {
		return err
	}
	in[0] = conv[0]
	copy(in[w:], conv[1:])
	if c := in[0][1]; c != -1 && c%d.groups != 0 {
		return op.Errorf("data", "shape %v has %d channels, want a multiple of "+
			"num_deformable_group %d", in[0], c, d.groups)
	}
	taps := d.groups * d.Kernel[0] * d.Kernel[1]
	for i, channels := range []int{2 * taps, taps}[:w-1] {
		want := dtype.Shape{out[0][0], channels, out[0][2], out[0][3]}
		if err := op.Require(d.inputs()[1+i].Name, &in[1+i], want); err != nil {
			return err
		}
		got := dtype.Shape{in[1+i][0], -1, in[1+i][2], in[1+i][3]}
		if err := op.Require("output", &out[0], got); err != nil {
			return err
		}
	}
	return nil
}
