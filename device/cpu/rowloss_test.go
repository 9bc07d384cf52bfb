//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"testing"

	"gomx/device/cpu"
)

// rowLossSums are the results of a RowLoss by its definition.
type rowLossSums struct{ y, dw, db []float64 }

func rowLossOf(l cpu.RowLoss, x, w, bias, label guarded) rowLossSums {
	s := rowLossSums{make([]float64, l.Rows), make([]float64, l.In), make([]float64, 1)}
	for i := range l.Rows {
		v := float64(bias.v[0])
		for k := range l.In {
			v += float64(x.v[i*l.In+k]) * float64(w.v[k])
		}
		if l.Sigmoid {
			v = 1 / (1 + math.Exp(-v))
		}
		s.y[i] = v
		d := v - float64(label.v[i])
		if l.Sign {
			d = math.Copysign(1, d)
		}
		s.db[0] += d
		for k := range l.In {
			s.dw[k] += d * float64(x.v[i*l.In+k])
		}
	}
	return s
}

func TestRowLoss(t *testing.T) {
	r := rng(t)
	for _, l := range []cpu.RowLoss{
		{Rows: 1, In: 1, Threads: 1}, {Rows: 3, In: 5, Sigmoid: true, Threads: 2},
		{Rows: 4, In: 16, Sign: true, Threads: 1},
		{Rows: 23, In: 77, Sigmoid: true, Threads: 3}, {Rows: 64, In: 1000, Threads: 2},
		{Rows: 5, In: 33000, Sigmoid: true, Threads: 2},
		{Rows: 2, In: 8, Threads: 5},
	} {
		what := fmt.Sprintf("%+v", l)
		x, w, bias, label := random(r, l.Rows*l.In), random(r, l.In), random(r, 1),
			random(r, l.Rows)
		for i := range w.v { // results of a size at which rounding does not change a sign
			w.v[i] /= float32(l.In)
			if i == 0 && l.Sign {
				w.v[i] = 0
			}
		}
		for i := range label.v {
			label.v[i] += float32(math.Copysign(8, float64(label.v[i])))
		}
		want := rowLossOf(l, x, w, bias, label)
		y, dw, db := newGuarded(l.Rows), newGuarded(l.In), newGuarded(1)
		memory := scratch(t, l.Scratch())
		a := cpu.RowArgs{Data: x.ptr(), Weight: w.ptr(), Bias: bias.ptr(), Label: label.ptr()}
		l.Run(cpu.RowGrads{Output: y.ptr(), Weight: dw.ptr(), Bias: db.ptr()}, a, memory)
		near(t, "output "+what, y.v, want.y, 4*roundings(l.In))
		near(t, "weight "+what, dw.v, want.dw, 40*roundings(l.Rows+l.In))
		near(t, "bias "+what, db.v, want.db, 40*roundings(l.Rows+l.In))
		for _, g := range []guarded{y, dw, db} {
			g.intact(t, what)
		}
		again := newGuarded(l.Rows)
		l.Run(cpu.RowGrads{Output: again.ptr()}, a, memory)
		for i, v := range y.v {
			if again.v[i] != v {
				t.Fatalf("%s: output %d alone is %v, with gradients %v", what, i, again.v[i], v)
			}
		}
	}
}

// BenchmarkRowLoss is a batch of logistic regression over 10,000 features, out of data that no
// cache holds, beside the two products that it stands for.
func BenchmarkRowLoss(b *testing.B) {
	const rows, in, batches = 500, 10000, 6
	x := make([]float32, batches*rows*in)
	for i := range x {
		x[i] = float32(i%13) - 6
	}
	w, dw, y, label, db := make([]float32, in), make([]float32, in), make([]float32, rows),
		make([]float32, rows), make([]float32, 1)
	for _, threads := range []int{1, 2} {
		l := cpu.RowLoss{Rows: rows, In: in, Sigmoid: true, Threads: threads}
		memory := make([]float32, l.Scratch()/4+1)
		b.Run(fmt.Sprintf("joined/%d", threads), func(b *testing.B) {
			b.SetBytes(4 * rows * in)
			for i := range b.N {
				l.Run(cpu.RowGrads{Output: ptr(y), Weight: ptr(dw), Bias: ptr(db)},
					cpu.RowArgs{Data: ptr(x[i%batches*rows*in:]), Weight: ptr(w), Bias: ptr(db),
						Label: ptr(label)}, ptr(memory))
			}
		})
		b.Run(fmt.Sprintf("apart/%d", threads), func(b *testing.B) {
			b.SetBytes(4 * rows * in)
			for i := range b.N {
				at := x[i%batches*rows*in:]
				if err := (cpu.Gemm{M: rows, N: 1, K: in, TransB: true, Alpha: 1,
					Threads: threads}).Run(ptr(y), ptr(at), ptr(w)); err != nil {
					b.Fatal(err)
				}
				if err := (cpu.Gemm{M: 1, N: in, K: rows, TransA: true, Alpha: 1,
					Threads: threads}).Run(ptr(dw), ptr(y), ptr(at)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
