package nn

import (
	"gomx/gluon"
	nd "gomx/ndarray"
)

// ReflectionPad2D adds the mirror image of the input around height and width, without the edge
// itself.
//
// MXNet: gluon.nn.ReflectionPad2D.
type ReflectionPad2D struct {
	// Padding is one number for all four sides, or the eight numbers of operator Pad: before and
	// after each of the four axes.
	Padding []int
}

// Forward returns the enlarged picture.
func (r ReflectionPad2D) Forward(x *nd.Array) *nd.Array {
	p := r.Padding
	if len(p) == 1 {
		p = []int{0, 0, 0, 0, p[0], p[0], p[0], p[0]}
	}
	return nd.Pad(x, nd.PadParams{Mode: "reflect", PadWidth: p})
}

// PixelShuffle moves channels into the axes behind them, which become longer by Factor: an input of
// shape (n, c·f1·f2, h, w) becomes (n, c, h·f1, w·f2). The number of factors is the number of axes.
//
// MXNet: gluon.contrib.nn.PixelShuffle1D, PixelShuffle2D and PixelShuffle3D.
type PixelShuffle struct {
	gluon.Hooks
	Factor []int // one number holds for all axes
}

// PixelShuffle1D, PixelShuffle2D and PixelShuffle3D are other names of PixelShuffle; the input
// decides.
type (
	PixelShuffle1D = PixelShuffle
	PixelShuffle2D = PixelShuffle
	PixelShuffle3D = PixelShuffle
)

// Forward returns the rearranged array.
func (p *PixelShuffle) Forward(x *nd.Array) *nd.Array {
	call, n := p.Enter(p, x), max(0, x.Rank()-2)
	f, in := each(p.Factor, n), x.Shape()
	channels := in[1]
	for _, k := range f {
		channels /= k
	}
	// (n, c, f1, …, fn, d1, …, dn) → (n, c, d1, f1, …, dn, fn)
	split, order, out := nd.Shape{in[0], channels}, []int{0, 1}, nd.Shape{in[0], channels}
	split = append(split, f...)
	split = append(split, in[2:]...)
	for i := range n {
		order = append(order, 2+n+i, 2+i)
		out = append(out, in[2+i]*f[i])
	}
	return call.Leave(x.Reshape(split...).Transpose(order...).Reshape(out...))
}
