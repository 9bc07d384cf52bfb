//go:build cuda

package nn

import (
	"unsafe"

	"gomx/device/cuda"
)

// mostMoved is how many layers a launch of batch_moved treats.
const mostMoved = 32

// movedArgs is the parameter of the kernel batch_moved in norm.cu.
type movedArgs struct {
	count, stat int
	one         [mostMoved]movedNorm
}

// movedNorm is a layer whose moving averages take in the statistics of a batch.
type movedNorm struct {
	mean, inv, movingMean, movingVar unsafe.Pointer
	bias                             unsafe.Pointer // is added to the mean; nil: none
	channels                         int
	eps, momentum                    float64
}

// movedNorms updates the moving averages of several layers in one launch.
type movedNorms struct {
	f    *cuda.Function
	args movedArgs
}

func newMovedNorms() *movedNorms { return &movedNorms{} }

// add adds a layer. The layers so far are put on q before it if it cannot join them, which is also
// so if one of them has the same averages.
func (m *movedNorms) add(q *cuda.Queue, f *cuda.Function, k *normArgs) error {
	if m.args.count > 0 && !m.joins(f, k) {
		if err := m.Put(q); err != nil {
			return err
		}
	}
	a := &m.args
	m.f, a.stat = f, k.stat
	a.one[a.count] = movedNorm{mean: k.mean, inv: k.inv, movingMean: k.movingMean,
		movingVar: k.movingVar, bias: k.bias, channels: k.channels, eps: k.eps, momentum: k.momentum}
	a.count++
	return nil
}

// joins reports whether a layer can be treated beside the present ones.
func (m *movedNorms) joins(f *cuda.Function, k *normArgs) bool {
	a := &m.args
	if a.count == mostMoved || m.f != f || a.stat != k.stat {
		return false
	}
	for _, o := range a.one[:a.count] {
		if o.movingMean == k.movingMean || o.movingVar == k.movingVar {
			return false
		}
	}
	return true
}

// Put implements cuda.Joint.
func (m *movedNorms) Put(q *cuda.Queue) error {
	n := m.args.count
	if n == 0 {
		return nil
	}
	m.args.count = 0
	args := m.args
	args.count = n
	return cuda.LaunchWith(q, m.f, cuda.Grid{X: n, Y: 1, Threads: 256}, &args)
}
