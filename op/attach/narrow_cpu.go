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

// retyped returns d with elements of another type, in the same layout.
func retyped(d op.Desc, t dtype.Type) op.Desc {
	layout := d.Layout
	d = op.Plain(t, d.Shape)
	d.Layout = layout
	return d
}

// sized reports whether a narrow operand lies in a layout whose size is that of the plain one, so
// that a conversion of all elements keeps the layout.
func sized(d op.Desc) bool {
	_, ok := LayoutOf(d)
	return narrow(d.DType) && ok
}

// kept are the numbers of the inputs and outputs that a kernel takes as bfloat16.
type kept struct{ in, out []int }

// has reports whether operand i of a list stays as it is.
func (k *kept) has(isOut bool, i int, d op.Desc) bool {
	if k == nil || d.DType != dtype.BFloat16 {
		return false
	}
	if isOut {
		return slices.Contains(k.out, i)
	}
	return slices.Contains(k.in, i)
}

// widen prepares a kernel for operands of float16 and bfloat16 by converting them, except those that
// it keeps. A kernel that chooses layouts does so where it chooses some that a conversion keeps.
func widen[P any](o *op.Op, prepare op.Prepare[P], p P, a *op.Args, keep *kept) (*op.Prepared,
	error) {
	if !slices.ContainsFunc(a.In, sized) && !slices.ContainsFunc(a.Out, sized) {
		return nil, op.ErrUnsupported
	}
	wide := *a
	wide.In, wide.Out = slices.Clone(a.In), slices.Clone(a.Out)
	for at, list := range [][]op.Desc{wide.In, wide.Out} {
		for i, d := range list {
			if sized(d) && !keep.has(at == 1, i, d) {
				list[i] = retyped(d, dtype.Float32)
			}
		}
	}
	inner, err := prepare(p, &wide)
	if err != nil {
		return nil, err
	}
	w := &widened{inner: inner, mutates: o.Mutates}
	k := &op.Prepared{Threads: inner.Threads, Impls: inner.Impls, Run: w.run}
	var ok bool
	if k.In, ok = chosen(a.In, inner.In); ok {
		k.Out, ok = chosen(a.Out, inner.Out)
	}
	if !ok {
		plain := *a
		plain.Free = nil
		if a.Free == nil {
			return nil, op.ErrUnsupported
		}
		return widen(o, prepare, p, &plain, keep)
	}
	used := Align(inner.Scratch)
	w.in, used = place(a, k.In, inner.In, wide.In, used)
	w.out, used = place(a, k.Out, inner.Out, wide.Out, used)
	k.Scratch = used
	return k, nil
}

// chosen returns the operands in the layouts in which the kernel for float32 takes or gives them,
// nil standing for the layouts that they have; ok is false where it wants a narrow operand in a
// layout that a conversion does not keep.
func chosen(list, inner []op.Desc) (laid []op.Desc, ok bool) {
	laid = slices.Clone(list)
	for i := range inner {
		if list[i].DType == inner[i].DType {
			laid[i] = inner[i]
			continue
		}
		laid[i].Layout = inner[i].Layout
		if !sized(laid[i]) {
			return nil, false
		}
		laid[i] = retyped(laid[i], list[i].DType)
	}
	return laid, true
}

// place finds memory for the copies of operands from offset used on. The copies lie as the kernel
// has chosen, or as wide says.
func place(a *op.Args, list, inner, wide []op.Desc, used int) ([]operand, int) {
	operands := make([]operand, len(list))
	if inner != nil {
		wide = inner
	}
	for i, d := range list {
		x := operand{desc: wide[i], copied: d.DType != wide[i].DType, at: used, n: d.Shape.Size()}
		if x.copied {
			threads := Threads(a, device.Work{Bytes: float64(d.Bytes + wide[i].Bytes)})
			x.from, _ = cpu.NewCast(dtype.Float32, d.DType, threads)
			x.to, _ = cpu.NewCast(d.DType, dtype.Float32, threads)
			used += Align(wide[i].Bytes)
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
