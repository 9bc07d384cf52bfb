package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// ScaledAttentionParams configures Attention.
type ScaledAttentionParams struct {
	Heads       int             `op:"heads,required" min:"1" doc:"heads of the queries"`
	KVHeads     int             `op:"kv_heads" min:"0" doc:"heads of keys and values, which divide heads; 0: as many as heads"`
	Scale       op.Opt[float64] `op:"scale" doc:"factor of the scores; None: 1/sqrt(size)"`
	Causal      bool            `op:"causal" doc:"query i reads the keys up to its own position alone"`
	UseLength   bool            `op:"use_length" doc:"the input length has the number of keys that are read of each sequence"`
	UsePosition bool            `op:"use_position" doc:"the input position has the position of the first query of each sequence among the keys, for causal"`
}

var (
	// Attention is scaled dot-product attention of several heads.
	Attention     = op.Declare[ScaledAttentionParams]("Attention")
	attentionGrad = op.Declare[ScaledAttentionParams]("_backward_Attention")
)

const attentionOnce = "second derivatives of attention need the composition of batch_dot and softmax"

func init() {
	Attention.Define(op.Spec[ScaledAttentionParams]{
		Traits: op.Traits{
			Doc: `Attention is scaled dot-product attention: softmax(scale·QKᵀ)·V, head by head.

Query has shape (batch, n, heads·size), key and value (batch, keys, kv_heads·size); the output has
the shape of query. With fewer kv_heads, heads/kv_heads neighbouring heads share keys and values.
Query i reads the first keys: as many as length says, and with causal those up to key position + i.
A query that reads none gives zeros. With keys and values of a fixed capacity, causal and
use_position make the step of decoding: what lies behind position + n is not read. No matrix of all
weights exists: blocks keep a maximum and a sum, as in Dao et al., FlashAttention, 2022. The hidden
second output is the logarithm of the sum of exponents, (batch, heads, n). Length and position have
no gradient; ` + attentionOnce + `. MXNet has no such operator.`,
			Once:      attentionOnce,
			Precision: op.Wide,
			Kind:      op.Product,
		},
		Inputs:    func(p ScaledAttentionParams) []op.Input { return attentionInputs(p) },
		Outputs:   func(ScaledAttentionParams) []string { return []string{"output", "lse"} },
		Visible:   func(ScaledAttentionParams) int { return 1 },
		Check:     checkAttention,
		Infer:     inferAttention,
		InferType: inferAttentionType,
		Grad: func(g *op.Grad, p ScaledAttentionParams) []op.Entry {
			in := append([]op.Entry{g.Head(0), g.Out(0), g.Out(1)}, g.Node.In...)
			return g.Each(attentionGrad.Node(p, in...))
		},
		FLOPs: attentionFLOPs,
		Ref:   attentionRef,
	})
	attentionGrad.Define(op.Spec[ScaledAttentionParams]{
		Traits: op.Traits{Hidden: true, NoGrad: attentionOnce},
		Inputs: func(p ScaledAttentionParams) []op.Input {
			return attentionInputs(p, "out_grad", "output", "lse")
		},
		Outputs: func(ScaledAttentionParams) []string { return []string{"query", "key", "value"} },
		Check:   checkAttention,
		Infer: func(p ScaledAttentionParams, in, out []dtype.Shape) error {
			fin, fout := in[3:], in[1:3]
			if err := op.Same("gradient", &in[0], &fout[0]); err != nil {
				return err
			}
			for i := range out {
				if err := op.Same("gradient", &fin[i], &out[i]); err != nil {
					return err
				}
			}
			if err := inferAttention(p, fin, fout); err != nil {
				return err
			}
			in[0] = fout[0].Clone()
			for i := range out {
				out[i] = fin[i].Clone()
			}
			return nil
		},
		InferType: func(p ScaledAttentionParams, in, out []dtype.Type) error {
			all := append([]dtype.Type{in[0], in[1], in[2]}, out...)
			if err := inferAttentionType(p, in[3:], all); err != nil {
				return err
			}
			copy(in, all[:3])
			copy(out, all[3:])
			return nil
		},
		FLOPs: func(p ScaledAttentionParams, in, _ []dtype.Shape) int64 {
			return 5 * attentionFLOPs(p, in[3:], nil) / 2
		},
		Ref: attentionGradRef,
	})
}

func attentionInputs(p ScaledAttentionParams, first ...string) []op.Input {
	names := append(first, "query", "key", "value")
	if p.UseLength {
		names = append(names, "length")
	}
	if p.UsePosition {
		names = append(names, "position")
	}
	return inputs[ScaledAttentionParams](names...)(p)
}

// kvHeads returns the heads of keys and values.
func (p ScaledAttentionParams) kvHeads() int {
	if p.KVHeads == 0 {
		return p.Heads
	}
	return p.KVHeads
}

func checkAttention(p ScaledAttentionParams) error {
	if p.Heads%p.kvHeads() != 0 {
		return op.Errorf("kv_heads", "%d for %d heads, want a divisor", p.KVHeads, p.Heads)
	}
	if p.UsePosition && !p.Causal {
		return op.Errorf("use_position", "True without causal, which reads the positions")
	}
	return nil
}

