package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/philox"
)

// attending goes over the rows of attention, one query of one head each.
type attending struct {
	p                ScaledAttentionParams
	batch, n, keys   int
	size             int
	mask             []float64 // added to the scores; nil: nothing
	strides          [4]int    // of the mask by sequence, head, query and key, 0 where it broadcasts
	lengths, offsets []float64 // nil: all keys, and zeros
	seed             op.Opt[op.Seed]
}

// attendedRow is one query of one head. Key j has its numbers from key + j·step on.
type attendedRow struct {
	row, query, key, step int
	mask                  int       // place of the mask for the first key
	w                     []float64 // weights, which sum up to 1 if there are any
	kept                  []float64 // factors of the weights by dropout
	lse                   float64
}

func newAttending(p ScaledAttentionParams, in []op.Tensor, seed op.Opt[op.Seed]) attending {
	q, k := in[0].Shape, in[1].Shape
	a := attending{p: p, batch: q[0], n: q[1], keys: k[1], size: q[2] / p.Heads, seed: seed}
	rest := in[3:]
	if p.UseMask {
		a.strides = maskStrides(rest[0].Shape)
		a.mask = loop.Floats(rest[0])
		if rest[0].DType == dtype.Bool {
			for i, may := range a.mask {
				a.mask[i] = 0
				if may == 0 {
					a.mask[i] = math.Inf(-1)
				}
			}
		}
		rest = rest[1:]
	}
	if p.UseLength {
		a.lengths, rest = loop.Floats(rest[0]), rest[1:]
	}
	if p.UsePosition {
		a.offsets = loop.Floats(rest[0])
	}
	return a
}

// maskStrides returns the distances of a mask's elements by sequence, head, query and key.
func maskStrides(s dtype.Shape) (strides [4]int) {
	step := 1
	for i := range s {
		axis := len(s) - 1 - i
		if s[axis] > 1 {
			strides[3-i] = step
		}
		step *= s[axis]
	}
	return strides
}

// attentionSeed is the place of the random numbers of a call in training.
func attentionSeed(p ScaledAttentionParams, c *op.Call) (s op.Opt[op.Seed]) {
	if c.Train && p.Dropout > 0 {
		return op.Some(c.Seed)
	}
	return s
}

// passedSeed is attentionSeed in the backward operator.
func passedSeed(p ScaledAttentionParams, c *op.Call) (s op.Opt[op.Seed]) {
	if c.Train && p.Dropout > 0 {
		words := op.Slice[int64](c.In[3])
		return op.Some(op.Seed{Key: uint64(words[0]), Counter: uint64(words[1])})
	}
	return s
}

// passSeed writes the place of the random numbers for the backward operator.
func passSeed(c *op.Call, s op.Opt[op.Seed]) {
	if len(c.Out) > 2 && c.Out[2].Data != nil {
		seed, _ := s.Get()
		words := op.Slice[int64](c.Out[2])
		words[0], words[1] = int64(seed.Key), int64(seed.Counter)
	}
}

func (a attending) scale() float64 {
	if s, ok := a.p.Scale.Get(); ok {
		return s
	}
	return 1 / math.Sqrt(float64(a.size))
}

// limit returns the number of keys that query i of sequence b reads.
func (a attending) limit(b, i int) int {
	n := a.keys
	if a.lengths != nil {
		n = min(n, int(a.lengths[b]))
	}
	if a.p.Causal {
		last := i + 1
		if a.offsets != nil {
			last += int(a.offsets[b])
		}
		n = min(n, last)
	}
	return max(n, 0)
}

// kept returns the factors of the first n weights of a row. The weights are numbered row by row:
// number i is kept as word i%4 of block i/4 says.
func (a attending) kept(row, n int) []float64 {
	f := make([]float64, n)
	seed, drops := a.seed.Get()
	keep := 1 - a.p.Dropout
	var words [4]uint32
	for j := range f {
		f[j] = 1
		if !drops {
			continue
		}
		i := row*a.keys + j
		if j == 0 || i%4 == 0 {
			words = philox.Block(seed, 0, uint64(i/4))
		}
		if f[j] = 0; philox.Unit(words[i%4]) < keep {
			f[j] = 1 / keep
		}
	}
	return f
}

