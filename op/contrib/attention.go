package contrib

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// AttentionParams configures the attention operators.
type AttentionParams struct {
	Heads int `op:"heads,required" min:"1" doc:"number of attention heads"`
}

// The attention operators and their gradients. The gradients are hidden operators with MXNet's
// names.
var (
	SelfAttQK         = op.Declare[AttentionParams]("_contrib_interleaved_matmul_selfatt_qk")
	SelfAttValAtt     = op.Declare[AttentionParams]("_contrib_interleaved_matmul_selfatt_valatt")
	EncDecQK          = op.Declare[AttentionParams]("_contrib_interleaved_matmul_encdec_qk")
	EncDecValAtt      = op.Declare[AttentionParams]("_contrib_interleaved_matmul_encdec_valatt")
	selfAttQKGrad     = op.Declare[AttentionParams]("_backward_interleaved_matmul_selfatt_qk")
	selfAttValAttGrad = op.Declare[AttentionParams]("_backward_interleaved_matmul_selfatt_valatt")
	encDecQKGrad      = op.Declare[AttentionParams]("_backward_interleaved_matmul_encdec_qk")
	encDecValAttGrad  = op.Declare[AttentionParams]("_backward_interleaved_matmul_encdec_valatt")
)

// The numbers of which the extents of operands are multiples.
const (
	queries = iota // steps of queries
	keys           // steps of keys and values
	batches
	size // elements of one head's vectors
	numExtents
)

// operand is the layout of an operand of an attention operator.
type operand struct {
	name string
	axes [3]axis
}

// axis is an extent: a multiple of one of the numbers above and, if perHead is set, of the number
// of heads.
type axis struct {
	of, times int
	perHead   bool
}

// projection returns an operand of interleaved heads.
func projection(name string, steps, parts int) operand {
	return operand{name, [3]axis{{steps, 1, false}, {batches, 1, false}, {size, parts, true}}}
}

// attention holds the operands of an attention operator, and its kernel.
type attention struct {
	in   []operand
	out  operand
	run  func(r *run) error // computes out from in
	back func(r *run) error // computes the gradients of in from the gradient of out, and in
}

// attentions maps the names of operators to their definitions; init fills it.
var attentions = map[string]attention{}

var (
	selfScores = operand{"attention", [3]axis{{batches, 1, true}, {queries, 1, false},
		{queries, 1, false}}}
	scores = operand{"attention", [3]axis{{batches, 1, true}, {queries, 1, false},
		{keys, 1, false}}}
)

func init() {
	attend(SelfAttQK, selfAttQKGrad, attention{in: []operand{projection("queries_keys_values",
		queries, 3)}, out: selfScores,
		run:  func(r *run) error { return r.scores(part{0, 0, 3}, part{0, 1, 3}) },
		back: func(r *run) error { return r.scoresGrad(part{0, 0, 3}, part{0, 1, 3}) }},
		`ContribInterleavedMatmulSelfattQk multiplies the queries of self-attention with its keys.

The input holds queries, keys and values interleaved in (steps, batch, heads·3·size). The output
holds scores (batch·heads, steps, steps), scaled by 1/√size.`)
	attend(SelfAttValAtt, selfAttValAttGrad,
		attention{in: []operand{projection("queries_keys_values", queries, 3), selfScores},
			out:  projection("output", queries, 1),
			run:  func(r *run) error { return r.values(part{0, 2, 3}) },
			back: func(r *run) error { return r.valuesGrad(part{0, 2, 3}) }},
		`ContribInterleavedMatmulSelfattValatt multiplies the weights of self-attention with its values.

The inputs are queries, keys and values interleaved in (steps, batch, heads·3·size) and weights
(batch·heads, steps, steps). The output has shape (steps, batch, heads·size).`)
	attend(EncDecQK, encDecQKGrad, attention{in: []operand{projection("queries", queries, 1),
		projection("keys_values", keys, 2)}, out: scores,
		run:  func(r *run) error { return r.scores(part{0, 0, 1}, part{1, 0, 2}) },
		back: func(r *run) error { return r.scoresGrad(part{0, 0, 1}, part{1, 0, 2}) }},
		`ContribInterleavedMatmulEncdecQk multiplies the queries of a decoder with the keys of an encoder.

The inputs are queries (steps, batch, heads·size) and keys and values interleaved in
(keys, batch, heads·2·size). The output holds scores (batch·heads, steps, keys), scaled by 1/√size.`)
	attend(EncDecValAtt, encDecValAttGrad,
		attention{in: []operand{projection("keys_values", keys, 2), scores},
			out:  projection("output", queries, 1),
			run:  func(r *run) error { return r.values(part{0, 1, 2}) },
			back: func(r *run) error { return r.valuesGrad(part{0, 1, 2}) }},
		`ContribInterleavedMatmulEncdecValatt multiplies weights with the values of an encoder.

The inputs are keys and values interleaved in (keys, batch, heads·2·size) and weights
(batch·heads, steps, keys). The output has shape (steps, batch, heads·size).`)
}

