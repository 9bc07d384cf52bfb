package main

import (
	"math/rand/v2"

	nd "gomx/ndarray"
)

// writer writes lines with the digits of a set.
type writer struct {
	r      *rand.Rand
	pixels []float32 // of all digits, 8×8 each
	labels []float32
}

func newWriter(set []*nd.Array, seed uint64) (w *writer, err error) {
	w = &writer{r: rand.New(rand.NewPCG(seed, 0))}
	if w.pixels, err = set[0].Float32s(); err != nil {
		return nil, err
	}
	w.labels, err = set[1].Float32s()
	return w, err
}

// write returns n lines, and the digits of each, filled up with -1.
func (w *writer) write(n int) (lines, digits *nd.Array) {
	x, y := make([]float32, n*height*width), make([]float32, n*longest)
	for i := range n {
		left := w.r.IntN(6)
		count := 3 + w.r.IntN(longest-2)
		for k := range longest {
			y[i*longest+k] = -1
			if k >= count {
				continue
			}
			d, top := w.r.IntN(len(w.labels)), w.r.IntN(height-7)
			y[i*longest+k] = w.labels[d]
			for q, v := range w.pixels[64*d : 64*d+64] {
				x[(i*height+top+q/8)*width+left+q%8] += v
			}
			left += 8 + w.r.IntN(3) // between 8 and 10 columns
		}
	}
	return nd.FromSlice(x, n, 1, height, width), nd.FromSlice(y, n, longest)
}
