//go:build cuda

package rnn

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// element is a placeholder of the size of an element. Slices of it divide device memory into parts;
// the host must not read them.
type element interface{ uint16 | uint32 | uint64 }

// onDevice returns the memory of t as a slice, which the host must not read.
func onDevice[F element](t op.Tensor) []F {
	if t.Data == nil {
		return nil
	}
	return unsafe.Slice((*F)(t.Data), t.Shape.Size())
}

// start returns the address of a part.
func start[F element](x []F) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// take returns scratch memory for n elements.
func take[F element](s *attach.CUDAScratch, n int) []F {
	var one F
	p := s.Take(n * int(unsafe.Sizeof(one)))
	if p == nil {
		return nil
	}
	return unsafe.Slice((*F)(p), n)
}

// netCUDA is the network on a GPU: products of whole batches, and kernels of cells.cu for the rest.
type netCUDA struct {
	net
	p          RNNParams
	t          dtype.Type
	train      bool
	mode       int
	lengthType int
}

// cellArgs is the parameter of the forward kernels of cells.cu.
type cellArgs struct {
	mode, batch, hidden, step int
	length                    unsafe.Pointer
	lengthType                int
	x, h, bx, bh              unsafe.Pointer
	gates, extra, state, mem  unsafe.Pointer
	full, out, y              unsafe.Pointer
	size, row                 int
}

// lanesArgs is the parameter of the kernels that move rows of numbers between layers.
type lanesArgs struct {
	to, from, mask unsafe.Pointer
	rows, n        int
	dirs, dir      int
	first, length  unsafe.Pointer
	lengthType     int
	batch          int
	key, counter   uint64
	stream         int
	keep           float64
}

func init() {
	attach.CUDA(RNN, func(p RNNParams, a *op.Args) (*op.Prepared, error) {
		switch a.In[0].DType.Size() {
		case 2:
			return prepareCUDA[uint16](p, a)
		case 4:
			return prepareCUDA[uint32](p, a)
		}
		return prepareCUDA[uint64](p, a)
	})
	attach.CUDA(RNNGrad, func(p RNNParams, a *op.Args) (*op.Prepared, error) {
		switch a.In[0].DType.Size() {
		case 2:
			return prepareGradCUDA[uint16](p, a)
		case 4:
			return prepareGradCUDA[uint32](p, a)
		}
		return prepareGradCUDA[uint64](p, a)
	})
}

// newNetCUDA returns the network for data that is not empty; inputs are the inputs of RNN.
func newNetCUDA(p RNNParams, inputs []op.Desc, train bool) (*netCUDA, error) {
	data := inputs[0]
	if !cuda.Serves("cells", data.DType) || data.Shape.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	n, err := bound(p, data.Shape)
	if err != nil {
		return nil, err
	}
	k := &netCUDA{net: n, p: p, t: data.DType, train: train, mode: map[string]int{"rnn_relu": 0,
		"rnn_tanh": 1, "lstm": 2, "gru": 3}[p.Mode]}
	if p.UseSequenceLength {
		k.lengthType = cuda.Code(inputs[len(inputs)-1].DType)
	}
	return k, nil
}

// cells returns the number of cells of a direction of a layer: steps · batch.
func (k *netCUDA) cells() int { return k.steps * k.batch }

// product prepares c = a·b + beta·c.
func (k *netCUDA) product(a, b, c attach.Matrix, beta float64) (*attach.Product, error) {
	return attach.NewProduct(k.t, 1, a, b, c, 1, beta)
}

// at returns the step that a direction takes as its i-th.
func (k *netCUDA) at(dir, i int) int {
	if dir == 0 {
		return i
	}
	return k.steps - 1 - i
}

// lengths returns the address of the lengths of sequences, nil if there are none. inputs are the
// inputs of RNN.
func (k *netCUDA) lengths(inputs []op.Tensor) unsafe.Pointer {
	if !k.p.UseSequenceLength {
		return nil
	}
	return inputs[len(inputs)-1].Data
}

// lanes launches a kernel that moves all rows of one direction.
func (k *netCUDA) lanes(q *cuda.Queue, name string, args lanesArgs) error {
	args.rows, args.dirs, args.batch, args.lengthType = k.cells(), k.dirs, k.batch, k.lengthType
	if args.n == 0 {
		args.n = k.out
	}
	return cuda.LaunchWith(q, cuda.Func("cells", name, k.t), q.Each(args.rows*args.n), &args)
}