// attend defines an attention operator and its gradient, whose inputs are the gradient of the
// output and the inputs.
func attend(h, grad op.Handle[AttentionParams], a attention, doc string) {
	in := make([]op.Input, len(a.in))
	names := make([]string, len(a.in))
	for i, o := range a.in {
		in[i].Name, names[i] = o.name, o.name
	}
	h.Define(op.Spec[AttentionParams]{
		Traits: op.Traits{Doc: doc, Precision: op.Narrow, Kind: op.Product},
		Inputs: func(AttentionParams) []op.Input { return in },
		Infer: func(p AttentionParams, in, out []dtype.Shape) error {
			return a.infer(p, in, out)
		},
		InferType: op.FloatType[AttentionParams],
		Grad: func(g *op.Grad, p AttentionParams) []op.Entry {
			return g.Each(grad.Node(p, append([]op.Entry{g.Head(0)}, g.Node.In...)...))
		},
		FLOPs: a.flops,
		Ref:   func(p AttentionParams, c *op.Call) error { return a.run(plainRun(p, c.In, c.Out)) },
	})
	grad.Define(op.Spec[AttentionParams]{
		Traits: op.Traits{Hidden: true},
		Inputs: func(AttentionParams) []op.Input {
			return append([]op.Input{{Name: "grad"}}, in...)
		},
		Outputs: func(AttentionParams) []string { return names },
		Infer: func(p AttentionParams, in, out []dtype.Shape) error {
			return a.inferGrad(p, in, out)
		},
		InferType: op.FloatType[AttentionParams],
		Grad: func(g *op.Grad, p AttentionParams) []op.Entry {
			return attentionSecond(g, p, h, grad)
		},
		FLOPs: func(p AttentionParams, in, _ []dtype.Shape) int64 {
			return 2 * a.flops(p, in[1:], in[:1])
		},
		Ref: func(p AttentionParams, c *op.Call) error {
			return a.back(plainRun(p, c.In, c.Out))
		},
	})
	attentions[h.Name] = a
}

// flops returns the operations of the products of queries and keys, or of weights and values.
func (a *attention) flops(p AttentionParams, in, out []dtype.Shape) int64 {
	extents := [numExtents]int{-1, -1, -1, -1}
	for i, o := range append(slices.Clone(a.in), a.out) {
		s := append(slices.Clone(in), out...)[i]
		if o.fit(p, &s, &extents) != nil {
			return 0
		}
	}
	if extents[keys] == -1 { // self-attention has as many keys as queries
		extents[keys] = extents[queries]
	}
	n := int64(2 * p.Heads)
	for _, e := range extents {
		n *= int64(e)
	}
	return n
}

// attentionSecond is the gradient of a backward operator. It uses that an operator is linear in
// each of two inputs, or quadratic in its only input.
func attentionSecond(g *op.Grad, p AttentionParams, f, back op.Handle[AttentionParams]) []op.Entry {
	if len(g.Node.In) == 3 {
		return prim.Bilinear(g, func(a, b op.Entry) op.Entry { return f.Apply(p, a, b) },
			func(dy, a, b op.Entry) *op.Node { return back.Node(p, dy, a, b) })
	}
	none := op.NoParams{}
	x, h := g.In(1), g.Head(0)
	both := f.Apply(p, prim.ElemwiseAdd.Apply(none, x, h)) // f(x+h) - f(x) - f(h) is linear in both
	mixed := prim.ElemwiseSub.Apply(none, prim.ElemwiseSub.Apply(none, both, f.Apply(p, x)),
		f.Apply(p, h))
	return []op.Entry{mixed, back.Apply(p, g.In(0), h)}
}

// infer merges the shapes of inputs and outputs.
func (a *attention) infer(p AttentionParams, in, out []dtype.Shape) error {
	extents := [numExtents]int{-1, -1, -1, -1}
	for range 2 { // the second round infers the first operands from the last
		for i, o := range a.in {
			if err := o.fit(p, &in[i], &extents); err != nil {
				return err
			}
		}
		if err := a.out.fit(p, &out[0], &extents); err != nil {
			return err
		}
	}
	return nil
}

func (a *attention) inferGrad(p AttentionParams, in, out []dtype.Shape) error {
	fin, fout := slices.Clone(in[1:]), slices.Clone(in[:1])
	for i := range fin {
		if err := op.Require("gradient", &fin[i], out[i]); err != nil {
			return err
		}
	}
	if err := a.infer(p, fin, fout); err != nil {
		return err
	}
	in[0] = fout[0]
	for i := range fin {
		in[1+i], out[i] = fin[i], fin[i].Clone()
	}
	return nil
}

// fit merges the shape of an operand with the known extents.
func (o operand) fit(p AttentionParams, s *dtype.Shape, extents *[numExtents]int) error {
	want, times := dtype.Shape{-1, -1, -1}, [3]int{}
	for i, a := range o.axes {
		if times[i] = a.times; a.perHead {
			times[i] *= p.Heads
		}
		if e := extents[a.of]; e != -1 {
			want[i] = e * times[i]
		}
	}
	if err := op.Require(o.name, s, want); err != nil {
		return err
	}
	for i, a := range o.axes {
		if d := (*s)[i]; d != -1 {
			if d%times[i] != 0 {
				return op.Errorf(o.name, "extent %d of axis %d for %d heads, want a multiple of %d",
					d, i, p.Heads, times[i])
			}
			extents[a.of] = d / times[i]
		}
	}
	return nil
}
