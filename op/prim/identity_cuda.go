//go:build cuda

package prim

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Identity, attach.CUDAMove[op.NoParams]())
	attach.CUDA(IdentityWithAttrLike, attach.CUDAMove[op.NoParams]())
	attach.CUDA(ZerosLike, attach.CUDAFill(func(op.NoParams) float64 { return 0 }))
	attach.CUDA(OnesLike, attach.CUDAFill(func(op.NoParams) float64 { return 1 }))
	attach.CUDA(NoGradient, noGradientCUDA)
}

// mostZeros is how many arrays a launch of the kernel zeros treats, and largeZeros the size in bytes
// from which on an array is filled by itself, with more than one block.
const (
	mostZeros  = 64
	largeZeros = 1 << 16
)

// zeros fills several arrays with zeros in one launch.
type zeros struct{ args zerosArgs }

// zerosArgs is the parameter of the kernel zeros in fill.cu.
type zerosArgs struct {
	count int
	one   [mostZeros]zeroArray
}

type zeroArray struct {
	p     unsafe.Pointer
	bytes int
}

func newZeros() *zeros { return &zeros{} }

// add adds an array, and puts the arrays so far on q before if there is no room.
func (z *zeros) add(q *cuda.Queue, t op.Tensor) error {
	if z.args.count == mostZeros {
		if err := z.Put(q); err != nil {
			return err
		}
	}
	z.args.one[z.args.count] = zeroArray{t.Data, t.Bytes}
	z.args.count++
	return nil
}

// Put implements cuda.Joint.
func (z *zeros) Put(q *cuda.Queue) error {
	if z.args.count == 0 {
		return nil
	}
	args := z.args
	z.args.count = 0
	return cuda.LaunchWith(q, attach.AnyFunc("fill", "zeros"), cuda.Grid{X: args.count, Y: 1,
		Threads: 256}, &args)
}

func noGradientCUDA(op.NoParams, *op.Args) (*op.Prepared, error) {
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		if t := c.Out[0]; t.Bytes < largeZeros {
			return cuda.Late(q, newZeros).add(q, t)
		}
		return q.Clear(c.Out[0].Data, c.Out[0].Bytes)
	})
}
