package graph

import (
	"gomx/op"
	"gomx/op/nn"
)

// AdoptConvolutions turns the convolutions that are left into the fused operator, whose kernels
// choose layouts.
func AdoptConvolutions(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, func(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
		if n.Op != nn.Convolution.Op {
			return op.Entry{}
		}
		return changed(n, nn.FusedConvolution.Op,
			nn.FusedConvolutionOf(n.Params.(nn.ConvolutionParams)), in)
	})
}

// changed returns output 0 of n with another operator and parameters.
func changed(n *op.Node, o *op.Op, params any, in []op.Entry) op.Entry {
	m, err := op.NewNode(o, n.Name, params, in...)
	if err != nil {
		panic(err)
	}
	m.Attrs, m.After, m.Site = n.Attrs, n.After, n.Site
	return m.Entry(0)
}

// winogradShare is the share of all multiplications in convolutions that Winograd's algorithm must
// be able to take over before the graph's layouts are made to suit it.
const winogradShare = 0.2

// ChooseWinograd asks for Winograd's algorithm where it applies, if enough of the work is there.
func ChooseWinograd(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	var all, fit float64
	for _, n := range op.Topo(outs) {
		if p, ok := fusedConvolution(n); ok {
			w := multiplications(n, p, f)
			all += w
			if suitsWinograd(n, p, f) {
				fit += w
			}
		}
	}
	if fit == 0 || fit < winogradShare*all {
		return outs, 0
	}
	return rewrite(outs, f, func(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
		p, ok := fusedConvolution(n)
		if !ok || len(n.After) > 0 {
			return op.Entry{}
		}
		p.Blocked, p.Winograd = true, suitsWinograd(n, p, f)
		return changed(n, n.Op, p, in)
	})
}

func fusedConvolution(n *op.Node) (p nn.FusedConvolutionParams, ok bool) {
	if n.Op == nn.FusedConvolution.Op || n.Op == nn.FusedConvolutionAdd.Op {
		return n.Params.(nn.FusedConvolutionParams), true
	}
	return p, false
}

// multiplications returns the number of multiplications of a convolution, 0 if a shape is unknown.
func multiplications(n *op.Node, p nn.FusedConvolutionParams, f *Facts) float64 {
	x, y := f.Shapes[n.In[0]], f.Shapes[n.Entry(0)]
	if !x.Known() || !y.Known() || len(x) < 2 {
		return 0
	}
	taps := x[1] / p.NumGroup
	for _, k := range p.Kernel {
		taps *= k
	}
	return float64(taps) * float64(y.Size())
}

// suitsWinograd reports whether Winograd's algorithm can take over a convolution, and gains by it.
func suitsWinograd(n *op.Node, p nn.FusedConvolutionParams, f *Facts) bool {
	return p.SuitsWinograd(f.Shapes[n.In[0]], f.Shapes[n.Entry(0)])
}
