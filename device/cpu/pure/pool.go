package pure

import "math"

// PoolSpec describes pooling of planes with one to three spatial axes by maximum or, with Avg, by
// average or, with Sum, by sum.
type PoolSpec struct {
	Avg, Sum                     bool
	Planes                       int // batch times channels
	In, Out, Kernel, Stride, Pad []int
	IncludePad                   bool // padding counts in the divisor of averages
	Threads                      int
}

// Pool is a prepared pooling.
type Pool struct {
	s                            PoolSpec
	in, out, kernel, stride, pad [3]int
}

// NewPool prepares a pooling.
func NewPool(s PoolSpec) *Pool {
	return &Pool{s, lead(s.In, 1), lead(s.Out, 1), lead(s.Kernel, 1), lead(s.Stride, 1),
		lead(s.Pad, 0)}
}

// window is the window of one output: elements lo to hi, exclusive, along each axis, and the factor
// of the sum over them.
type window struct {
	lo, hi [3]int
	scale  float32
}

// at returns the window of output o of a plane.
func (k *Pool) at(o int) window {
	w := window{scale: 1}
	pos := [3]int{o / k.out[2] / k.out[1], o / k.out[2] % k.out[1], o % k.out[2]}
	count := 1
	for a, p := range pos {
		lo := p*k.stride[a] - k.pad[a]
		hi := min(lo+k.kernel[a], k.in[a]+k.pad[a])
		w.lo[a], w.hi[a] = max(lo, 0), min(hi, k.in[a])
		if !k.s.IncludePad {
			lo, hi = w.lo[a], w.hi[a]
		}
		count *= max(hi-lo, 0)
	}
	if k.s.Avg {
		w.scale = 0
		if count > 0 {
			w.scale = 1 / float32(count)
		}
	}
	return w
}

// rows calls f for the rows of a window: elements begin to end, exclusive, of a plane.
func (k *Pool) rows(w window, f func(begin, end int)) {
	for d := w.lo[0]; d < w.hi[0]; d++ {
		for h := w.lo[1]; h < w.hi[1]; h++ {
			base := (d*k.in[1] + h) * k.in[2]
			if w.lo[2] < w.hi[2] {
				f(base+w.lo[2], base+w.hi[2])
			}
		}
	}
}

// largest returns the index of the first largest element of a window, -1 if there is none; NaN does
// not count.
func (k *Pool) largest(w window, x []float32) int {
	best := -1
	k.rows(w, func(begin, end int) {
		for i := begin; i < end; i++ {
			if best < 0 && x[i] == x[i] || best >= 0 && x[i] > x[best] {
				best = i
			}
		}
	})
	return best
}

// Run pools x to y.
func (k *Pool) Run(y, x []float32) {
	vi, vo := volume(k.in), volume(k.out)
	Parallel(k.s.Threads, k.s.Planes, func(_, begin, end int) {
		for c := begin; c < end; c++ {
			plane, out := x[c*vi:(c+1)*vi], y[c*vo:(c+1)*vo]
			for o := range out {
				out[o] = k.join(k.at(o), plane)
			}
		}
	})
}

func (k *Pool) join(w window, x []float32) float32 {
	if !k.s.Avg && !k.s.Sum {
		if i := k.largest(w, x); i >= 0 {
			return x[i]
		}
		return -math.MaxFloat32
	}
	sum := float32(0)
	k.rows(w, func(begin, end int) {
		for _, v := range x[begin:end] {
			sum += v
		}
	})
	return sum * w.scale
}

// RunGrad writes the gradient of x to dx. Only maximum pooling reads x.
func (k *Pool) RunGrad(dx, dy, x []float32) {
	vi, vo := volume(k.in), volume(k.out)
	Parallel(k.s.Threads, k.s.Planes, func(_, begin, end int) {
		for c := begin; c < end; c++ {
			dplane := dx[c*vi : (c+1)*vi]
			clear(dplane)
			for o, g := range dy[c*vo : (c+1)*vo] {
				w := k.at(o)
				if !k.s.Avg && !k.s.Sum {
					if i := k.largest(w, x[c*vi:(c+1)*vi]); i >= 0 {
						dplane[i] += g
					}
					continue
				}
				k.rows(w, func(begin, end int) {
					for i := begin; i < end; i++ {
						dplane[i] += g * w.scale
					}
				})
			}
		}
	})
}
