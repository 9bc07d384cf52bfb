//go:build cgo

package cpu_test

import (
	"fmt"
	"testing"
	"unsafe"

	"gomx/device/cpu"
)

// lstmLayer is the memory of a layer at all steps.
type lstmLayer struct {
	cpu.Sequence
	gates, memory, out, h0, c0, weight guarded
	dgates, dout, dmem, dy             guarded
}

func newLSTMLayer(t *testing.T, q cpu.Sequence, row int) *lstmLayer {
	r, cells := rng(t), q.Steps*q.Batch*q.Hidden
	l := &lstmLayer{q, random(r, 4*cells), newGuarded(cells), newGuarded(cells),
		random(r, q.Batch*q.Hidden), random(r, q.Batch*q.Hidden),
		random(r, 4*q.Hidden*q.Hidden), newGuarded(4 * cells), random(r, q.Batch*q.Hidden),
		random(r, q.Batch*q.Hidden), random(r, q.Steps*q.Batch*row)}
	for i := range l.weight.v {
		l.weight.v[i] /= 10 // so that rounding does not grow from step to step
	}
	return l
}

// stateProduct is the product of the outputs before a step with the weights, whose packed form Run
// takes.
func stateProduct(q cpu.Sequence) cpu.Gemm {
	return cpu.Gemm{M: q.Batch, N: 4 * q.Hidden, K: q.Hidden, TransB: true, Alpha: 1, Beta: 1,
		Threads: q.Threads}
}

// stateProductGrad is the product of the gradients of the sums with the weights, whose packed form
// RunGrad takes.
func stateProductGrad(q cpu.Sequence) cpu.Gemm {
	return cpu.Gemm{M: q.Batch, N: q.Hidden, K: 4 * q.Hidden, Alpha: 1, Threads: q.Threads}
}

func (l *lstmLayer) clone() *lstmLayer {
	c := *l
	for _, g := range []*guarded{&c.gates, &c.memory, &c.out, &c.dgates, &c.dout, &c.dmem} {
		*g = g.clone()
	}
	return &c
}

// step returns the number of the i-th step that is taken, and before it what x, or first, holds.
func (l *lstmLayer) step(i int, x, first guarded) (at int, before []float32) {
	number := func(i int) int {
		if l.Back {
			return l.Steps - 1 - i
		}
		return i
	}
	n := l.Batch * l.Hidden
	if i == 0 {
		return number(i), first.v
	}
	return number(i), x.v[number(i-1)*n:][:n]
}

func ptr(x []float32) unsafe.Pointer { return guarded{v: x}.ptr() }

// forward goes through the steps one by one.
func (l *lstmLayer) forward(t *testing.T) {
	n, cells := l.Batch*l.Hidden, cpu.Cells{Batch: l.Batch, Hidden: l.Hidden, Threads: 1}
	for i := range l.Steps {
		at, h := l.step(i, l.out, l.h0)
		_, c := l.step(i, l.memory, l.c0)
		gates := ptr(l.gates.v[4*at*n:])
		if err := stateProduct(l.Sequence).Run(gates, ptr(h), l.weight.ptr()); err != nil {
			t.Fatal(err)
		}
		cells.LSTM(cpu.CellStep{Gates: gates, Extra: ptr(l.memory.v[at*n:]),
			Out: ptr(l.out.v[at*n:]), Prev: ptr(c)})
	}
}

// backward goes back through the steps one by one.
func (l *lstmLayer) backward(t *testing.T, row int) {
	n, cells := l.Batch*l.Hidden, cpu.Cells{Batch: l.Batch, Hidden: l.Hidden, Threads: 1}
	for i := l.Steps - 1; i >= 0; i-- {
		at, c := l.step(i, l.memory, l.c0)
		for b := range l.Batch {
			for k := range l.Hidden {
				l.dout.v[b*l.Hidden+k] += l.dy.v[(at*l.Batch+b)*row+k]
			}
		}
		dgates := ptr(l.dgates.v[4*at*n:])
		cells.LSTMGrad(cpu.CellStep{Gates: ptr(l.gates.v[4*at*n:]), Extra: ptr(l.memory.v[at*n:]),
			Prev: ptr(c)}, cpu.CellGrads{Out: l.dout.ptr(), Gates: dgates, Prev: l.dmem.ptr()})
		if err := stateProductGrad(l.Sequence).Run(l.dout.ptr(), dgates, l.weight.ptr()); err != nil {
			t.Fatal(err)
		}
	}
}

func wide(x []float32) []float64 {
	list := make([]float64, len(x))
	for i, v := range x {
		list[i] = float64(v)
	}
	return list
}

// TestSequence compares whole layers with their steps one by one.
func TestSequence(t *testing.T) {
	if !cpu.CanPack() {
		t.Skip("this processor computes step by step only")
	}
	for _, q := range []cpu.Sequence{
		{Steps: 1, Batch: 1, Hidden: 1, Threads: 1},
		{Steps: 5, Batch: 4, Hidden: 19, Threads: 2},
		{Steps: 4, Batch: 13, Hidden: 40, Back: true, Threads: 2},
		{Steps: 3, Batch: 3, Hidden: 33, Threads: 3},
	} {
		row := q.Hidden + 5
		l := newLSTMLayer(t, q, row)
		want := l.clone()
		want.forward(t)
		p := stateProduct(q)
		packed := scratch(t, p.Packed())
		p.Pack(packed, l.weight.ptr())
		s := cpu.SequenceState{Packed: packed, Gates: l.gates.ptr(), Memory: l.memory.ptr(),
			Out: l.out.ptr(), Mem0: l.c0.ptr(), Out0: l.h0.ptr()}
		q.Run(s)
		near(t, fmt.Sprint("gates ", q), l.gates.v, wide(want.gates.v), 1e-4)
		near(t, fmt.Sprint("memory ", q), l.memory.v, wide(want.memory.v), 1e-4)
		near(t, fmt.Sprint("outputs ", q), l.out.v, wide(want.out.v), 1e-4)

		want = l.clone()
		want.backward(t, row)
		p = stateProductGrad(q)
		packed = scratch(t, p.Packed())
		p.Pack(packed, l.weight.ptr())
		s.Packed = packed
		q.RunGrad(s, cpu.SequenceGrads{Gates: l.dgates.ptr(), Mem: l.dmem.ptr(), Out: l.dout.ptr(),
			Y: l.dy.ptr(), Row: row})
		near(t, fmt.Sprint("gradients of gates ", q), l.dgates.v, wide(want.dgates.v), 1e-3)
		near(t, fmt.Sprint("gradient of the output ", q), l.dout.v, wide(want.dout.v), 1e-3)
		near(t, fmt.Sprint("gradient of the memory ", q), l.dmem.v, wide(want.dmem.v), 1e-3)
		for _, g := range []guarded{l.gates, l.memory, l.out, l.dgates, l.dout, l.dmem} {
			g.intact(t, fmt.Sprint(q))
		}
	}
}
