package onnx

import (
	"fmt"
	"math"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	sym "gomx/symbol"
)

// signalRows compute spectra.
var signalRows = map[string]row{
	"DFT": {1, dft}, "STFT": {2, stft}, "MelWeightMatrix": {5, melWeights},
}

// transform is a discrete Fourier transform along the axis before the last one.
type transform struct {
	length   int  // number of elements that are read; the signal is cut or zeros follow it
	inverse  bool // divide by length, with the sign of the exponent turned
	onesided bool // keep the frequencies from 0 to length/2
}

// dft transforms along an axis. The last axis has the real and the imaginary part, or the real one
// alone. The axis is an attribute before opset 20, then an input.
func dft(c *call) []*sym.Symbol {
	v := c.in[0]
	a := c.num("axis", 1)
	if c.version >= 20 {
		a = -2
		if list := c.ints(2); len(list) == 1 {
			a = list[0]
		}
	}
	a = c.axis(a, v.rank())
	if c.err != nil {
		return nil
	}
	if v.rank() < 2 || a == v.rank()-1 || v.shape[v.rank()-1] < 1 || v.shape[v.rank()-1] > 2 {
		return c.fail("axis %d of shape %v, want an axis before the last one, which has the real "+
			"and the imaginary part", a, v.shape)
	}
	t := transform{v.shape[a], c.num("inverse", 0) != 0, c.num("onesided", 0) != 0}
	if list := c.ints(1); len(list) == 1 {
		t.length = list[0]
	}
	if c.err != nil {
		return nil
	}
	if t.inverse && t.onesided {
		return c.fail("an inverse and onesided transform, want one of both at most")
	}
	s := c.x(0)
	last := v.rank() - 2
	swap := func(s *sym.Symbol) *sym.Symbol {
		if a == last {
			return s
		}
		return sym.SwapAxis(s, sym.SwapAxisParams{Dim1: a, Dim2: last})
	}
	return out(swap(spectrum(c, swap(s), t)))
}

// spectrum transforms along the axis before the last one by a product with a matrix. It computes in
// float64: sums that cancel out would keep the errors of their terms otherwise.
func spectrum(c *call, s *sym.Symbol, t transform) *sym.Symbol {
	k := c.fact(s)
	if c.err != nil {
		return s
	}
	rank := len(k.shape)
	n, parts := k.shape[rank-2], k.shape[rank-1]
	bins := t.length
	if t.onesided {
		bins = t.length/2 + 1
	}
	if t.length < 1 || t.length > 1<<16 || !c.spend(8*t.length*parts*bins*2) {
		c.fail("a transform of length %d, want one from 1 to %d", t.length, 1<<16)
		return s
	}
	s = cast(c.padAxis(s, padding{"constant", rank - 2, 0, t.length - n, 0}), dtype.Float64)
	rows := k.shape[:rank-2].Size()
	s = c.reshape(s, dtype.Shape{rows, t.length * parts})
	s = sym.Dot(s, c.numbers(dtype.Float64, t.matrix(parts, bins), t.length*parts, bins*2),
		sym.DotParams{})
	shape := append(k.shape[:rank-2].Clone(), bins, 2)
	return cast(c.reshape(s, shape), k.typ)
}

// matrix has a row for each part of each element of the signal and a column for each part of each
// frequency.
func (t transform) matrix(parts, bins int) []float64 {
	n := t.length
	sign, scale := -1.0, 1.0
	if t.inverse {
		sign, scale = 1, 1/float64(n)
	}
	cosine, sine := make([]float64, n), make([]float64, n)
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		cosine[i], sine[i] = scale*cos, scale*sign*sin
	}
	width := bins * 2
	m := make([]float64, n*parts*width)
	for i := range n {
		for k := range bins {
			re, im := cosine[i*k%n], sine[i*k%n]
			at := i*parts*width + 2*k
			m[at], m[at+1] = re, im
			if parts == 2 {
				m[at+width], m[at+width+1] = -im, re
			}
		}
	}
	return m
}

