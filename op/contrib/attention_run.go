package contrib

import (
	"math"
	"unsafe"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// run is one execution of an attention operator.
type run struct {
	heads   int
	in, out []op.Tensor
	// temp returns memory for an array.
	temp func(t dtype.Type, s dtype.Shape) op.Tensor
	// mul multiplies matrices one by one.
	mul func(m product) error
}

// product is alpha·op(a)·op(b) for each pair of matrices of two batches.
type product struct {
	dst, a, b      op.Tensor // (batch, rows, cols)
	transA, transB bool
	alpha          float64
}

// part names vectors of a projection: part at of parts of input number in.
type part struct{ in, at, parts int }

// view returns the vectors of a part of t as (batch, heads, steps, size).
func (r *run) view(t op.Tensor, p part) (dtype.Shape, loop.View) {
	steps, batch, width := t.Shape[0], t.Shape[1], t.Shape[2]
	d := width / (r.heads * p.parts)
	return dtype.Shape{batch, r.heads, steps, d},
		loop.View{Tensor: t, Off: p.at * d, Strides: []int{width, p.parts * d, batch * width, 1}}
}

// pack copies the vectors of a part of t to (batch·heads, steps, size).
func (r *run) pack(t op.Tensor, p part) op.Tensor {
	s, v := r.view(t, p)
	x := r.temp(t.DType, dtype.Shape{s[0] * s[1], s[2], s[3]})
	loop.Copy(s, loop.View{Tensor: x, Strides: s.Strides()}, v)
	return x
}

// like returns memory as pack would fill it.
func (r *run) like(t op.Tensor, p part) op.Tensor {
	s, _ := r.view(t, p)
	return r.temp(t.DType, dtype.Shape{s[0] * s[1], s[2], s[3]})
}

// unpack copies what pack made, or like, to its place in t.
func (r *run) unpack(t op.Tensor, p part, x op.Tensor) {
	s, v := r.view(t, p)
	loop.Copy(s, v, loop.View{Tensor: x, Strides: s.Strides()})
}

// scale is what scores are multiplied by.
func (r *run) scale(t op.Tensor, p part) float64 {
	s, _ := r.view(t, p)
	return 1 / math.Sqrt(float64(s[3]))
}

// scores multiplies queries with keys.
func (r *run) scores(q, k part) error {
	in := r.in
	return r.mul(product{dst: r.out[0], a: r.pack(in[q.in], q), b: r.pack(in[k.in], k), transB: true, alpha: r.scale(in[q.in], q)})
}

// scoresGrad is the gradient of scores.
func (r *run) scoresGrad(q, k part) error {
	dy, in := r.in[0], r.in[1:]
	for _, t := range r.out {
		if t.Data != nil {
			loop.Clear(t)
		}
	}
	alpha := r.scale(in[q.in], q)
	if t := r.out[q.in]; t.Data != nil {
		dq := r.like(t, q)
		if err := r.mul(product{dst: dq, a: dy, b: r.pack(in[k.in], k), alpha: alpha}); err != nil {
			return err
		}
		r.unpack(t, q, dq)
	}
	if t := r.out[k.in]; t.Data != nil {
		dk := r.like(t, k)
		if err := r.mul(product{dst: dk, a: dy, b: r.pack(in[q.in], q), transA: true, alpha: alpha}); err != nil {
			return err
		}
		r.unpack(t, k, dk)
	}
	return nil
}

// whole is the only part of an output.
var whole = part{0, 0, 1}

// values multiplies weights, the second input, with values.
func (r *run) values(v part) error {
	y := r.like(r.out[0], whole)
	if err := r.mul(product{dst: y, a: r.in[1], b: r.pack(r.in[0], v), alpha: 1}); err != nil {
		return err
	}
	r.unpack(r.out[0], whole, y)
	return nil
}

// valuesGrad is the gradient of values.
func (r *run) valuesGrad(v part) error {
	dy := r.pack(r.in[0], whole)
	if t := r.out[0]; t.Data != nil {
		dv := r.like(t, v)
		if err := r.mul(product{dst: dv, a: r.in[2], b: dy, transA: true, alpha: 1}); err != nil {
			return err
		}
		loop.Clear(t)
		r.unpack(t, v, dv)
	}
	if r.out[1].Data == nil {
		return nil
	}
	return r.mul(product{dst: r.out[1], a: dy, b: r.pack(r.in[1], v), transB: true, alpha: 1})
}

// plainRun is a run of the reference kernel.
func plainRun(p AttentionParams, in, out []op.Tensor) *run {
	return &run{heads: p.Heads, in: in, out: out, mul: mulPlain, temp: func(t dtype.Type, s dtype.Shape) op.Tensor {
		mem := make([]uint64, (s.Size()*t.Size()+7)/8)
		return op.Tensor{Desc: op.Plain(t, s), Data: unsafe.Pointer(unsafe.SliceData(mem))}
	}}
}

// mulPlain multiplies with plain loops in float64.
func mulPlain(m product) error {
	a, b := loop.Floats(m.a), loop.Floats(m.b)
	rows, cols, inner := m.dst.Shape[1], m.dst.Shape[2], m.a.Shape[2]
	aRow, aCol, bRow, bCol := m.a.Shape[2], 1, m.b.Shape[2], 1
	if m.transA {
		inner, aRow, aCol = m.a.Shape[1], 1, m.a.Shape[2]
	}
	if m.transB {
		bRow, bCol = 1, m.b.Shape[2]
	}
	y := make([]float64, m.dst.Shape.Size())
	for n := range m.dst.Shape[0] {
		a, b, y := a[n*rows*inner:], b[n*inner*cols:], y[n*rows*cols:]
		for i := range rows {
			for j := range cols {
				sum := 0.0
				for k := range inner {
					sum += a[i*aRow+k*aCol] * b[k*bRow+j*bCol]
				}
				y[i*cols+j] = sum * m.alpha
			}
		}
	}
	loop.Store(m.dst, 0, y)
	return nil
}
