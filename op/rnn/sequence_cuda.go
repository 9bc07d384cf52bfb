//go:build cuda

package rnn

import (
	"strconv"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// sequenceArgs is the parameter of the kernels for sequences in index.cu.
type sequenceArgs struct {
	out, in, length                    unsafe.Pointer
	kind, axis, steps, batch, size, to int
	value                              float64
}

func init() {
	attach.CUDA(SequenceMask, func(p SequenceMaskParams, a *op.Args) (*op.Prepared, error) {
		k := newSequenceCUDA("seq_mask", p.Axis, a.In[0].Shape, a.In[1:], a)
		k.args.value = p.Value
		bytes := a.Out[0].Bytes
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			if c.Out[0].Data != c.In[0].Data {
				if err := q.CopyFrom(c.Out[0].Data, q.Device(), c.In[0].Data, bytes); err != nil {
					return err
				}
			}
			if len(c.In) < 2 {
				return nil
			}
			return k.run(q, c, 1, k.args.steps*k.args.batch*k.args.size)
		})
	})
	attach.CUDA(SequenceReverse, func(p SequenceParams, a *op.Args) (*op.Prepared, error) {
		k := newSequenceCUDA("seq_reverse", p.Axis, a.In[0].Shape, a.In[1:], a)
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return k.run(q, c, 1, k.args.steps*k.args.batch*k.args.size)
		})
	})
	attach.CUDA(SequenceLast, func(p SequenceParams, a *op.Args) (*op.Prepared, error) {
		k := newSequenceCUDA("seq_last", p.Axis, a.In[0].Shape, a.In[1:], a)
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return k.run(q, c, 1, k.args.batch*k.args.size)
		})
	})
	attach.CUDA(lastGrad, func(p SequenceParams, a *op.Args) (*op.Prepared, error) {
		k := newSequenceCUDA("seq_last_grad", p.Axis, a.Out[0].Shape, a.In[1:len(a.In)-1], a)
		bytes := a.Out[0].Bytes
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			if err := q.Clear(c.Out[0].Data, bytes); err != nil {
				return err
			}
			return k.run(q, c, 1, k.args.batch*k.args.size)
		})
	})
}

// sequenceCUDA is a kernel of an operator on sequences.
type sequenceCUDA struct {
	f    *cuda.Function
	args sequenceArgs
	ends bool // the lengths are an input
}

func newSequenceCUDA(name string, axis int, s dtype.Shape, lengths []op.Desc,
	a *op.Args) *sequenceCUDA {
	r := runsOf(axis, s)
	if name != "seq_mask" {
		name += strconv.Itoa(a.Out[0].DType.Size())
	}
	k := &sequenceCUDA{f: cuda.Func("index", name, dtype.Unknown), ends: len(lengths) > 0,
		args: sequenceArgs{axis: r.axis, steps: r.steps, batch: r.batch, size: r.size,
			to: cuda.Code(a.Out[0].DType)}}
	if k.ends {
		k.args.kind = cuda.Code(lengths[0].DType)
	}
	return k
}

func (k *sequenceCUDA) run(q *cuda.Queue, c *op.Call, length, n int) error {
	args := k.args
	args.out, args.in = c.Out[0].Data, c.In[0].Data
	if k.ends {
		args.length = c.In[length].Data
	}
	return cuda.LaunchWith(q, k.f, q.Each(n), &args)
}
