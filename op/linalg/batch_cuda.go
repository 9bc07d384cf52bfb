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

func init() {
	for h, k := range map[op.Handle[op.NoParams]]struct {
		name     string
		matrices int // inputs and outputs are square; so many fit into scratch memory
	}{potrfGrad: {"potrf_grad", 3}, potriGrad: {"potri_grad", 3}, Inverse: {"inverse", 3}, Det: {"det", 2}, SlogDet: {"slogdet", 2},
		Syevd: {"syevd", 4}, syevdGrad: {"syevd_grad", 4}} {
		attach.CUDA(h, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
			args := newBatchArgs(a.In[0])
			args.room = k.matrices*args.n*args.n + 2*args.n
			return batchCUDA(k.name, args, nil)
		})
	}
	for h, k := range map[op.Handle[CholeskyParams]]struct {
		name     string
		matrices int
	}{Potrf: {"potrf", 1}, Potri: {"potri", 3}} {
		attach.CUDA(h, func(p CholeskyParams, a *op.Args) (*op.Prepared, error) {
			args := newBatchArgs(a.In[0])
			args.upper = attach.B2I(p.Upper)
			args.room = k.matrices*args.n*args.n + 2*args.n
			return batchCUDA(k.name, args, nil)
		})
	}
	attach.CUDA(detGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) { return inverseGradCUDA(a.In[2], 1) })
	attach.CUDA(slogDetGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) { return inverseGradCUDA(a.In[1], 0) })
	attach.CUDA(Gelqf, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		args := newBatchArgs(a.In[0])
		args.room = 2*args.m*args.n + args.m
		return batchCUDA("gelqf", args, nil)
	})
	attach.CUDA(gelqfGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		args := newBatchArgs(a.In[0])
		args.room = 3*args.m*args.n + 3*args.m*args.m
		return batchCUDA("gelqf_grad", args, nil)
	})
	for h, name := range map[op.Handle[TriangularParams]]string{Trmm: "trmm", Trsm: "trsm"} {
		attach.CUDA(h, func(p TriangularParams, a *op.Args) (*op.Prepared, error) {
			args, side := newBatchArgs(a.In[1]), a.In[0].Shape[len(a.In[0].Shape)-1]
			args.room = side*side + 2*args.m*args.n
			args.upper, args.trans, args.right, args.alpha = attach.B2I(p.Upper), attach.B2I(p.Transpose), attach.B2I(p.RightSide), p.Alpha.Value()
			return batchCUDA(name, args, nil)
		})
	}
	attach.CUDA(Syrk, func(p SyrkParams, a *op.Args) (*op.Prepared, error) {
		args := newBatchArgs(a.In[0])
		x, side := attach.Dense(args.m, args.n).If(p.Transpose), a.Out[0].Shape[len(a.Out[0].Shape)-1]
		k, err := attach.NewProduct(a.Out[0].DType, args.count, x, x.T(), attach.Dense(side, side), p.Alpha.Value(), 0)
		if err != nil {
			return nil, err
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error { return k.Run(q, c.In[0].Data, c.In[0].Data, c.Out[0].Data) })
	})
	attachBandsCUDA()
}

// newBatchArgs are the extents of an operand.
func newBatchArgs(t op.Desc) batchArgs {
	n := len(t.Shape)
	return batchArgs{count: t.Shape[:n-2].Size(), m: t.Shape[n-2], n: t.Shape[n-1]}
}

// batchCUDA prepares a kernel that gives each matrix a block. place says where inputs go; nil: in order.
func batchCUDA(name string, fixed batchArgs, place []int) (*op.Prepared, error) {
	f, grid := attach.AnyFunc("linalg", name), attach.LaneGrid(fixed.count, max(fixed.m, 1)*max(fixed.n, 1))
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

// inverseGradCUDA prepares transposed inverses times one number each, or with more ones the product of two.
func inverseGradCUDA(a op.Desc, more int) (*op.Prepared, error) {
	args := newBatchArgs(a)
	args.room = 2*args.n*args.n + args.n
	if more == 0 {
		return batchCUDA("inverse_grad", args, []int{0, 2})
	}
	return batchCUDA("inverse_grad", args, nil)
}

func attachBandsCUDA() {
	for h, unpack := range map[op.Handle[BandParams]]bool{ExtractDiag: false, MakeDiag: true} {
		attach.CUDA(h, func(p BandParams, a *op.Args) (*op.Prepared, error) {
			return bandCUDA("diagonal", bandArgs{offset: p.Offset, unpack: attach.B2I(unpack)}, a)
		})
	}
	for h, unpack := range map[op.Handle[TriangleParams]]bool{ExtractTrian: false, MakeTrian: true} {
		attach.CUDA(h, func(p TriangleParams, a *op.Args) (*op.Prepared, error) {
			upper := p.Offset > 0 || p.Offset == 0 && p.Upper
			return bandCUDA("triangle", bandArgs{offset: p.Offset, upper: attach.B2I(upper), unpack: attach.B2I(unpack)}, a)
		})
	}
	attach.CUDA(SumLogDiag, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		k := newBatchArgs(a.In[0])
		return attach.CUDAEach(attach.AnyFunc("linalg", "sumlogdiag"), k.count, k, func(k batchArgs, c *op.Call) batchArgs {
			k.out[0], k.in[0] = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
			return k
		})
	})
	attach.CUDA(sumLogDiagGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		k := newBatchArgs(a.In[1])
		return attach.CUDAEach(attach.AnyFunc("linalg", "sumlogdiag_grad"), k.count*k.n*k.n, k, func(k batchArgs, c *op.Call) batchArgs {
			k.out[0], k.in[0], k.in[1] = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]), attach.AnyOf(c.In[1])
			return k
		})
	})
}

// bandCUDA moves between square matrices and what is packed of them; what is not packed becomes zero.
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
