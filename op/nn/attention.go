package nn

import (
	"gomx/dtype"
	"gomx/op"
)

// ScaledAttentionParams configures Attention.
type ScaledAttentionParams struct {
	Heads       int             `op:"heads,required" min:"1" doc:"heads of the queries"`
	KVHeads     int             `op:"kv_heads" min:"0" doc:"heads of keys and values, which divide heads; 0: as many as heads"`
	Scale       op.Opt[float64] `op:"scale" doc:"factor of the scores; None: 1/sqrt(size)"`
	Causal      bool            `op:"causal" doc:"query i reads the keys up to its own position alone"`
	UseLength   bool            `op:"use_length" doc:"the input length has the number of keys that are read of each sequence"`
	UsePosition bool            `op:"use_position" doc:"the input position has the position of the first query of each sequence among the keys, for causal"`
	UseMask     bool            `op:"use_mask" doc:"the input mask is added to the scores"`
	Dropout     float64         `op:"dropout" min:"0" max:"1" doc:"share of the weights that is dropped in training"`
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

Query has shape (batch, n, heads·size), key and value (batch, keys, kv_heads·size); the output
has the shape of query. With fewer kv_heads, heads/kv_heads neighbouring heads share keys and
values. Query i reads the first keys: as many as length says, and with causal those up to key
position + i. Mask broadcasts to (batch, heads, n, keys) and is added to the scaled scores; of
booleans, a key is read where the mask is true. A query that reads none gives zeros. In training,
each weight is dropped with probability dropout, and the others are divided by 1 - dropout. With
keys and values of a fixed capacity, causal and use_position make the step of decoding: what lies
behind position + n is not read, and CacheWrite fills it. No matrix of all weights exists: blocks
keep a maximum and a sum, as in Dao et al., FlashAttention, 2022. The hidden second output is the
logarithm of the sum of exponents, (batch, heads, n); with dropout, a third one has the
place of the random numbers, which the gradient draws again: those of Dropout on the weights as an
array (batch, heads, n, keys). Length and position have no gradient;
` + attentionOnce + `. MXNet has no such operator.`,
			Random:    true,
			Once:      attentionOnce,
			Precision: op.Inner,
			Kind:      op.Product,
		},
		Inputs:    func(p ScaledAttentionParams) []op.Input { return attentionInputs(p) },
		Outputs:   attentionOutputs,
		Visible:   func(ScaledAttentionParams) int { return 1 },
		Draws:     func(p ScaledAttentionParams) bool { return p.Dropout > 0 },
		Check:     checkAttention,
		Infer:     inferAttention,
		InferType: inferAttentionType,
		Grad: func(g *op.Grad, p ScaledAttentionParams) []op.Entry {
			in := []op.Entry{g.Head(0)}
			for i := range attentionOutputs(p) {
				in = append(in, g.Out(i))
			}
			in = append(in, g.Node.In...)
			return g.Each(attentionGrad.Node(p, in...))
		},
		Numbers: func(p ScaledAttentionParams, in []dtype.Shape) int {
			if p.Dropout == 0 {
				return 0
			}
			return in[0][0] * p.Heads * in[0][1] * in[1][1]
		},
		FLOPs: attentionFLOPs,
		Ref:   attentionRef,
	})
	attentionGrad.Define(op.Spec[ScaledAttentionParams]{
		Traits: op.Traits{Hidden: true, NoGrad: attentionOnce},
		Inputs: func(p ScaledAttentionParams) []op.Input {
			return attentionInputs(p, append([]string{"out_grad"}, attentionOutputs(p)...)...)
		},
		Outputs: func(p ScaledAttentionParams) []string {
			return []string{"query", "key", "value", "mask"}[:3+p.masks()]
		},
		Check:     checkAttention,
		Infer:     inferAttentionGrad,
		InferType: inferAttentionGradType,
		FLOPs: func(p ScaledAttentionParams, in, _ []dtype.Shape) int64 {
			return 5 * attentionFLOPs(p, in[p.first():], nil) / 2
		},
		Ref: attentionGradRef,
	})
}

// first is the number of inputs of the backward operator before those of the forward one.
func (p ScaledAttentionParams) first() int { return 1 + len(attentionOutputs(p)) }

// masks is the number of inputs that are masks.
func (p ScaledAttentionParams) masks() int {
	if p.UseMask {
		return 1
	}
	return 0
}

// DropsWeights reports whether n is an Attention, or the gradient of one, that drops weights in
// training.
func DropsWeights(n *op.Node) bool {
	p, ok := n.Params.(ScaledAttentionParams)
	return ok && p.Dropout > 0
}

func attentionOutputs(p ScaledAttentionParams) []string {
	if p.Dropout > 0 {
		return []string{"output", "lse", "seed"}
	}
	return []string{"output", "lse"}
}

func attentionInputs(p ScaledAttentionParams, first ...string) []op.Input {
	names := append(first, "query", "key", "value")
	if p.UseMask {
		names = append(names, "mask")
	}
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
		for i := 3 + p.masks(); i < len(in); i++ {
			if err := op.Require("length and position", &in[i], dtype.Shape{batch}); err != nil {
				return err
			}
			in[0][0] = in[i][0]
		}
		in[2], out[0] = in[1].Clone(), in[0].Clone()
	}
	if len(out) > 2 {
		if err := op.Require("seed", &out[2], dtype.Shape{2}); err != nil {
			return err
		}
	}
	return checkMask(p, in)
}

// checkMask reports a mask that does not broadcast to the scores.
func checkMask(p ScaledAttentionParams, in []dtype.Shape) error {
	if !p.UseMask || in[3] == nil {
		return nil
	}
	mask, want := in[3], dtype.Shape{in[0][0], p.Heads, in[0][1], in[1][1]}
	fits := len(mask) > 0 && len(mask) <= len(want)
	for i := 0; fits && i < len(mask); i++ {
		m, w := mask[i], want[len(want)-len(mask)+i]
		fits = m == 1 || m == w || m < 0 || w < 0
	}
	if !fits {
		return op.Errorf("mask", "shape %v, want one that broadcasts to (batch, heads, n, keys) = %v",
			mask, want)
	}
	return nil
}

// inferAttentionGrad infers the shapes of the backward operator from those of the forward one.
func inferAttentionGrad(p ScaledAttentionParams, in, out []dtype.Shape) error {
	fin, fout := in[p.first():], in[1:p.first()]
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
}

func inferAttentionType(p ScaledAttentionParams, in, out []dtype.Type) error {
	for i := 3 + p.masks(); i < len(in); i++ {
		if err := integers("length and position", &in[i]); err != nil {
			return err
		}
	}
	if err := op.FloatType(p, in[:3], out[:1]); err != nil {
		return err
	}
	sums := in[0]
	if sums == dtype.Float16 || sums == dtype.BFloat16 {
		sums = dtype.Float32
	}
	if err := sameType("lse", &out[1], sums); err != nil {
		return err
	}
	if len(out) > 2 {
		if err := sameType("seed", &out[2], dtype.Int64); err != nil {
			return err
		}
	}
	if p.UseMask && in[3] != dtype.Bool && in[3] != dtype.Unknown {
		return sameType("mask", &in[3], in[0])
	}
	return nil
}

// sameType gives an operand its type, unless that is unknown.
func sameType(arg string, t *dtype.Type, want dtype.Type) error {
	if *t != dtype.Unknown && want != dtype.Unknown && *t != want {
		return op.Errorf(arg, "element type %v, want %v", *t, want)
	}
	if want != dtype.Unknown {
		*t = want
	}
	return nil
}

// inferAttentionGradType infers the types of the backward operator from those of the forward one.
func inferAttentionGradType(p ScaledAttentionParams, in, out []dtype.Type) error {
	fin, fout := in[p.first():], in[1:p.first()]
	for i := range out[3:] {
		if err := op.SameType(p, fin[3+i:4+i], out[3+i:4+i]); err != nil {
			return err
		}
	}
	both := append([]dtype.Type{fout[0], in[0]}, out[:3]...)
	if err := op.FloatType(p, fin[:3], both); err != nil {
		return err
	}
	fout[0], in[0] = both[0], both[1]
	copy(out, both[2:])
	if err := inferAttentionType(p, fin, fout); err != nil {
		return err
	}
	copy(out[3:], fin[3:3+p.masks()])
	return nil
}

func attentionFLOPs(p ScaledAttentionParams, in, _ []dtype.Shape) int64 {
	return 4 * int64(in[0].Size()) * int64(in[1][1])
}
