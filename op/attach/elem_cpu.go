//go:build cgo

package attach

import (
	"slices"
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
)

// cost returns the work of a function of n elements; those that are not arithmetic cost more.
func cost(a *op.Args, n int, slow bool) device.Work {
	w := device.Work{Bytes: Bytes(a)}
	if slow {
		w.Elems = float64(n)
	}
	return w
}

// Map prepares m from input 0 to output 0.
func Map(a *op.Args, m cpu.Map) (*op.Prepared, error) {
	if BFloat16(a) {
		return step(a, 1, m, cost(a, a.Out[0].Shape.Size(), m.Op.Slow()))
	}
	if !Float32(a) {
		return nil, op.ErrUnsupported
	}
	n := a.Out[0].Shape.Size()
	m.Threads = Threads(a, cost(a, n, m.Op.Slow()))
	return elem(m, Kernel(m.Threads, 0, func(c *op.Call) {
		m.Run(c.Out[0].Data, c.In[0].Data, n)
	})), nil
}

// Zip prepares z from inputs 0 and 1, of the output's size, to output 0.
func Zip(a *op.Args, z cpu.Zip) (*op.Prepared, error) {
	if BFloat16(a) {
		return step(a, 2, z, cost(a, a.Out[0].Shape.Size(), z.Op.Slow()))
	}
	if !Float32(a) {
		return nil, op.ErrUnsupported
	}
	n := a.Out[0].Shape.Size()
	z.Threads = Threads(a, cost(a, n, z.Op.Slow()))
	return elem(z, Kernel(z.Threads, 0, func(c *op.Call) {
		z.Run(c.Out[0].Data, c.In[0].Data, c.In[1].Data, n)
	})), nil
}

// Broadcast prepares z from inputs 0 and 1, which broadcast, to output 0.
func Broadcast(a *op.Args, z cpu.ZipOp) (*op.Prepared, error) {
	if n := a.Out[0].Shape.Size(); BFloat16(a) && a.In[0].Shape.Size() == n &&
		a.In[1].Shape.Size() == n {
		return step(a, 2, cpu.Zip{Op: z}, cost(a, n, z.Slow()))
	}
	typ, out := a.Out[0].DType, a.Out[0].Shape
	if !AllOf(typ, a.In) || !AllOf(typ, a.Out) {
		return nil, op.ErrUnsupported
	}
	threads := Threads(a, cost(a, out.Size(), z.Slow()))
	k, ok := cpu.NewBroadcast(z, typ, a.In[0].Shape, a.In[1].Shape, out, threads)
	if !ok {
		return nil, op.ErrUnsupported
	}
	p := Kernel(threads, 0, func(c *op.Call) { k.Run(c.Out[0].Data, c.In[0].Data, c.In[1].Data) })
	if typ == dtype.Float32 {
		p = elem(cpu.Zip{Op: z}, p)
	}
	return p, nil
}

// AddUp prepares the sum of all inputs, bfloat16 arrays of the output's size, in their order.
func AddUp(a *op.Args) (*op.Prepared, error) {
	return step(a, len(a.In), cpu.AddUp{}, device.Work{Bytes: Bytes(a)})
}

// step prepares a function of the elements of the first n inputs, bfloat16 arrays, as a chain of
// one step. Other inputs are not read.
func step(a *op.Args, n int, do any, w device.Work) (*op.Prepared, error) {
	args := make([]int, n)
	for i := range args {
		args[i] = i
	}
	threads, size := Threads(a, w), a.Out[0].Shape.Size()
	k, ok := cpu.NewNarrowChain(make([]cpu.Repeat, len(args)),
		[]cpu.ChainStep{{Do: do, Args: args}}, []int{len(args)}, threads)
	if !ok {
		return nil, op.ErrUnsupported
	}
	return elem(do, Kernel(threads, 0, func(c *op.Call) {
		var in [cpu.ChainInputs]unsafe.Pointer
		for i := range n {
			in[i] = c.In[i].Data
		}
		out := [1]unsafe.Pointer{c.Out[0].Data}
		k.Run(out[:], in[:n], size)
	})), nil
}

// elem notes in k the function that the kernel applies to each element.
func elem(do any, k *op.Prepared) *op.Prepared {
	k.Elem = do
	return k
}

// Unary is the Prepare of operators that are always m.
func Unary[P any](m cpu.Map) op.Prepare[P] {
	return func(_ P, a *op.Args) (*op.Prepared, error) { return Map(a, m) }
}

// Binary is the Prepare of operators that are always z, with operands that broadcast.
func Binary[P any](z cpu.ZipOp) op.Prepare[P] {
	return func(_ P, a *op.Args) (*op.Prepared, error) { return Broadcast(a, z) }
}

// TierC attaches a kernel of tier c. For operands of float16 and bfloat16 that it does not serve it
// is prepared for float32, and they are converted.
func TierC[P any](h op.Handle[P], prepare op.Prepare[P]) {
	Adapted(h, prepare, func(p P, _ *op.Args) (P, bool) { return p, true })
}

// Adapted is TierC where a kernel for float32 does the same for float16 and bfloat16 only with
// other parameters, or not at all: adapt changes them, or returns false.
func Adapted[P any](h op.Handle[P], prepare op.Prepare[P], adapt func(p P, a *op.Args) (P, bool)) {
	Exactly(h, func(p P, a *op.Args) (*op.Prepared, error) {
		q, ok := p, true
		if slices.ContainsFunc(a.In, isNarrow) || slices.ContainsFunc(a.Out, isNarrow) {
			q, ok = adapt(p, a)
		}
		if !ok {
			return prepare(p, a)
		}
		k, err := prepare(q, a)
		if err == op.ErrUnsupported {
			return widen(h.Op, prepare, q, a, nil)
		}
		return k, err
	})
}

// Partly is TierC for a kernel that takes some operands as bfloat16 and all others as float32: the
// inputs and outputs whose numbers keep returns. Where it takes them, only the others are converted.
func Partly[P any](h op.Handle[P], prepare op.Prepare[P], keep func(p P) (in, out []int)) {
	Exactly(h, func(p P, a *op.Args) (*op.Prepared, error) {
		k, err := prepare(p, a)
		if err != op.ErrUnsupported {
			return k, err
		}
		in, out := keep(p)
		if k, err := widen(h.Op, prepare, p, a, &kept{in, out}); err == nil {
			return k, nil
		}
		return widen(h.Op, prepare, p, a, nil)
	})
}

// Keeping returns the numbers of the operands that Partly does not convert.
func Keeping[P any](in, out []int) func(P) ([]int, []int) {
	return func(P) ([]int, []int) { return in, out }
}

func isNarrow(d op.Desc) bool { return narrow(d.DType) }

// Exactly attaches a kernel of tier c that serves operands as they are or not at all, such as one
// that reads little of a large operand.
func Exactly[P any](h op.Handle[P], prepare op.Prepare[P]) {
	h.Kernel(device.KindCPU, device.TierC, prepare)
}
