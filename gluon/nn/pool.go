package nn

import (
	"gomx/gluon"
	nd "gomx/ndarray"
)

// MaxPool returns the maximum of each window over the axes behind the channels.
//
// MXNet: gluon.nn.MaxPool1D, MaxPool2D and MaxPool3D.
type MaxPool struct {
	gluon.Hooks
	Size    []int // extents of the window; 2 by default; one number holds for all axes
	Strides []int // steps of the window; Size by default
	Pad     []int // extent added on both sides; 0 by default
	Ceil    bool  // a last window may reach beyond the input
}

// AvgPool returns the average of each window over the axes behind the channels.
//
// MXNet: gluon.nn.AvgPool1D, AvgPool2D and AvgPool3D.
type AvgPool struct {
	gluon.Hooks
	Size       []int // extents of the window; 2 by default; one number holds for all axes
	Strides    []int // steps of the window; Size by default
	Pad        []int // extent added on both sides; 0 by default
	Ceil       bool  // a last window may reach beyond the input
	ExcludePad bool  // divide by the elements of the input alone
}

// GlobalMaxPool returns the maximum of each channel; the other axes keep the extent 1.
type GlobalMaxPool struct{}

// GlobalAvgPool returns the average of each channel; the other axes keep the extent 1.
type GlobalAvgPool struct{}

// Names of pooling for inputs with one, two and three axes behind the channels; the input decides.
type (
	MaxPool1D       = MaxPool
	MaxPool2D       = MaxPool
	MaxPool3D       = MaxPool
	AvgPool1D       = AvgPool
	AvgPool2D       = AvgPool
	AvgPool3D       = AvgPool
	GlobalMaxPool1D = GlobalMaxPool
	GlobalMaxPool2D = GlobalMaxPool
	GlobalMaxPool3D = GlobalMaxPool
	GlobalAvgPool1D = GlobalAvgPool
	GlobalAvgPool2D = GlobalAvgPool
	GlobalAvgPool3D = GlobalAvgPool
)

// Forward returns the maxima.
func (p *MaxPool) Forward(x *nd.Array) *nd.Array {
	call := p.Enter(p, x)
	return call.Leave(nd.Pooling(x, window(x, "max", p.Size, p.Strides, p.Pad, p.Ceil)))
}

// Forward returns the averages.
func (p *AvgPool) Forward(x *nd.Array) *nd.Array {
	call, q := p.Enter(p, x), window(x, "avg", p.Size, p.Strides, p.Pad, p.Ceil)
	q.CountIncludePad = nd.Some(!p.ExcludePad)
	return call.Leave(nd.Pooling(x, q))
}

// Forward returns the maxima.
func (GlobalMaxPool) Forward(x *nd.Array) *nd.Array {
	return nd.Pooling(x, whole(x, "max"))
}

// Forward returns the averages.
func (GlobalAvgPool) Forward(x *nd.Array) *nd.Array {
	return nd.Pooling(x, whole(x, "avg"))
}

// whole describes pooling of each channel as a whole.
func whole(x *nd.Array, kind string) nd.PoolingParams {
	p := window(x, kind, []int{1}, nil, nil, true)
	p.GlobalPool = true
	return p
}

// window describes pooling of x.
func window(x *nd.Array, kind string, size, strides, pad []int, ceil bool) nd.PoolingParams {
	n := max(0, x.Rank()-2)
	if len(size) == 0 {
		size = []int{2}
	}
	if len(strides) == 0 {
		strides = size
	}
	p := nd.PoolingParams{PoolType: kind, Kernel: each(size, n), Stride: each(strides, n),
		Pad: eachOr(pad, zeros, n), PoolingConvention: "valid", Layout: layout(n)}
	if ceil {
		p.PoolingConvention = "full"
	}
	return p
}
