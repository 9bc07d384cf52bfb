package nn

import (
	"fmt"

	nd "gomx/ndarray"
)

// BatchNormReLU is BatchNorm followed by max(0, x).
//
// MXNet: gluon.nn.BatchNormReLU.
type BatchNormReLU struct{ BatchNorm }

// Forward normalizes x and sets negative elements to zero.
func (b *BatchNormReLU) Forward(x *nd.Array) *nd.Array {
	return b.Enter(b, x).Leave(b.normalize(x).Relu())
}

// SyncBatchNorm is BatchNorm over a batch that is divided among several devices: in training the
// devices normalize by the mean and the variance of the whole batch, and move equal averages.
//
// The parts of a batch are equally large, and each device gets one: a Forward on one device waits,
// in the engine, for the Forward of the others. A program therefore calls the network on all devices
// before it reads a result; a wait of 60 seconds is an error.
//
// MXNet: gluon.contrib.nn.SyncBatchNorm.
type SyncBatchNorm struct {
	BatchNorm
	Devices int // devices that share statistics; 0: all devices of the parameters
}

// Forward normalizes x.
func (b *SyncBatchNorm) Forward(x *nd.Array) *nd.Array {
	call := b.Enter(b, x)
	if b.Gamma == nil {
		b.Declare()
	}
	axis := b.Axis.Or(1)
	c := extent(x, axis)
	gamma, n := b.Gamma.At(x, c), b.Devices
	if n == 0 {
		n = len(b.Gamma.All())
	}
	if t := x.Tape(); n < 2 || t == nil || !t.Training() || b.UseGlobalStats {
		return call.Leave(b.normalize(x))
	}
	if axis != 1 {
		x = x.SwapAxes(1, axis)
	}
	y := nd.ContribSyncBatchNorm(x, gamma, b.Beta.At(x, c), b.RunningMean.At(x, c),
		b.RunningVar.At(x, c), nd.SyncBatchNormParams{Eps: nd.Some(b.Eps.Or(1e-5)),
			Momentum: nd.Some(b.Momentum.Or(0.9)), NoFixGamma: !b.NoScale, NDev: n,
			Key: fmt.Sprintf("%s of layer %p", b.Gamma.Name(), b)})
	if axis != 1 {
		y = y.SwapAxes(1, axis)
	}
	return call.Leave(y)
}
