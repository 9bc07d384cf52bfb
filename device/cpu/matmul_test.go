//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"gomx/device/cpu"
	"gomx/dtype"
)

// narrowArray is a bfloat16 array with its values.
type narrowArray struct {
	bits []dtype.BF16
	v    []float64
}

func newNarrow(n int) narrowArray { return narrowArray{make([]dtype.BF16, n), make([]float64, n)} }

// randomNarrow fills n elements with values between -2 and 2.
func randomNarrow(r *rand.Rand, n int) narrowArray {
	a := newNarrow(n)
	for i := range a.bits {
		a.bits[i] = dtype.BF16Of(r.Float32()*4 - 2)
		a.v[i] = float64(a.bits[i].Float32())
	}
	return a
}

func (a narrowArray) ptr() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(a.bits)) }

// rounded fails the test unless got equals want up to the rounding of sums of size, and to
// bfloat16.
func (a narrowArray) rounded(t *testing.T, what string, want, size []float64) {
	t.Helper()
	for i, w := range want {
		g := float64(a.bits[i].Float32())
		if d := math.Abs(g - w); !(d <= math.Abs(w)/256+size[i]*1e-5) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}

// TestMatmul compares products of bfloat16 matrices in batches with their definition.
func TestMatmul(t *testing.T) {
	r := rng(t)
	served := 0
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {16, 16, 16}, {33, 10, 65}, {64, 50, 81},
		{5, 1, 9}, {1, 9, 100}, {130, 97, 33}} {
		for v := range 32 {
			g := cpu.Gemm{M: s[0], N: s[1], K: s[2], TransA: v&1 != 0, TransB: v&2 != 0, Alpha: 1,
				Threads: 2}
			count := 1 + v&4
			m := g.Narrow(count, dtype.BFloat16)
			if m.Bias = v&8 != 0; m.Bias {
				m.Alpha, m.ReLU = 0.5, v&1 != 0
			}
			if v&16 != 0 {
				m.Beta = 0.5
			}
			if m.Bias && (m.Alpha != 1 || m.Beta != 0) {
				m.Alpha, m.Beta = 1, 0
			}
			a, b := randomNarrow(r, count*g.M*g.K), randomNarrow(r, count*g.K*g.N)
			c, bias := randomNarrow(r, count*g.M*g.N), randomNarrow(r, g.N)
			k, err := cpu.NewMatmul(m)
			if err != nil {
				continue // this processor has no kernel for it
			}
			served++
			want, size := make([]float64, len(c.v)), make([]float64, len(c.v))
			for i := range want {
				at, row, col := i/(g.M*g.N), i/g.N%g.M, i%g.N
				for j := range g.K {
					x := a.v[at*m.A.Inner+row*m.A.Row+j*m.A.Col]
					y := b.v[at*m.B.Inner+j*m.B.Row+col*m.B.Col]
					want[i] += float64(m.Alpha) * x * y
					size[i] += math.Abs(x * y)
				}
				want[i] += float64(m.Beta) * c.v[i]
				if m.Bias {
					want[i] += bias.v[col]
				}
				if m.ReLU {
					want[i] = max(want[i], 0)
				}
			}
			err = k.Run(c.ptr(), a.ptr(), b.ptr(), bias.ptr(), scratch(t, k.Scratch()))
			if err != nil {
				t.Fatal(err)
			}
			c.rounded(t, fmt.Sprintf("%+v", m), want, size)
		}
	}
	if served == 0 && cpu.HasBlocks() {
		t.Error("no products are served on a processor with AVX-512")
	}
	t.Logf("%d products served", served)
}

// TestConvNarrow compares convolutions of bfloat16 arrays and their gradients with the definition.
func TestConvNarrow(t *testing.T) {
	r := rng(t)
	served := 0
	cases := append([]cpu.ConvSpec{{Batch: 2, InChannels: 32, OutChannels: 48, Groups: 1,
		In: []int{7, 7}, Kernel: []int{3, 3}, Stride: []int{1, 1}, Dilate: []int{1, 1},
		Pad: []int{1, 1}, Bias: true}}, convCases...)
	for _, s := range cases {
		s = complete(s)
		s.DType = dtype.BFloat16
		taps := s.InChannels / s.Groups * volume(s.Kernel)
		x := randomNarrow(r, s.Batch*s.InChannels*volume(s.In))
		w := randomNarrow(r, s.OutChannels*taps)
		bias := randomNarrow(r, s.OutChannels)
		dy := randomNarrow(r, s.Batch*s.OutChannels*volume(s.Out))
		y, dx, dw, db := newNarrow(len(dy.v)), newNarrow(len(x.v)), newNarrow(len(w.v)),
			newNarrow(s.OutChannels)
		what := fmt.Sprintf("%+v", s)
		if k, err := cpu.NewConv(s); err == nil {
			served++
			sum, size := make([]float64, len(y.v)), make([]float64, len(y.v))
			eachTap(s, func(i, j, k int) {
				sum[i] += x.v[j] * w.v[k]
				size[i] += math.Abs(x.v[j] * w.v[k])
			})
			if s.Bias {
				for i := range sum {
					sum[i] += bias.v[i/volume(s.Out)%s.OutChannels]
				}
			}
			if err := k.Run(y.ptr(), x.ptr(), w.ptr(), bias.ptr(),
				scratch(t, k.Scratch())); err != nil {
				t.Fatal(err)
			}
			y.rounded(t, what, sum, size)
		}
		k, err := cpu.NewConvGrad(s, true, true)
		if err != nil {
			continue
		}
		served++
		err = k.Run(cpu.ConvGrads{DX: dx.ptr(), DW: dw.ptr(), DBias: db.ptr(), DY: dy.ptr(),
			X: x.ptr(), W: w.ptr()}, scratch(t, k.Scratch()))
		if err != nil {
			t.Fatal(err)
		}
		sumX, sizeX := make([]float64, len(x.v)), make([]float64, len(x.v))
		sumW, sizeW := make([]float64, len(w.v)), make([]float64, len(w.v))
		eachTap(s, func(i, j, k int) {
			sumX[j] += dy.v[i] * w.v[k]
			sizeX[j] += math.Abs(dy.v[i] * w.v[k])
			sumW[k] += dy.v[i] * x.v[j]
			sizeW[k] += math.Abs(dy.v[i] * x.v[j])
		})
		dx.rounded(t, what+" dx", sumX, sizeX)
		dw.rounded(t, what+" dw", sumW, sizeW)
		if s.Bias {
			sumB, sizeB := make([]float64, s.OutChannels), make([]float64, s.OutChannels)
			for i, v := range dy.v {
				c := i / volume(s.Out) % s.OutChannels
				sumB[c] += v
				sizeB[c] += math.Abs(v)
			}
			db.rounded(t, what+" dbias", sumB, sizeB)
		}
	}
	if served == 0 && cpu.HasBlocks() {
		t.Error("no passes are served on a processor with AVX-512")
	}
	t.Logf("%d passes served", served)
}
