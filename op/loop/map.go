package loop

import (
	"gomx/dtype"
	"gomx/op"
)

// Block is how many elements are converted at a time.
const Block = 256

// Func1 is a function of one element: F computes with float64; I with integers, and where it is
// nil F serves them too.
type Func1 struct {
	F func(x float64) float64
	I func(x int64) int64
}

// Func2 is a function of two elements.
type Func2 struct {
	F func(x, y float64) float64
	I func(x, y int64) int64
}

// Map computes out[i] = f(in[i]).
func Map(f Func1, out, in op.Tensor) {
	size := out.Shape.Size()
	if f.I != nil && Exact(in.DType) {
		var x [Block]int64
		for i := 0; i < size; i += Block {
			b := x[:min(Block, size-i)]
			LoadInt(b, in, i, 1)
			for k, v := range b {
				b[k] = f.I(v)
			}
			StoreInt(out, i, b)
		}
		return
	}
	var x [Block]float64
	for i := 0; i < size; i += Block {
		b := x[:min(Block, size-i)]
		Load(b, in, i, 1)
		for k, v := range b {
			b[k] = f.F(v)
		}
		Store(out, i, b)
	}
}

// Zip computes out[i] = f(a[i], b[i]) with a and b broadcast to the shape of out.
func Zip(f Func2, out, a, b op.Tensor) {
	exact := f.I != nil && Exact(a.DType) && Exact(b.DType)
	if a.Shape.Size() == out.Shape.Size() && b.Shape.Size() == out.Shape.Size() {
		flat := dtype.Shape{out.Shape.Size()}
		a.Shape, b.Shape, out.Shape = flat, flat, flat
	}
	Walk(out.Shape, func(n int, off, step []int) {
		for i := 0; i < n; i += Block {
			m := min(Block, n-i)
			dst := run{out, off[0] + i, 1}
			x, y := run{a, off[1] + i*step[1], step[1]}, run{b, off[2] + i*step[2], step[2]}
			if exact {
				zipInt(f.I, m, dst, x, y)
			} else {
				zipFloat(f.F, m, dst, x, y)
			}
		}
	}, out.Shape.Strides(), Broadcast(a.Shape, out.Shape), Broadcast(b.Shape, out.Shape))
}

// run is part of an operand: elements from off on, step apart.
type run struct {
	t         op.Tensor
	off, step int
}

func zipFloat(f func(x, y float64) float64, n int, out, a, b run) {
	var x, y [Block]float64
	Load(x[:n], a.t, a.off, a.step)
	Load(y[:n], b.t, b.off, b.step)
	for k := range n {
		x[k] = f(x[k], y[k])
	}
	Store(out.t, out.off, x[:n])
}

func zipInt(f func(x, y int64) int64, n int, out, a, b run) {
	var x, y [Block]int64
	LoadInt(x[:n], a.t, a.off, a.step)
	LoadInt(y[:n], b.t, b.off, b.step)
	for k := range n {
		x[k] = f(x[k], y[k])
	}
	StoreInt(out.t, out.off, x[:n])
}

// Fill sets all elements of t to v.
func Fill(t op.Tensor, v float64) {
	Generate(t, func(int) float64 { return v })
}

// Generate sets every element of t to f of its index.
func Generate(t op.Tensor, f func(i int) float64) {
	size := t.Shape.Size()
	var x [Block]float64
	for i := 0; i < size; i += Block {
		b := x[:min(Block, size-i)]
		for k := range b {
			b[k] = f(i + k)
		}
		Store(t, i, b)
	}
}
