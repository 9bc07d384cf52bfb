//go:build !cgo

package update

import (
	"unsafe"

	"gomx/device/cpu/pure"
	"gomx/op/loop"
)

// run makes the step with the kernels in Go, which give the same bits as those in C.
func (k *rowKernel) run(tables []table) {
	u := pure.Update{LR: float32(k.lr), WD: float32(k.wd), Rescale: float32(k.rescale),
		Clip: float32(k.clip), Momentum: float32(k.momentum), Beta1: float32(k.beta1),
		Beta2: float32(k.beta2), E: float32(k.eps)}
	zeros := make([]float32, k.row)
	loop.Split(k.threads, k.rows, k.rows*k.row, func(begin, end int) {
		for i := begin; i < end; i++ {
			var v [4][]float32
			for n := range tables {
				v[n] = tables[n].floats(i, zeros)
			}
			switch k.rule {
			case rowsSGD:
				u.SGD(v[0], v[0], v[1])
			case rowsMomentum:
				u.SGDMomentum(v[0], v[0], v[1], v[2])
			case rowsAdam:
				u.Adam(v[0], v[0], v[1], v[2], v[3])
			case rowsAdaGrad:
				u.AdaGrad(v[0], v[0], v[1], v[2])
			}
		}
	})
}

// floats returns row i of the step, zeros for a row that the table does not have.
func (t *table) floats(i int, zeros []float32) []float32 {
	at := t.offset(i)
	if at < 0 {
		return zeros
	}
	return unsafe.Slice((*float32)(unsafe.Add(t.values.Data, 4*at)), t.row)
}
