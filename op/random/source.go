package random

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/philox"
)

// source is the random words of one element. philox.Uniform gives the first word; further
// ones come from streams of their own.
type source struct {
	seed  op.Seed
	index int
	used  int // words read
	block [4]uint32
}

// word returns the next word.
func (s *source) word() uint32 {
	k := s.used
	s.used++
	if k == 0 {
		return philox.Block(s.seed, 0, uint64(s.index/4))[s.index%4]
	}
	if k--; k%4 == 0 {
		s.block = philox.Block(s.seed, uint32(k/4+1), uint64(s.index))
	}
	return s.block[k%4]
}

// unit returns a number of [0, 1).
func (s *source) unit() float64 { return philox.Unit(s.word()) }

// positive returns a number of (0, 1].
func (s *source) positive() float64 { return 1 - s.unit() }

// normal returns a standard normal number.
func (s *source) normal() float64 {
	x, _ := philox.NormalPair(s.word(), s.word())
	return x
}

// exponential returns a number of rate 1.
func (s *source) exponential() float64 { return -math.Log(s.positive()) }

// gamma returns a number of shape a and scale 1, by the method of Marsaglia and Tsang, "A simple
// method for generating gamma variables" (2000).
// The number is NaN where a is negative or none.
func (s *source) gamma(a float64) float64 {
	switch {
	case !(a >= 0):
		return math.NaN()
	case math.IsInf(a, 1):
		return a
	case a < 1:
		return s.gamma(a+1) * math.Pow(s.positive(), 1/a)
	}
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.normal()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(s.positive()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// poisson returns a number of mean m: by multiplying uniform numbers for small means, else by
// Hörmann's transformed rejection, "The transformed rejection method for generating Poisson
// random variables" (1993), algorithm PTRS.
func (s *source) poisson(m float64) float64 {
	switch {
	case !(m > 0):
		return 0
	case math.IsInf(m, 1):
		return m
	}
	if m < 10 {
		limit, p, k := math.Exp(-m), s.positive(), 0.0
		for ; p > limit; k++ {
			p *= s.positive()
		}
		return k
	}
	logM := math.Log(m)
	b := 0.931 + 2.53*math.Sqrt(m)
	a := -0.059 + 0.02483*b
	invAlpha := 1.1239 + 1.1328/(b-3.4)
	vr := 0.9277 - 3.6224/(b-2)
	for {
		u, v := s.unit()-0.5, s.positive()
		us := 0.5 - math.Abs(u)
		k := math.Floor((2*a/us+b)*u + m + 0.43)
		if us >= 0.07 && v <= vr {
			return k
		}
		if k < 0 || us < 0.013 && v > us {
			continue
		}
		lg, _ := math.Lgamma(k + 1)
		if math.Log(v)+math.Log(invAlpha)-math.Log(a/(us*us)+b) <= -m+k*logM-lg {
			return k
		}
	}
}

// draw fills out with numbers made one by one.
func draw(out op.Tensor, seed op.Seed, f func(s *source) float64) {
	loop.Generate(out, func(i int) float64 { return f(&source{seed: seed, index: i}) })
}

// normals fills out with loc + scale·z for standard normal z.
func normals(out op.Tensor, seed op.Seed, loc, scale float64) {
	var z [loop.Block]float64
	size := out.Shape.Size()
	for i := 0; i < size; i += loop.Block {
		b := z[:min(loop.Block, size-i)]
		philox.Normal(b, op.Seed{Key: seed.Key, Counter: seed.Counter + philox.Blocks(i)}, 0)
		for k, v := range b {
			b[k] = loc + scale*v
		}
		loop.Store(out, i, b)
	}
}

// uniforms fills out with numbers from low up to high, which is left out.
func uniforms(out op.Tensor, seed op.Seed, low, high float64) {
	draw(out, seed, func(s *source) float64 { return scaled(s.unit(), low, high, out.DType) })
}

// scaled maps u of [0, 1) to [low, high); rounding does not reach high.
func scaled(u, low, high float64, t dtype.Type) float64 {
	v := low + (high-low)*u
	if t == dtype.Float32 && float32(v) >= float32(high) && low < high {
		return float64(math.Nextafter32(float32(high), float32(low)))
	}
	return v
}
