package nn

import (
	"gomx/gluon"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// BatchNorm normalizes each channel over the batch and keeps moving averages for inference. Under a
// training tape Forward uses the statistics of the batch and moves the averages; elsewhere it uses
// the averages.
//
// MXNet: gluon.nn.BatchNorm.
type BatchNorm struct {
	gluon.Hooks
	Axis           nd.Opt[int]     // of the channels; 1
	Momentum       nd.Opt[float64] // share of the old value in a moving average; 0.9
	Eps            nd.Opt[float64] // added to the variance; 1e-5
	NoCenter       bool            // beta is zero and not trained
	NoScale        bool            // gamma is one and not trained
	UseGlobalStats bool            // use the moving averages in training too
	Channels       int             // 0: found by the first call

	Gamma, Beta, RunningMean, RunningVar *gluon.Param
}

// Declare declares the parameters.
func (b *BatchNorm) Declare() {
	gamma := gluon.Spec{Shape: nd.Shape{b.Channels}, Init: initializer.One{},
		GradReq: unless(b.NoScale), Single: true}
	if b.NoScale {
		gamma.Fixed = nd.Some(1.0) // the operator does not read it
	}
	b.Gamma = gluon.Need(b.Gamma, gamma)
	b.Beta = gluon.Need(b.Beta, gluon.Spec{Shape: nd.Shape{b.Channels},
		Init: initializer.Zero{}, GradReq: unless(b.NoCenter), Single: true})
	b.RunningMean = gluon.Need(b.RunningMean, gluon.Spec{Shape: nd.Shape{b.Channels},
		Init: initializer.Zero{}, GradReq: nd.GradNull, State: true, Single: true})
	b.RunningVar = gluon.Need(b.RunningVar, gluon.Spec{Shape: nd.Shape{b.Channels},
		Init: initializer.One{}, GradReq: nd.GradNull, State: true, Single: true})
}

// Forward normalizes x.
func (b *BatchNorm) Forward(x *nd.Array) *nd.Array {
	return b.Enter(b, x).Leave(b.normalize(x))
}

// normalize is Forward without hooks.
func (b *BatchNorm) normalize(x *nd.Array) *nd.Array {
	if b.Gamma == nil {
		b.Declare()
	}
	axis := b.Axis.Or(1)
	c := extent(x, axis)
	return nd.BatchNorm(x, b.Gamma.At(x, c), b.Beta.At(x, c), b.RunningMean.At(x, c),
		b.RunningVar.At(x, c), nd.BatchNormParams{Eps: nd.Some(b.Eps.Or(1e-5)),
			Momentum: nd.Some(b.Momentum.Or(0.9)), NoFixGamma: !b.NoScale,
			UseGlobalStats: b.UseGlobalStats, Axis: nd.Some(axis)})
}

// LayerNorm normalizes each sample over one axis.
//
// MXNet: gluon.nn.LayerNorm.
type LayerNorm struct {
	gluon.Hooks
	Axis     nd.Opt[int]     // -1
	Eps      nd.Opt[float64] // added to the variance; 1e-5
	NoCenter bool            // beta is zero and not trained
	NoScale  bool            // gamma is one and not trained
	Channels int             // 0: found by the first call

	Gamma, Beta *gluon.Param
}

// Declare declares the parameters.
func (l *LayerNorm) Declare() {
	l.Gamma, l.Beta = scaleAndShift(l.Gamma, l.Beta, l.Channels, l.NoScale, l.NoCenter)
}

// Forward normalizes x.
func (l *LayerNorm) Forward(x *nd.Array) *nd.Array {
	if l.Gamma == nil {
		l.Declare()
	}
	call, axis := l.Enter(l, x), l.Axis.Or(-1)
	c := extent(x, axis)
	return call.Leave(nd.LayerNorm(x, l.Gamma.At(x, c), l.Beta.At(x, c),
		nd.LayerNormParams{Axis: nd.Some(axis), Eps: nd.Some(l.Eps.Or(1e-5))}))
}

// RMSNorm divides each row of the last axis by the root of the mean of its squares. MXNet has no
// such layer.
type RMSNorm struct {
	gluon.Hooks
	Eps      nd.Opt[float64] // added to the mean; 1e-5
	Channels int             // 0: found by the first call

	Gamma *gluon.Param
}

// Declare declares the parameter.
func (r *RMSNorm) Declare() {
	r.Gamma = gluon.Need(r.Gamma, gluon.Spec{Shape: nd.Shape{r.Channels}, Init: initializer.One{},
		Single: true})
}

// Forward normalizes x.
func (r *RMSNorm) Forward(x *nd.Array) *nd.Array {
	if r.Gamma == nil {
		r.Declare()
	}
	call := r.Enter(r, x)
	return call.Leave(nd.RMSNorm(x, r.Gamma.At(x, extent(x, -1)),
		nd.RMSNormParams{Eps: nd.Some(r.Eps.Or(1e-5))}))
}

// GroupNorm normalizes groups of channels of each sample. Gamma and beta have a number per group,
// as in MXNet 1.9.1.
//
// MXNet: gluon.nn.GroupNorm.
type GroupNorm struct {
	gluon.Hooks
	Groups   int             // 0 is 1
	Eps      nd.Opt[float64] // added to the variance; 1e-5
	NoCenter bool            // beta is zero and not trained
	NoScale  bool            // gamma is one and not trained

	Gamma, Beta *gluon.Param
}

// Declare declares the parameters.
func (g *GroupNorm) Declare() {
	g.Gamma, g.Beta = scaleAndShift(g.Gamma, g.Beta, max(1, g.Groups), g.NoScale, g.NoCenter)
}

// Forward normalizes x.
func (g *GroupNorm) Forward(x *nd.Array) *nd.Array {
	if g.Gamma == nil {
		g.Declare()
	}
	call := g.Enter(g, x)
	return call.Leave(nd.GroupNorm(x, g.Gamma.At(x), g.Beta.At(x),
		nd.GroupNormParams{NumGroups: max(1, g.Groups), Eps: nd.Some(g.Eps.Or(1e-5))}))
}

// InstanceNorm normalizes each channel of each sample.
//
// MXNet: gluon.nn.InstanceNorm.
type InstanceNorm struct {
	gluon.Hooks
	Axis     nd.Opt[int]     // of the channels; 1
	Eps      nd.Opt[float64] // added to the variance; 1e-5
	NoCenter bool            // beta is zero and not trained
	Scale    bool            // train gamma, which is one otherwise
	Channels int             // 0: found by the first call

	Gamma, Beta *gluon.Param
}

// Declare declares the parameters.
func (n *InstanceNorm) Declare() {
	n.Gamma, n.Beta = scaleAndShift(n.Gamma, n.Beta, n.Channels, !n.Scale, n.NoCenter)
}

// Forward normalizes x.
func (n *InstanceNorm) Forward(x *nd.Array) *nd.Array {
	if n.Gamma == nil {
		n.Declare()
	}
	call, axis := n.Enter(n, x), n.Axis.Or(1)
	c, p := extent(x, axis), nd.InstanceNormParams{Eps: nd.Some(n.Eps.Or(1e-5))}
	if axis == 1 {
		return call.Leave(nd.InstanceNorm(x, n.Gamma.At(x, c), n.Beta.At(x, c), p))
	}
	y := nd.InstanceNorm(x.SwapAxes(1, axis), n.Gamma.At(x, c), n.Beta.At(x, c), p)
	return call.Leave(y.SwapAxes(1, axis))
}

// scaleAndShift declares gamma and beta.
func scaleAndShift(gamma, beta *gluon.Param, channels int, noScale, noCenter bool) (g,
	b *gluon.Param) {
	return gluon.Need(gamma, gluon.Spec{Shape: nd.Shape{channels}, Init: initializer.One{},
			GradReq: unless(noScale)}),
		gluon.Need(beta, gluon.Spec{Shape: nd.Shape{channels}, Init: initializer.Zero{},
			GradReq: unless(noCenter)})
}

// unless is the request for the gradient of a parameter that may be switched off.
func unless(off bool) nd.GradReq {
	if off {
		return nd.GradNull
	}
	return nd.GradWrite
}

// extent returns the extent of an axis, counted from the end if it is negative; 0 if there is no
// such axis.
func extent(x *nd.Array, axis int) int {
	shape := x.Shape()
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 0 || axis >= len(shape) {
		return 0
	}
	return shape[axis]
}
