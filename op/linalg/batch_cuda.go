//go:build cuda

package linalg

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// batchArgs and bandArgs are parameters of the kernels in linalg.cu.
type (
	batchArgs struct {
		out                 [2]attach.Any
		in                  [4]attach.Any
		scratch             unsafe.Pointer
		count, m, n, room   int
		upper, trans, right int
		alpha               float64
	}
	bandArgs struct {
		out, in                                 attach.Any
		count, n, offset, upper, packed, unpack int
	}
)

// squareCUDA attaches a kernel whose inputs and outputs are square matrices. matrices is the number
// of matrices in the scratch memory per matrix of the batch.
func squareCUDA(h op.Handle[op.NoParams], name string, matrices int) {
	attach.CUDA(h, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		args := newBatchArgs(a.In[0])
		args.room = matrices*args.n*args.n + 2*args.n
		return batchCUDA(name, args, nil)
	})
}

// newBatchArgs returns the arguments for the extents of an operand.
func newBatchArgs(t op.Desc) batchArgs {
	n := len(t.Shape)
	return batchArgs{count: t.Shape[:n-2].Size(), m: t.Shape[n-2], n: t.Shape[n-1]}
}

// batchCUDA prepares a kernel with one block per matrix. place stores the inputs in the arguments;
// nil: in order.
func batchCUDA(name string, fixed batchArgs, place []int) (*op.Prepared, error) {
	f, grid := attach.AnyFunc("linalg", name), attach.LaneGrid(fixed.count,
		max(fixed.m, 1)*max(fixed.n, 1))
	return attach.OnQueue(8*fixed.count*fixed.room, func(q *cuda.Queue, c *op.Call) error {
		k := fixed
		k.scratch = c.Scratch
		for i, t := range c.Out {
			k.out[i] = attach.AnyOf(t)
		}
		for i, t := range c.In {
			if place != nil {
				i = place[i]
			}
			k.in[i] = attach.AnyOf(t)
		}
		if k.count == 0 {
			return nil
		}
		return cuda.LaunchWith(q, f, grid, &k)
	})
}

// inverseGradCUDA prepares the kernel of transposed inverses, each multiplied by a number, or by
// the product of two.
func inverseGradCUDA(a op.Desc, more int) (*op.Prepared, error) {
	args := newBatchArgs(a)
	args.room = 2*args.n*args.n + args.n
	if more == 0 {
		return batchCUDA("inverse_grad", args, []int{0, 2})
	}
	return batchCUDA("inverse_grad", args, nil)
}

// bandCUDA prepares a kernel that copies between square matrices and their packed elements; other
// elements become zero.
func bandCUDA(name string, k bandArgs, a *op.Args) (*op.Prepared, error) {
	square, packed := a.In[0], a.Out[0]
	if k.unpack != 0 {
		square, packed = packed, square
	}
	k.n, k.packed = square.Shape[len(square.Shape)-1], packed.Shape[len(packed.Shape)-1]
	k.count = dtype.Shape(packed.Shape[:len(packed.Shape)-1]).Size()
	f, bytes := attach.AnyFunc("linalg", name), a.Out[0].Bytes
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		if k.unpack != 0 {
			if err := q.Clear(c.Out[0].Data, bytes); err != nil {
				return err
			}
		}
		k := k
		k.out, k.in = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
		return cuda.LaunchWith(q, f, q.Each(k.count*k.packed), &k)
	})
}