func inferAttention(p ScaledAttentionParams, in, out []dtype.Shape) error {
	if err := op.Require("query", &in[0], unknown(3)); err != nil {
		return err
	}
	if err := op.Same("output", &in[0], &out[0]); err != nil {
		return err
	}
	if err := op.Require("key", &in[1], unknown(3)); err != nil {
		return err
	}
	if err := op.Same("value", &in[1], &in[2]); err != nil {
		return err
	}
	if err := op.Require("lse", &out[1], dtype.Shape{-1, p.Heads, -1}); err != nil {
		return err
	}
	for range 2 {
		size, batch := -1, in[0][0]
		for i, heads := range []int{p.Heads, p.kvHeads()} {
			if w := in[i][2]; w >= 0 {
				if w%heads != 0 {
					return op.Errorf([]string{"query", "key"}[i],
						"shape %v, want a last axis of a multiple of %d heads", in[i], heads)
				}
				if size = w / heads; size == 0 {
					return op.Errorf([]string{"query", "key"}[i],
						"shape %v, want heads with elements", in[i])
				}
			}
			if in[i][0] >= 0 {
				batch = in[i][0]
			}
		}
		if out[1][0] >= 0 {
			batch = out[1][0]
		}
		wide := func(heads int) int {
			if size < 0 {
				return -1
			}
			return size * heads
		}
		if err := op.Require("query", &in[0], dtype.Shape{batch, out[1][2],
			wide(p.Heads)}); err != nil {
			return err
		}
		if err := op.Require("key", &in[1], dtype.Shape{batch, -1, wide(p.kvHeads())}); err != nil {
			return err
		}
		if err := op.Require("lse", &out[1], dtype.Shape{batch, p.Heads, in[0][1]}); err != nil {
			return err
		}
		for i := 3; i < len(in); i++ {
			if err := op.Require("length and position", &in[i], dtype.Shape{batch}); err != nil {
				return err
			}
			in[0][0] = in[i][0]
		}
		in[2], out[0] = in[1].Clone(), in[0].Clone()
	}
	return nil
}

func inferAttentionType(p ScaledAttentionParams, in, out []dtype.Type) error {
	for i := 3; i < len(in); i++ {
		if err := integers("length and position", &in[i]); err != nil {
			return err
		}
	}
	return op.FloatType(p, in[:3], out)
}

func attentionFLOPs(p ScaledAttentionParams, in, _ []dtype.Shape) int64 {
	return 4 * int64(in[0].Size()) * int64(in[1][1])
}

// attending goes over the rows of attention, one query of one head each.
type attending struct {
	p                ScaledAttentionParams
	batch, n, keys   int
	size             int
	lengths, offsets []float64 // nil: all keys, and zeros
}

func newAttending(p ScaledAttentionParams, in []op.Tensor) attending {
	q, k := in[0].Shape, in[1].Shape
	a := attending{p: p, batch: q[0], n: q[1], keys: k[1], size: q[2] / p.Heads}
	rest := in[3:]
	if p.UseLength {
		a.lengths, rest = loop.Floats(rest[0]), rest[1:]
	}
	if p.UsePosition {
		a.offsets = loop.Floats(rest[0])
	}
	return a
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

// rows calls f with the places of a query, of its first key, the distance of keys, and its weights.
func (a attending) rows(q, k []float64, f func(row, query, key, step int, w []float64, lse float64)) {
	kv := a.p.kvHeads()
	step := kv * a.size
	for row := range a.batch * a.p.Heads * a.n {
		b, h, i := row/a.n/a.p.Heads, row/a.n%a.p.Heads, row%a.n
		query := ((b*a.n+i)*a.p.Heads + h) * a.size
		key := (b*a.keys*kv + h/(a.p.Heads/kv)) * a.size
		w, most, sum := make([]float64, a.limit(b, i)), math.Inf(-1), 0.0
		for j := range w {
			for e := range a.size {
				w[j] += q[query+e] * k[key+j*step+e]
			}
			w[j] *= a.scale()
			most = max(most, w[j])
		}
		for j, s := range w {
			w[j] = math.Exp(s - most)
			sum += w[j]
		}
		for j := range w {
			w[j] /= sum
		}
		f(row, query, key, step, w, most+math.Log(sum))
	}
}

func attentionRef(p ScaledAttentionParams, c *op.Call) error {
	a := newAttending(p, c.In)
	v, y := loop.Floats(c.In[2]), make([]float64, c.Out[0].Shape.Size())
	lse := make([]float64, c.Out[1].Shape.Size())
	a.rows(loop.Floats(c.In[0]), loop.Floats(c.In[1]), func(row, query, key, step int, w []float64,
		l float64) {
		lse[row] = l
		for j, x := range w {
			for e := range a.size {
				y[query+e] += x * v[key+j*step+e]
			}
		}
	})
	return storeWanted(c, y, lse)
}

func attentionGradRef(p ScaledAttentionParams, c *op.Call) error {
	a := newAttending(p, c.In[3:])
	dy, q, k, v := loop.Floats(c.In[0]), loop.Floats(c.In[3]), loop.Floats(c.In[4]),
		loop.Floats(c.In[5])
	dq, dk, dv := make([]float64, len(q)), make([]float64, len(k)), make([]float64, len(v))
	a.rows(q, k, func(_, query, key, step int, w []float64, _ float64) {
		slope, mean := make([]float64, len(w)), 0.0
		for j, x := range w {
			for e := range a.size {
				at := key + j*step + e
				dv[at] += x * dy[query+e]
				slope[j] += dy[query+e] * v[at]
			}
			mean += x * slope[j]
		}
		for j, x := range w {
			s := x * (slope[j] - mean) * a.scale()
			for e := range a.size {
				at := key + j*step + e
				dq[query+e] += s * k[at]
				dk[at] += s * q[query+e]
			}
		}
	})
	return storeWanted(c, dq, dk, dv)
}
