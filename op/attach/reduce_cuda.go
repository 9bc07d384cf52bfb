//go:build cuda

package attach

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
)

// Reduction folds the marked axes of an operand.
type Reduction struct {
	thread, block, columns, join *cuda.Function
	args                         reduceArgs
	partBytes                    int
}

// reduceArgs is the parameter of the kernels in reduce.cu.
type reduceArgs struct {
	out, in, part      unsafe.Pointer
	outs, size, chunks int
	scale              float64
	nk                 int
	dk, sk             [cuda.Axes]int
	nr                 int
	dr, sr             [cuda.Axes]int
}

const (
	threadOuts = 8192 // outputs from which on a thread folds one by itself
	threadSize = 64   // elements up to which it does
	chunkSize  = 8192 // elements of a chunk
	mostChunks = 256
	columns    = 32  // adjacent outputs that a block of reduce.cu folds together
	columnRows = 256 // smallest number of rows of a chunk of columns
	fullBlocks = 512 // number of blocks that keeps a device busy
)

// NewReduction prepares the fold called name of the marked axes of an operand; the result is
// multiplied by scale.
func NewReduction(name string, t dtype.Type, shape dtype.Shape, mask []bool,
	scale float64) (*Reduction, error) {
	if !cuda.Serves("reduce", t) {
		return nil, op.ErrUnsupported
	}
	k, w, ok := Halves(shape, mask)
	if !ok {
		return nil, op.ErrUnsupported
	}
	r := &Reduction{args: reduceArgs{outs: k.Size(), size: w.Size(), chunks: 1, scale: scale}}
	r.args.nk, r.args.nr = k.Fill(&r.args.dk, &r.args.sk), w.Fill(&r.args.dr, &r.args.sr)
	switch {
	case r.args.outs >= threadOuts && r.args.sk[max(r.args.nk-1, 0)] == 1 ||
		r.args.size <= threadSize:
		r.thread = cuda.Func("reduce", name+"_thread", t)
		return r, nil
	case r.args.outs >= columns/2 && r.args.sk[max(r.args.nk-1, 0)] == 1:
		r.columns = cuda.Func("reduce", name+"_columns", t)
		tiles := (r.args.outs + columns - 1) / columns
		r.args.chunks = max(min(r.args.size/columnRows, fullBlocks/tiles, mostChunks), 1)
		if r.args.chunks > 1 {
			r.partBytes = 8 * r.args.outs * r.args.chunks
			r.join = cuda.Func("reduce", name+"_join", t)
		}
		return r, nil
	case r.args.outs < mostChunks && r.args.size > chunkSize:
		r.args.chunks = min((r.args.size+chunkSize-1)/chunkSize, mostChunks)
		r.partBytes = 8 * r.args.outs * r.args.chunks
		r.join = cuda.Func("reduce", name+"_join", t)
	}
	r.block = cuda.Func("reduce", name+"_block", t)
	return r, nil
}

// Halves returns the walks along the axes of an operand that are kept and along those that mask
// marks, false when one has too many.
func Halves(shape dtype.Shape, mask []bool) (k, r cuda.Walk, ok bool) {
	var kept, reduced, ks, rs []int
	st := shape.Strides()
	for i, d := range shape {
		if mask[i] {
			reduced, rs = append(reduced, d), append(rs, st[i])
		} else {
			kept, ks = append(kept, d), append(ks, st[i])
		}
	}
	k, ok1 := cuda.NewWalk(kept, ks)
	r, ok2 := cuda.NewWalk(reduced, rs)
	return k, r, ok1 && ok2
}

// Scratch returns how many bytes of scratch memory a run needs.
func (r *Reduction) Scratch() int { return r.partBytes }

// Run puts the reduction on a queue.
func (r *Reduction) Run(q *cuda.Queue, out, in, scratch unsafe.Pointer) error {
	args := r.args
	args.out, args.in, args.part = out, in, scratch
	if args.outs == 0 {
		return nil
	}
	if r.thread != nil {
		return cuda.LaunchWith(q, r.thread, q.Each(args.outs), &args)
	}
	f, blocks := r.block, args.outs*args.chunks
	if r.columns != nil {
		f, blocks = r.columns, (args.outs+columns-1)/columns*args.chunks
	}
	if err := cuda.LaunchWith(q, f, cuda.Grid{X: min(blocks, 1<<20), Y: 1, Threads: 256},
		&args); err != nil || r.join == nil {
		return err
	}
	return cuda.LaunchWith(q, r.join, LaneGrid(args.outs, args.chunks), &args)
}

// CUDAReduce prepares a fold of input 0 to output 0.
func CUDAReduce(a *op.Args, name string, mask []bool, scale float64) (*op.Prepared, error) {
	if a.In[0].DType != a.Out[0].DType {
		return nil, op.ErrUnsupported
	}
	r, err := NewReduction(name, a.In[0].DType, a.In[0].Shape, mask, scale)
	if err != nil {
		return nil, err
	}
	return OnQueue(r.Scratch(), func(q *cuda.Queue, c *op.Call) error {
		return r.Run(q, c.Out[0].Data, c.In[0].Data, c.Scratch)
	})
}