// rows calls f for each query of each head.
func (a attending) rows(q, k []float64, f func(r attendedRow)) {
	kv := a.p.kvHeads()
	for row := range a.batch * a.p.Heads * a.n {
		b, h, i := row/a.n/a.p.Heads, row/a.n%a.p.Heads, row%a.n
		r := attendedRow{row: row, query: ((b*a.n+i)*a.p.Heads + h) * a.size, step: kv * a.size,
			key:  (b*a.keys*kv + h/(a.p.Heads/kv)) * a.size,
			mask: b*a.strides[0] + h*a.strides[1] + i*a.strides[2]}
		w, most, sum := make([]float64, a.limit(b, i)), math.Inf(-1), 0.0
		for j := range w {
			for e := range a.size {
				w[j] += q[r.query+e] * k[r.key+j*r.step+e]
			}
			w[j] *= a.scale()
			if a.mask != nil {
				w[j] += a.mask[r.mask+j*a.strides[3]]
			}
			most = max(most, w[j])
		}
		r.lse, r.w = math.Inf(-1), w[:0]
		if !math.IsInf(most, -1) {
			for j, s := range w {
				w[j] = math.Exp(s - most)
				sum += w[j]
			}
			for j := range w {
				w[j] /= sum
			}
			r.lse, r.w = most+math.Log(sum), w
		}
		r.kept = a.kept(row, len(r.w))
		f(r)
	}
}

func attentionRef(p ScaledAttentionParams, c *op.Call) error {
	seed := attentionSeed(p, c)
	a := newAttending(p, c.In, seed)
	v, y := loop.Floats(c.In[2]), make([]float64, c.Out[0].Shape.Size())
	lse := make([]float64, c.Out[1].Shape.Size())
	a.rows(loop.Floats(c.In[0]), loop.Floats(c.In[1]), func(r attendedRow) {
		lse[r.row] = r.lse
		for j, x := range r.w {
			for e := range a.size {
				y[r.query+e] += x * r.kept[j] * v[r.key+j*r.step+e]
			}
		}
	})
	passSeed(c, seed)
	for i, values := range [][]float64{y, lse} {
		if c.Out[i].Data != nil {
			loop.Store(c.Out[i], 0, values)
		}
	}
	return nil
}

func attentionGradRef(p ScaledAttentionParams, c *op.Call) error {
	in := c.In[p.first():]
	a := newAttending(p, in, passedSeed(p, c))
	dy, q, k, v := loop.Floats(c.In[0]), loop.Floats(in[0]), loop.Floats(in[1]), loop.Floats(in[2])
	dq, dk, dv := make([]float64, len(q)), make([]float64, len(k)), make([]float64, len(v))
	dmask := make([]float64, len(a.mask))
	a.rows(q, k, func(r attendedRow) {
		slope, mean := make([]float64, len(r.w)), 0.0
		for j, x := range r.w {
			for e := range a.size {
				at := r.key + j*r.step + e
				dv[at] += x * r.kept[j] * dy[r.query+e]
				slope[j] += r.kept[j] * dy[r.query+e] * v[at]
			}
			mean += x * slope[j]
		}
		for j, x := range r.w {
			s := x * (slope[j] - mean)
			if a.mask != nil {
				dmask[r.mask+j*a.strides[3]] += s
			}
			s *= a.scale()
			for e := range a.size {
				at := r.key + j*r.step + e
				dq[r.query+e] += s * k[at]
				dk[at] += s * q[r.query+e]
			}
		}
	})
	if p.UseMask && in[3].DType == dtype.Bool {
		clear(dmask)
	}
	return storeWanted(c, dq, dk, dv, dmask)
}
