package contrib_test

import (
	"math"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/contrib"
)

// dft is the discrete Fourier transform as it is defined, of complex numbers in pairs.
func dft(x []float64, sign float64) []float64 {
	n := len(x) / 2
	y := make([]float64, 2*n)
	for k := range n {
		for j := range n {
			s, c := math.Sincos(sign * 2 * math.Pi * float64(j*k) / float64(n))
			y[2*k] += x[2*j]*c - x[2*j+1]*s
			y[2*k+1] += x[2*j]*s + x[2*j+1]*c
		}
	}
	return y
}

func TestFFTAgainstSums(t *testing.T) {
	for seed, n := range []int{1, 2, 3, 4, 5, 7, 8, 12, 30, 49} {
		single := optest.Random(uint64(seed), -1, 1, 3, n)
		pairs := optest.Random(uint64(seed), -1, 1, 2, 2, 1, 2*n)
		var coefficients, values []float64
		for r := range 3 {
			row := make([]float64, 2*n)
			for j := range n {
				row[2*j] = float64(op.Slice[float32](single)[r*n+j])
			}
			coefficients = append(coefficients, dft(row, -1)...)
		}
		for r := range 4 {
			row := make([]float64, 2*n)
			for j := range row {
				row[j] = float64(op.Slice[float32](pairs)[r*2*n+j])
			}
			for j, v := range dft(row, 1) {
				if j%2 == 0 {
					values = append(values, v)
				}
			}
		}
		tol := optest.Tolerance{Abs: 1e-4, Rel: 1e-4}
		optest.Run(t, contrib.FFT.Op, optest.Case{In: optest.Ops(single), Tol: tol,
			Want: optest.Ops(optest.F([]int{3, 2 * n}, coefficients...))})
		optest.Run(t, contrib.IFFT.Op, optest.Case{In: optest.Ops(pairs), Tol: tol,
			Want: optest.Ops(optest.F([]int{2, 2, 1, n}, values...))})
	}
}

func TestFFTShapes(t *testing.T) {
	in, out := []dtype.Shape{nil}, []dtype.Shape{{2, 8}}
	if err := contrib.FFT.InferShape(contrib.FFTParams{}, in, out); err != nil ||
		!in[0].Equal(dtype.Shape{2, 4}) {
		t.Errorf("backwards: shape %v, error %v", in[0], err)
	}
	in, out = []dtype.Shape{{2, 7}}, []dtype.Shape{nil}
	err := contrib.IFFT.InferShape(contrib.FFTParams{}, in, out)
	if err == nil || !strings.Contains(err.Error(), "last extent 7, want an even number") {
		t.Errorf("got error %v", err)
	}
}
