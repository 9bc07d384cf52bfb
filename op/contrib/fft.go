package contrib

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// FFTParams configures FFT and IFFT.
type FFTParams struct {
	ComputeSize int `op:"compute_size" default:"128" min:"1" doc:"accepted for compatibility, without effect"`
}

// Discrete Fourier transforms along the last axis. Complex numbers are pairs of neighbours, the
// real part first. Each is the gradient of the other one.
var (
	FFT  = op.Declare[FFTParams]("_contrib_fft")
	IFFT = op.Declare[FFTParams]("_contrib_ifft")
)

func init() {
	FFT.Define(op.Spec[FFTParams]{
		Traits: op.Traits{
			Doc: `ContribFft is the discrete Fourier transform of real numbers along the last axis.

The last axis of the output holds twice as many numbers: real and imaginary part of each
coefficient X_k = Σ_j x_j·exp(-2πijk/n), for all n of them.`,
		},
		Infer: func(_ FFTParams, in, out []dtype.Shape) error {
			return inferPairs("data", &in[0], "output", &out[0])
		},
		InferType: op.FloatType[FFTParams],
		FLOPs:     flopsFFT,
		Grad: func(g *op.Grad, p FFTParams) []op.Entry {
			return []op.Entry{IFFT.Apply(p, g.Head(0))}
		},
		Ref: func(_ FFTParams, c *op.Call) error {
			transform(c.In[0], c.Out[0], lastExtent(c.In[0].Shape), -1,
				func(row []float64, x []complex128) {
					for j := range x {
						x[j] = complex(row[j], 0)
					}
				},
				func(x []complex128, row []float64) {
					for k, v := range x {
						row[2*k], row[2*k+1] = real(v), imag(v)
					}
				})
			return nil
		},
	})
	IFFT.Define(op.Spec[FFTParams]{
		Traits: op.Traits{
			Doc: `ContribIfft is the real part of the inverse Fourier transform along the last axis.

The last axis of data holds real and imaginary part of each of n coefficients in turn. The output
has n numbers there: x_j = Re Σ_k X_k·exp(2πijk/n), which are not divided by n.`,
		},
		Infer: func(_ FFTParams, in, out []dtype.Shape) error {
			return inferPairs("output", &out[0], "data", &in[0])
		},
		InferType: op.FloatType[FFTParams],
		FLOPs:     flopsFFT,
		Grad: func(g *op.Grad, p FFTParams) []op.Entry {
			return []op.Entry{FFT.Apply(p, g.Head(0))}
		},
		Ref: func(_ FFTParams, c *op.Call) error {
			transform(c.In[0], c.Out[0], lastExtent(c.Out[0].Shape), 1,
				func(row []float64, x []complex128) {
					for k := range x {
						x[k] = complex(row[2*k], row[2*k+1])
					}
				},
				func(x []complex128, row []float64) {
					for j, v := range x {
						row[j] = real(v)
					}
				})
			return nil
		},
	})
}

// flopsFFT counts 5·n·log2(n) operations for each row of n complex numbers.
func flopsFFT(_ FFTParams, in, out []dtype.Shape) int64 {
	n := min(lastExtent(in[0]), lastExtent(out[0]))
	if n == 0 {
		return 0
	}
	rows := min(in[0].Size(), out[0].Size()) / n
	return int64(5 * float64(rows*n) * math.Log2(float64(n)))
}

// inferPairs infers that the last extent of pairs is twice the last extent of single.
func inferPairs(singleName string, single *dtype.Shape, pairsName string,
	pairs *dtype.Shape) error {
	if s := *single; s != nil {
		if len(s) == 0 {
			return op.Errorf(singleName, "shape (), want at least one axis")
		}
		want := s.Clone()
		if last := &want[len(want)-1]; *last > 0 {
			*last *= 2
		}
		if err := op.Require(pairsName, pairs, want); err != nil {
			return err
		}
	}
	s := *pairs
	if s == nil {
		return nil
	}
	if len(s) == 0 {
		return op.Errorf(pairsName, "shape (), want at least one axis")
	}
	want := s.Clone()
	if last := &want[len(want)-1]; *last > 0 {
		if *last%2 != 0 {
			return op.Errorf(pairsName, "last extent %d, want an even number", *last)
		}
		*last /= 2
	}
	return op.Require(singleName, single, want)
}

// lastExtent returns the extent of the last axis, 0 where there is none.
func lastExtent(s dtype.Shape) int {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1]
}

// transform transforms rows of n complex numbers. sign is the sign of the exponent; get reads a row
// of in, put writes one of out.
func transform(in, out op.Tensor, n int, sign float64, get func([]float64, []complex128),
	put func([]complex128, []float64)) {
	if out.Shape.Size() == 0 {
		return
	}
	roots := make([]complex128, n)
	for k := range roots {
		sin, cos := math.Sincos(sign * 2 * math.Pi * float64(k) / float64(n))
		roots[k] = complex(cos, sin)
	}
	x, y := make([]complex128, n), make([]complex128, n)
	from, to := make([]float64, lastExtent(in.Shape)), make([]float64, lastExtent(out.Shape))
	for r := range out.Shape.Size() / len(to) {
		loop.Load(from, in, r*len(from), 1)
		get(from, x)
		mixedRadix(y, x, 1, roots)
		put(y, to)
		loop.Store(out, r*len(to), to)
	}
}

// mixedRadix computes y_k = Σ_j x_(j·step)·w^(jk) for w = roots[step] by the method of Cooley and
// Tukey: len(y) is split by its smallest prime factor.
func mixedRadix(y, x []complex128, step int, roots []complex128) {
	n := len(y)
	if n == 1 {
		y[0] = x[0]
		return
	}
	p := smallestFactor(n)
	m := n / p
	for r := range p {
		mixedRadix(y[r*m:(r+1)*m], x[r*step:], step*p, roots)
	}
	part := make([]complex128, p)
	for k := range m {
		for r := range part {
			part[r] = y[r*m+k] * roots[r*k*step%len(roots)]
		}
		for q := range p {
			var sum complex128
			for r, v := range part {
				sum += v * roots[r*q*m*step%len(roots)]
			}
			y[q*m+k] = sum
		}
	}
}

func smallestFactor(n int) int {
	for p := 2; p*p <= n; p++ {
		if n%p == 0 {
			return p
		}
	}
	return n
}
