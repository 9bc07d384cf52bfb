//go:build cuda

package attach

import (
	"fmt"
	"slices"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// Moves lists the steps of a kernel that only moves elements, in order: copies between views of its
// operands, and fills with a value. A plan makes the list at Prepare, for operands without memory.
type Moves struct {
	marks []byte // the address of mark i stands for operand i
	in    int
	list  []moveStep
	err   error
}

// moveStep is one copy, or, with src -1, one filling.
type moveStep struct {
	dst, src       int // operands: inputs first
	dstOff, srcOff int // bytes
	whole          bool
	f              *cuda.Function
	args           copyArgs
	swap           *transposeArgs
	value          float64
	fill           fillArgs
}

// copyArgs is the parameter of the kernels in copy.cu.
type copyArgs struct {
	dst, src    unsafe.Pointer
	n, axes     int
	dim, sd, ss [cuda.Axes]int
}

// transposeArgs is the parameter of those that transpose matrices.
type transposeArgs struct {
	dst, src          unsafe.Pointer
	batch, rows, cols int
}

// fillArgs is the parameter of the kernels in fill.cu.
type fillArgs struct {
	out      unsafe.Pointer
	kind, n  int
	start, _ float64
	_        [3]int // what other kernels of the file read
}

// CUDAMoves prepares a kernel that only moves elements. plan gets the operands as the reference
// kernel does, and adds its steps to m.
func CUDAMoves[P any](plan func(p P, c *op.Call, m *Moves) error) op.Prepare[P] {
	return func(p P, a *op.Args) (*op.Prepared, error) {
		m := &Moves{marks: make([]byte, len(a.In)+len(a.Out)), in: len(a.In)}
		c := &op.Call{Train: a.Train}
		for i, d := range a.In {
			c.In = append(c.In, op.Tensor{Desc: d, Data: unsafe.Pointer(&m.marks[i])})
		}
		for i, d := range a.Out {
			t := op.Tensor{Desc: d}
			if a.Needs(i) {
				t.Data = unsafe.Pointer(&m.marks[m.in+i])
			}
			c.Out = append(c.Out, t)
		}
		if err := plan(p, c, m); err != nil {
			return nil, err
		}
		if m.err != nil {
			return nil, m.err
		}
		return OnQueue(0, m.run)
	}
}

// operand returns the operand that a tensor of the plan stands for.
func (m *Moves) operand(t op.Tensor) int {
	return int(uintptr(t.Data) - uintptr(unsafe.Pointer(&m.marks[0])))
}

// Copy moves elements from src to dst, whose element types have one size; shape is the extent of
// both views.
func (m *Moves) Copy(shape dtype.Shape, dst, src loop.View) {
	size := dst.DType.Size()
	w, ok := cuda.NewWalk(shape, dst.Strides, src.Strides)
	if !ok || src.DType.Size() != size {
		m.err = op.ErrUnsupported
		return
	}
	s := moveStep{dst: m.operand(dst.Tensor), src: m.operand(src.Tensor), dstOff: dst.Off * size,
		srcOff: src.Off * size, whole: w.Linear()}
	suffix := map[int]string{1: "1", 2: "2", 4: "4", 8: "8"}[size]
	s.args.n = w.Size()
	if s.args.n == 0 {
		return
	}
	if s.swap = transposition(w); s.swap != nil {
		s.f = cuda.Func("copy", "transpose"+suffix, dtype.Unknown)
	} else {
		s.args.axes = w.Fill(&s.args.dim, &s.args.sd, &s.args.ss)
		s.f = cuda.Func("copy", "copy"+suffix, dtype.Unknown)
	}
	s.fill.n = size
	m.list = append(m.list, s)
}

// transposition recognizes the transposition of large matrices.
func transposition(w cuda.Walk) *transposeArgs {
	n := len(w.Dims)
	if n != 2 && n != 3 {
		return nil
	}
	rows, cols := w.Dims[n-2], w.Dims[n-1] // of dst
	d, s := w.Strides[0], w.Strides[1]
	if rows < 16 || cols < 16 || d[n-1] != 1 || d[n-2] != cols || s[n-2] != 1 || s[n-1] != rows {
		return nil
	}
	batch := 1
	if n == 3 {
		if batch = w.Dims[0]; d[0] != rows*cols || s[0] != rows*cols {
			return nil
		}
	}
	return &transposeArgs{batch: batch, rows: cols, cols: rows}
}

// Move moves all elements of src to dst in order; the shapes need not agree. Where both are the
// same memory nothing is done.
func (m *Moves) Move(dst, src op.Tensor) {
	n := dtype.Shape{dst.Shape.Size()}
	m.Copy(n, loop.View{Tensor: dst, Strides: []int{1}}, loop.View{Tensor: src, Strides: []int{1}})
}

// Fill sets all elements of t to a value.
func (m *Moves) Fill(t op.Tensor, v float64) {
	m.list = append(m.list, moveStep{dst: m.operand(t), src: -1, f: cuda.Func("fill", "fill",
		dtype.Unknown), value: v,
		fill: fillArgs{kind: cuda.Code(t.DType), n: t.Shape.Size(), start: v}})
}

// FillOn puts the filling of n elements with a value on q.
func FillOn(q *cuda.Queue, t dtype.Type, out unsafe.Pointer, n int, v float64) error {
	return cuda.LaunchWith(q, AnyFunc("fill", "fill"), q.Each(n),
		&fillArgs{out: out, kind: cuda.Code(t), n: n, start: v})
}

// Clear sets all elements of t to zero.
func (m *Moves) Clear(t op.Tensor) { m.Fill(t, 0) }

// run puts the moves on the queue.
func (m *Moves) run(q *cuda.Queue, c *op.Call) error {
	at := func(i int) unsafe.Pointer {
		if i < m.in {
			return c.In[i].Data
		}
		return c.Out[i-m.in].Data
	}
	for i := range m.list {
		if err := m.list[i].run(q, at); err != nil {
			return err
		}
	}
	return nil
}

func (s *moveStep) run(q *cuda.Queue, at func(int) unsafe.Pointer) error {
	dst := at(s.dst)
	if dst == nil {
		return nil
	}
	if s.src < 0 {
		if s.value == 0 {
			return q.Clear(dst, s.fill.n*sizeOf(s.fill.kind))
		}
		args := s.fill
		args.out = dst
		return cuda.LaunchWith(q, s.f, q.Each(args.n), &args)
	}
	dst = unsafe.Add(dst, s.dstOff)
	src := unsafe.Add(at(s.src), s.srcOff)
	switch {
	case s.whole && dst == src:
		return nil
	case s.whole:
		return q.CopyFrom(dst, q.Device(), src, s.args.n*s.fill.n)
	case s.swap != nil:
		args := *s.swap
		args.dst, args.src = dst, src
		return cuda.LaunchWith(q, s.f, q.Each(s.args.n), &args)
	}
	args := s.args
	args.dst, args.src = dst, src
	return cuda.LaunchWith(q, s.f, q.Each(args.n), &args)
}

// sizeOf returns the bytes of an element by the number that kernels have for its type.
func sizeOf(code int) int { return dtype.Type(code - 1).Size() }

// CUDAMove is the Prepare of operators that pass input 0 on.
func CUDAMove[P any]() op.Prepare[P] {
	return CUDAMoves(func(_ P, c *op.Call, m *Moves) error {
		m.Move(c.Out[0], c.In[0])
		return nil
	})
}

// CUDAView is the Prepare of operators that read input 0 with strides.
func CUDAView[P any](strides func(p P, in, out dtype.Shape) (shape dtype.Shape, st []int, off int,
	err error)) op.Prepare[P] {
	return CUDAMoves(func(p P, c *op.Call, m *Moves) error {
		shape, st, off, err := strides(p, c.In[0].Shape, c.Out[0].Shape)
		if err != nil {
			return err
		}
		m.Copy(shape, loop.View{Tensor: c.Out[0], Strides: shape.Strides()},
			loop.View{Tensor: c.In[0], Off: off, Strides: st})
		return nil
	})
}

// CUDAFill is the Prepare of operators whose output has one value throughout.
func CUDAFill[P any](value func(P) float64) op.Prepare[P] {
	return CUDAMoves(func(p P, c *op.Call, m *Moves) error {
		m.Fill(c.Out[0], value(p))
		return nil
	})
}

// CUDACast prepares a conversion of input 0 to the type of output 0. The output has the layout that
// a reader has asked for, else the input's layout where it may.
func CUDACast(a *op.Args) (*op.Prepared, error) {
	out := slices.Clone(a.Out)
	if IsLast(a.In[0]) && a.Chooses(0) {
		out[0].Layout = a.In[0].Layout
	}
	cast := linearCast
	if IsLast(a.In[0]) != IsLast(out[0]) {
		cast = turnedCast
	}
	k, err := cast(a)
	if err == nil {
		k.Out = out
	}
	return k, err
}

// linearCast prepares a conversion of elements in the order of memory.
func linearCast(a *op.Args) (*op.Prepared, error) {
	n, from, to := a.Out[0].Shape.Size(), a.In[0].DType, a.Out[0].DType
	name, threads := "cast", n
	if narrowFloat(from) && narrowFloat(to) && from != to {
		name = fmt.Sprintf("cast_%d_%d", cuda.Code(from), cuda.Code(to))
		threads = (n + 7) / 8
	}
	f := cuda.Func("fill", name, dtype.Unknown)
	return OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return q.Launch(f, q.Each(threads), cuda.P(c.Out[0].Data), cuda.P(c.In[0].Data),
			cuda.I(cuda.Code(to)), cuda.I(cuda.Code(from)), cuda.I(n))
	})
}

// narrowFloat reports whether t is a floating-point type of up to 32 bits.
func narrowFloat(t dtype.Type) bool {
	return t == dtype.Float32 || t == dtype.Float16 || t == dtype.BFloat16
}
