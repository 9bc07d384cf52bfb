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

// narrow says that elements are converted to float32 for a kernel that takes nothing else.
func narrow(t dtype.Type) bool { return t == dtype.Float16 || t == dtype.BFloat16 }

// widened is a kernel for float32 and the conversions of operands around it.
type widened struct {
	inner   *op.Prepared
	in, out []operand
	mutates []int
}

// operand is one operand and where its float32 copy lies in scratch memory.
type operand struct {
	desc     op.Desc // of the copy, or of the operand itself
	copied   bool
	at, n    int
	from, to cpu.Cast
}

// widen prepares a kernel for operands of float16 and bfloat16 by converting them.
func widen[P any](o *op.Op, prepare op.Prepare[P], p P, a *op.Args) (*op.Prepared, error) {
	is := func(d op.Desc) bool { return narrow(d.DType) && d.Layout == nil }
	if !slices.ContainsFunc(a.In, is) && !slices.ContainsFunc(a.Out, is) {
		return nil, op.ErrUnsupported
	}
	wide := *a
	wide.Free = nil // what is converted back lies plainly
	wide.In, wide.Out = slices.Clone(a.In), slices.Clone(a.Out)
	for _, list := range [][]op.Desc{wide.In, wide.Out} {
		for i, d := range list {
			if is(d) {
				list[i] = op.Plain(dtype.Float32, d.Shape)
			}
		}
	}
	inner, err := prepare(p, &wide)
	if err != nil {
		return nil, err
	}
	w := &widened{inner: inner, mutates: o.Mutates}
	used := (inner.Scratch + 63) &^ 63
	w.in, used = place(a, a.In, wide.In, used)
	w.out, used = place(a, a.Out, wide.Out, used)
	return &op.Prepared{Scratch: used, Threads: inner.Threads, Run: w.run}, nil
}

// place finds memory for the copies of operands from offset used on.
func place(a *op.Args, list, wide []op.Desc, used int) ([]operand, int) {
	operands := make([]operand, len(list))
	for i, d := range list {
		x := operand{desc: wide[i], copied: d.DType != wide[i].DType, at: used, n: d.Shape.Size()}
		if x.copied {
			threads := Threads(a, device.Work{Bytes: float64(d.Bytes + wide[i].Bytes)})
			x.from, _ = cpu.NewCast(dtype.Float32, d.DType, threads)
			x.to, _ = cpu.NewCast(d.DType, dtype.Float32, threads)
			used += (wide[i].Bytes + 63) &^ 63
		}
		operands[i] = x
	}
	return operands, used
}

func (w *widened) run(c *op.Call) error {
	wide := *c
	wide.In, wide.Out = make([]op.Tensor, len(c.In)), make([]op.Tensor, len(c.Out))
	for i, t := range c.In {
		wide.In[i] = w.in[i].tensor(t, c.Scratch)
		if w.in[i].copied && t.Data != nil {
			w.in[i].from.Run(wide.In[i].Data, t.Data, w.in[i].n)
		}
	}
	for i, t := range c.Out {
		wide.Out[i] = w.out[i].tensor(t, c.Scratch)
	}
	if err := w.inner.Run(&wide); err != nil {
		return err
	}
	for i, t := range c.Out {
		w.out[i].back(t, wide.Out[i])
	}
	for _, i := range w.mutates {
		if i < len(c.In) {
			w.in[i].back(c.In[i], wide.In[i])
		}
	}
	return nil
}

// tensor is t as the kernel sees it.
func (x *operand) tensor(t op.Tensor, scratch unsafe.Pointer) op.Tensor {
	if x.copied {
		t.Desc = x.desc
		if t.Data != nil {
			t.Data = unsafe.Add(scratch, x.at)
		}
	}
	return t
}

// back converts the result of the kernel.
func (x *operand) back(t, wide op.Tensor) {
	if x.copied && t.Data != nil {
		x.to.Run(t.Data, wide.Data, x.n)
	}
}
