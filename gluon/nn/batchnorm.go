package nn

import nd "gomx/ndarray"

// BatchNormReLU is BatchNorm followed by max(0, x).
//
// MXNet: gluon.nn.BatchNormReLU.
type BatchNormReLU struct{ BatchNorm }

// Forward normalizes x and sets negative elements to zero.
func (b *BatchNormReLU) Forward(x *nd.Array) *nd.Array {
	return b.Enter(b, x).Leave(b.normalize(x).Relu())
}

// SyncBatchNorm is BatchNorm over a batch that lies on one device, as MXNet's layer with one device
// is. A batch that is divided among devices is an error: their statistics are not added up.
//
// MXNet: gluon.contrib.nn.SyncBatchNorm.
type SyncBatchNorm struct{ BatchNorm }

// Forward normalizes x.
func (b *SyncBatchNorm) Forward(x *nd.Array) *nd.Array {
	y := b.Enter(b, x).Leave(b.normalize(x))
	if n := len(b.Gamma.All()); n > 1 {
		panic(misuse("SyncBatchNorm", "the parameters are on %d devices, want 1: statistics of "+
			"devices are not added up", n))
	}
	return y
}
