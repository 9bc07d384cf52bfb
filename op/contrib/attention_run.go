package contrib

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
)

// run is one execution of an attention operator.
type run struct {
	heads   int
	in, out []op.Tensor
	// mul computes a product of matrices for each head of each sequence.
	mul func(m product) error
	// wipe sets an operand to zero; nil: the processor clears the memory.
	wipe func(t op.Tensor)
}

// clear sets an operand to zero.
func (r *run) clear(t op.Tensor) {
	if r.wipe != nil {
		r.wipe(t)
		return
	}
	loop.Clear(t)
}

// matrices are the matrices of all heads of all sequences in an operand. Each has rows×cols
// elements; strides are in elements: row between rows, head between heads, batch between sequences.
// off is the offset of the first matrix.
type matrices struct {
	t                op.Tensor
	rows, cols       int
	off              int
	row, head, batch int
	batches          int // number of sequences; 0: unknown
}

// product is dst = alpha·op(a)·op(b).
type product struct {
	dst, a, b      matrices
	batches, heads int
	transA, transB bool
	alpha          float64
}

// part identifies vectors of a projection: number at of parts interleaved vectors of input in.
type part struct{ in, at, parts int }

// whole is the only part of an output.
var whole = part{0, 0, 1}

// vectors returns a part of t, (steps, batch, heads·parts·size), as matrices with a row per step.
func (r *run) vectors(t op.Tensor, p part) matrices {
	steps, batch, width := t.Shape[0], t.Shape[1], t.Shape[2]
	d := width / (r.heads * p.parts)
	return matrices{t: t, rows: steps, cols: d, off: p.at * d, row: batch * width, head: p.parts *
		d, batch: width, batches: batch}
}

// scoresOf returns t, (batch·heads, steps, steps), as matrices.
func (r *run) scoresOf(t op.Tensor) matrices {
	rows, cols := t.Shape[1], t.Shape[2]
	return matrices{t: t, rows: rows, cols: cols, row: cols, head: rows * cols, batch: r.heads *
		rows * cols}
}

// multiply computes a product for every head of every sequence.
func (r *run) multiply(m product) error {
	m.heads, m.batches = r.heads, max(m.dst.batches, m.a.batches, m.b.batches)
	return r.mul(m)
}

// scale returns the factor of scores, 1/√cols.
func (m matrices) scale() float64 { return 1 / math.Sqrt(float64(max(m.cols, 1))) }

// scores computes the products of queries and keys.
func (r *run) scores(q, k part) error {
	a := r.vectors(r.in[q.in], q)
	return r.multiply(product{dst: r.scoresOf(r.out[0]), a: a, b: r.vectors(r.in[k.in], k),
		transB: true, alpha: a.scale()})
}

// scoresGrad is the gradient of scores.
func (r *run) scoresGrad(q, k part) error {
	dy, in := r.scoresOf(r.in[0]), r.in[1:]
	for _, t := range r.out {
		if t.Data != nil {
			r.clear(t)
		}
	}
	a, b := r.vectors(in[q.in], q), r.vectors(in[k.in], k)
	if t := r.out[q.in]; t.Data != nil {
		if err := r.multiply(product{dst: r.vectors(t, q), a: dy, b: b,
			alpha: a.scale()}); err != nil {
			return err
		}
	}
	if t := r.out[k.in]; t.Data != nil {
		return r.multiply(product{dst: r.vectors(t, k), a: dy, b: a, transA: true,
			alpha: a.scale()})
	}
	return nil
}

// values computes the product of weights, the second input, and values.
func (r *run) values(v part) error {
	return r.multiply(product{dst: r.vectors(r.out[0], whole), a: r.scoresOf(r.in[1]),
		b: r.vectors(r.in[0], v), alpha: 1})
}

// valuesGrad is the gradient of values.
func (r *run) valuesGrad(v part) error {
	dy := r.vectors(r.in[0], whole)
	if t := r.out[0]; t.Data != nil {
		r.clear(t)
		if err := r.multiply(product{dst: r.vectors(t, v), a: r.scoresOf(r.in[2]), b: dy,
			transA: true, alpha: 1}); err != nil {
			return err
		}
	}
	if r.out[1].Data == nil {
		return nil
	}
	return r.multiply(product{dst: r.scoresOf(r.out[1]), a: dy, b: r.vectors(r.in[1], v),
		transB: true, alpha: 1})
}

// plainRun is a run of the reference kernel.
func plainRun(p AttentionParams, in, out []op.Tensor) *run {
	return &run{heads: p.Heads, in: in, out: out, mul: mulPlain}
}

// inner returns the number of terms of an element's sum.
func (m *product) inner() int {
	if m.transA {
		return m.a.rows
	}
	return m.a.cols
}

// mulPlain computes a product with plain loops in float64.
func mulPlain(m product) error {
	a, b, y := loop.Floats(m.a.t), loop.Floats(m.b.t), loop.Floats(m.dst.t)
	aRow, aCol, bRow, bCol := m.a.row, 1, m.b.row, 1
	if m.transA {
		aRow, aCol = 1, m.a.row
	}
	if m.transB {
		bRow, bCol = 1, m.b.row
	}
	for n := range m.batches * m.heads {
		at := func(x matrices) int { return x.off + n/m.heads*x.batch + n%m.heads*x.head }
		fromA, fromB, to := at(m.a), at(m.b), at(m.dst)
		for i := range m.dst.rows {
			for j := range m.dst.cols {
				sum := 0.0
				for k := range m.inner() {
					sum += a[fromA+i*aRow+k*aCol] * b[fromB+k*bRow+j*bCol]
				}
				y[to+i*m.dst.row+j] = sum * m.alpha
			}
		}
	}
	loop.Store(m.dst.t, 0, y)
	return nil
}
