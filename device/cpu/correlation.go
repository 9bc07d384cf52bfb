//go:build cgo

package cpu

/*
#include "correlation.h"
#cgo noescape gx_correlate
#cgo nocallback gx_correlate
#cgo noescape gx_correlate_back
#cgo nocallback gx_correlate_back
*/
import "C"

// Correlation compares patches of padded planes.
type Correlation struct {
	Batch, Channels, H, W int // planes with the zeros around
	OutH, OutW            int
	Side, Step            int // displacements along an axis, and their distance
	Size, Border, Stride  int // of patches: extent, place of the first, distance
	Difference            bool
	Threads               int
}

func (k *Correlation) args() C.gx_correlation {
	p := C.gx_correlation{batch: C.int64_t(k.Batch), channels: C.int64_t(k.Channels),
		h: C.int64_t(k.H), w: C.int64_t(k.W), oh: C.int64_t(k.OutH), ow: C.int64_t(k.OutW),
		side: C.int64_t(k.Side), step: C.int64_t(k.Step), size: C.int64_t(k.Size),
		border: C.int64_t(k.Border), stride: C.int64_t(k.Stride)}
	if k.Difference {
		p.difference = 1
	}
	return p
}

// Run writes the output y for padded planes a and b.
func (k *Correlation) Run(y, a, b []float32) {
	p := k.args()
	if len(y) > 0 {
		C.gx_correlate((*C.float)(&y[0]), (*C.float)(&a[0]), (*C.float)(&b[0]), &p,
			C.int(k.Threads))
	}
}

// RunGrad adds the gradients of the padded planes a and b to da and db.
func (k *Correlation) RunGrad(da, db, dy, a, b []float32) {
	p := k.args()
	if len(dy) > 0 {
		C.gx_correlate_back((*C.float)(&da[0]), (*C.float)(&db[0]), (*C.float)(&dy[0]),
			(*C.float)(&a[0]), (*C.float)(&b[0]), &p, C.int(k.Threads))
	}
}