// stft transforms the frames of a signal of shape (n, length) or (n, length, parts).
func stft(c *call) []*sym.Symbol {
	v, step := c.in[0], c.ints(1)
	if c.err != nil {
		return nil
	}
	if v.rank() < 2 || v.rank() > 3 || v.rank() == 3 && v.shape[2] != 1 && v.shape[2] != 2 ||
		len(step) != 1 || step[0] < 1 {
		return c.fail("a signal of shape %v and steps %v, want (n, length, 1 or 2) and one step of "+
			"at least 1", v.shape, step)
	}
	size := v.shape[1]
	if c.has(2) {
		size = c.in[2].size()
	}
	if list := c.ints(3); len(list) == 1 {
		size = list[0]
	}
	if c.err != nil {
		return nil
	}
	if size < 1 || size > v.shape[1] || c.has(2) && c.in[2].size() != size {
		return c.fail("frames of %d elements for a signal of shape %v", size, v.shape)
	}
	frames := 1 + (v.shape[1]-size)/step[0]
	if !c.spend(8 * frames * size) {
		return nil
	}
	list := make([]int, 0, frames*size)
	for f := range frames {
		for i := range size {
			list = append(list, f*step[0]+i)
		}
	}
	parts := 1
	if v.rank() == 3 {
		parts = v.shape[2]
	}
	s := c.reshape(c.x(0), dtype.Shape{v.shape[0], v.shape[1], parts})
	s = sym.Take(s, c.indices(list, frames, size), sym.TakeParams{Axis: 1})
	if c.has(2) {
		s = sym.BroadcastMul(s, c.reshape(cast(c.x(2), v.typ), dtype.Shape{1, 1, size, 1}))
	}
	return out(spectrum(c, s, transform{size, false, c.num("onesided", 1) != 0}))
}

// melWeights makes a constant: triangles over the bins of a spectrum, evenly spaced in mel.
func melWeights(c *call) []*sym.Symbol {
	t, err := file.ElementType(int32(c.num("output_datatype", 1)))
	if err != nil {
		return c.fail("%w", err)
	}
	var args [5]float64
	for i := range args {
		list := c.reals(i)
		if c.err == nil && len(list) != 1 {
			c.fail("input %d has shape %v, want one number", i, c.in[i].shape)
		}
		if c.err != nil {
			return nil
		}
		args[i] = list[0]
	}
	bands, length := int(args[0]), int(args[1])
	if !(args[0] >= 1 && args[0] <= 1<<16 && args[1] >= 1 && args[1] <= 1<<24) ||
		!c.spend(8*bands*(length/2+1)) {
		return c.fail("%g bands of a transform of length %g are out of bounds", args[0], args[1])
	}
	list, err := melMatrix(bands, length, args[2], args[3], args[4])
	if err != nil {
		return c.fail("%w", err)
	}
	return out(sym.Identity(c.numbers(t, list, length/2+1, bands)))
}

// melMatrix has a row for each bin of a transform of a length and a column for each band. Edges are
// frequencies like the rate of samples. A band rises from its left edge to its centre and falls to
// its right edge.
func melMatrix(bands, length int, rate, low, high float64) ([]float64, error) {
	mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
	bins := length/2 + 1
	edges := make([]int, bands+2)
	step := (mel(high) - mel(low)) / float64(len(edges))
	for i := range edges {
		f := 700 * (math.Pow(10, (mel(low)+float64(i)*step)/2595) - 1)
		at := math.Floor(float64(length+1) * f / rate)
		if !(at >= 0 && at < float64(bins)) {
			return nil, fmt.Errorf("frequencies from %g to %g at %g samples per second, want them "+
				"between 0 and half of the rate", low, high, rate)
		}
		edges[i] = int(at)
	}
	m := make([]float64, bins*bands)
	for b := range bands {
		left, centre, right := edges[b], edges[b+1], edges[b+2]
		for i := left; i < centre; i++ {
			m[i*bands+b] = float64(i-left) / float64(centre-left)
		}
		m[centre*bands+b] = 1
		for i := centre + 1; i < right; i++ {
			m[i*bands+b] = float64(right-i) / float64(right-centre)
		}
	}
	return m, nil
}
