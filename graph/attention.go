package graph

import (
	"math"
	"slices"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/contrib"
	"gomx/op/nn"
	"gomx/op/prim"
)

// FuseAttention makes one Attention of the product of queries and keys, a softmax over the keys, and
// the product of its weights and values: of batch_dot, and of MXNet's operators of interleaved
// heads. Between them it understands scales, additive masks, dropout, lengths, choices between scores
// and a low number, masks of zeros and ones that choose scores and that the weights are multiplied
// by, and zeros in the place of weights that are no numbers. Of products in 16 bits, scores, masks and
// weights may be float32.
func FuseAttention(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	reads := readsOf(outs)
	return rewrite(outs, f, func(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
		a := &attention{rewriter: r, n: n, scale: 1, reads: reads}
		if !a.weighs(in) || !a.above(in[a.weightsAt()], 1) || !a.shaped() {
			return op.Entry{}
		}
		return a.fused(in)
	})
}

// readsOf counts the readers of the values of each entry; being an output counts as one. Readers of
// the shape alone, which CutShapes takes care of, do not count.
func readsOf(outs []op.Entry) map[op.Entry]int {
	reads := map[op.Entry]int{}
	for _, n := range op.Topo(outs) {
		for k, e := range n.In {
			if !ignores(n, k) {
				reads[e]++
			}
		}
	}
	for _, e := range outs {
		reads[e]++
	}
	return reads
}

// attention is what FuseAttention has found below one node, the product with the values. Entries
// without a remark are entries of the graph that rewrite makes.
type attention struct {
	*rewriter
	n     *op.Node         // the product with the values
	typ   dtype.Type       // of all its values, one of attentionTypes
	reads map[op.Entry]int // by entry of the graph before the pass

	masks  []attentionMask // additive
	after  attentionMask   // zeros and ones that the weights are multiplied by
	chosen dtype.Shape     // in which after lowers the scores where it is zero; nil: it does not
	length op.Entry        // of the softmax, by row of weights
	drop   *op.Node        // nil: no dropout
	scale  float64
	dot    *op.Node // the product of queries and keys

	rows, keys   int // extents of the last two axes of the scores
	batch, heads int // their product is the size of the other axes of the scores
}

// attentionMask is an array that meets the scores in a shape.
type attentionMask struct {
	of    op.Entry
	shape dtype.Shape
}

// attentionTypes lists the types in which a kind of device is fast in Attention.
var attentionTypes = map[device.Kind][]dtype.Type{
	device.KindCPU:  {dtype.Float32, dtype.BFloat16},
	device.KindCUDA: {dtype.Float32, dtype.BFloat16, dtype.Float16},
}

// weighs reports whether the node is a product of weights and values.
func (a *attention) weighs(in []op.Entry) bool {
	a.typ = a.facts.Types[a.n.Entry(0)]
	if len(a.n.After) > 0 || !slices.Contains(attentionTypes[a.facts.kind(a.n)], a.typ) {
		return false
	}
	switch a.n.Op {
	case prim.BatchDot.Op:
		return !a.n.Params.(prim.DotParams).TransposeA
	case contrib.SelfAttValAtt.Op, contrib.EncDecValAtt.Op:
		return true
	}
	return false
}

// weightsAt is the number of the input that has the weights.
func (a *attention) weightsAt() int {
	if a.n.Op == prim.BatchDot.Op {
		return 0
	}
	return 1
}

// inner returns the node that computes e if this match may take it: only the match reads it.
func (a *attention) inner(e op.Entry) *op.Node { return a.readBy(e, 1) }

// readBy is inner for a value that the match itself reads several times.
func (a *attention) readBy(e op.Entry, readers int) *op.Node {
	m := e.Node
	old, ok := a.was[e]
	if !ok || m.IsVar() || e.Index != 0 || a.reads[old] != readers || a.wanted(old.Node) ||
		!together(a.n, m) || len(m.In) == 0 || !a.facts.Known(e) || !a.computes(e) {
		return nil
	}
	return m
}

// computes reports whether e has the type of the match, or is float32: the kernel keeps scores and
// weights in float32 for operands of both types.
func (a *attention) computes(e op.Entry) bool {
	t := a.facts.Types[e]
	return t == a.typ || t == dtype.Float32
}

// passes reports whether m, inside a match, gives the numbers of its first input another shape, or
// converts them between the types of the match.
func (a *attention) passes(m *op.Node) bool {
	return m.Op.Reshapes || prim.IsCast(m.Op) && a.computes(m.In[0])
}

// above goes from the weights, which the match reads a number of times, down to the softmax, and on.
func (a *attention) above(e op.Entry, readers int) bool {
	m := a.readBy(e, readers)
	if m == nil {
		return false
	}
	switch p := m.Params.(type) {
	case nn.DropoutParams:
		if m.Op != nn.Dropout.Op || a.drop != nil || p.Mode != "training" || len(p.Axes) > 0 {
			return false
		}
		a.drop = m
		return a.above(m.In[0], 1)
	case prim.SoftmaxParams:
		return m.Op == prim.Softmax.Op && a.softmax(m, p, e)
	}
	if m.Op == prim.ElemwiseMul.Op || m.Op == prim.BroadcastMul.Op {
		for i, mask := range m.In {
			if !a.after.of.Valid() && a.fills(m.In[1-i], e) && a.binary(mask) {
				a.after = attentionMask{bare(mask), a.facts.Shapes[e]}
				return a.above(m.In[1-i], 1)
			}
		}
		return false
	}
	if a.guards(m) {
		return a.above(m.In[2], 3)
	}
	return a.passes(m) && a.above(m.In[0], 1)
}

// guards reports whether m replaces weights that are not numbers by zeros. Queries that read no key
// have such weights, and Attention gives zeros for these queries.
func (a *attention) guards(m *op.Node) bool {
	if m.Op != prim.Where.Op {
		return false
	}
	test := bare(m.In[0]).Node
	v, ok := a.number(m.In[1])
	return ok && v == 0 && !test.IsVar() && test.Op == prim.NotEqual.Op &&
		test.In[0] == m.In[2] && test.In[1] == m.In[2]
}

// fills reports whether an operand has the shape of the result, so that it is not repeated.
func (a *attention) fills(operand, result op.Entry) bool {
	return a.facts.Known(operand) && a.facts.Shapes[operand].Equal(a.facts.Shapes[result])
}

func (a *attention) softmax(m *op.Node, p prim.SoftmaxParams, e op.Entry) bool {
	t, set := p.Temperature.Get()
	rank := len(a.facts.Shapes[e])
	if axis := p.Axis.Value(); set && t != 1 || axis != -1 && axis != rank-1 || rank < 3 {
		return false
	}
	if p.UseLength {
		a.length = m.In[1]
	}
	return a.below(m.In[0], 1)
}

// below goes from the masked scores down to the product of queries and keys. The scores are
// multiplied by factor behind e.
func (a *attention) below(e op.Entry, factor float64) bool {
	m := a.inner(e)
	if m == nil {
		return false
	}
	switch m.Op {
	case prim.BatchDot.Op:
		a.dot, a.scale = m, factor
		return a.n.Op == prim.BatchDot.Op && a.facts.Types[e] == a.typ
	case contrib.SelfAttQK.Op, contrib.EncDecQK.Op:
		a.dot, a.scale = m, factor
		pair := map[*op.Op]*op.Op{contrib.SelfAttQK.Op: contrib.SelfAttValAtt.Op,
			contrib.EncDecQK.Op: contrib.EncDecValAtt.Op}
		return a.n.Op == pair[m.Op] && a.n.Params == m.Params && a.facts.Types[e] == a.typ
	case prim.MulScalar.Op:
		return a.below(m.In[0], factor*m.Params.(prim.ScalarParams).Scalar)
	case prim.DivScalar.Op:
		return a.below(m.In[0], factor/m.Params.(prim.ScalarParams).Scalar)
	case prim.Where.Op:
		return factor == 1 && (a.where(m, e) || a.replaces(m, e))
	case prim.ElemwiseAdd.Op, prim.BroadcastAdd.Op:
		for i, mask := range m.In {
			if a.fills(m.In[1-i], e) && a.facts.Known(mask) && a.leads(m.In[1-i]) {
				return a.add(mask, e, factor) && a.below(m.In[1-i], factor)
			}
		}
		return false
	}
	return a.passes(m) && a.below(m.In[0], factor)
}

// leads reports whether a product of queries and keys may be below e.
func (a *attention) leads(e op.Entry) bool {
	m := a.inner(e)
	if m == nil {
		return false
	}
	switch m.Op {
	case prim.BatchDot.Op, contrib.SelfAttQK.Op, contrib.EncDecQK.Op:
		return true
	case prim.Where.Op:
		return a.leads(m.In[1]) || a.leads(m.In[2])
	case prim.ElemwiseAdd.Op, prim.BroadcastAdd.Op:
		return a.leads(m.In[0]) || a.leads(m.In[1])
	case prim.MulScalar.Op, prim.DivScalar.Op:
		return a.leads(m.In[0])
	}
	return a.passes(m) && a.leads(m.In[0])
}

// shaped finds the numbers of sequences and heads.
func (a *attention) shaped() bool {
	s := a.facts.Shapes[a.dot.Entry(0)]
	prefix := s[:len(s)-2]
	a.rows, a.keys = s[len(s)-2], s[len(s)-1]
	a.batch, a.heads = prefix.Size(), 1
	switch p := a.dot.Params.(type) {
	case contrib.AttentionParams:
		a.heads = p.Heads
	case prim.DotParams:
		v := a.facts.Shapes[a.n.In[1]]
		if !a.equalSizes(p, v) {
			return false
		}
		if _, heads, ok := a.apart(a.dot.In[0]); ok && !p.TransposeA {
			a.heads = heads
		}
		if len(prefix) == 2 {
			a.heads = prefix[1]
		}
	}
	masks := append([]attentionMask{{a.after.of, a.chosen}, a.after}, a.masks...)
	for _, m := range masks {
		if len(m.shape) == 4 {
			a.heads = m.shape[1]
		}
	}
	if s.Size() == 0 || a.batch%a.heads != 0 {
		return false
	}
	a.batch /= a.heads
	for _, m := range masks {
		if m.of.Valid() && a.broadcast(m) == nil {
			return false
		}
	}
	return a.maskable()
}

// equalSizes reports whether the vectors of values, of shape v, are as long as the vectors of keys,
// which the product of queries and keys with parameters p multiplies.
func (a *attention) equalSizes(p prim.DotParams, v dtype.Shape) bool {
	q := a.facts.Shapes[a.dot.In[0]]
	size, of := q[len(q)-1], v[len(v)-1]
	if p.TransposeA {
		size = q[len(q)-2]
	}
	if a.n.Params.(prim.DotParams).TransposeB {
		of = v[len(v)-2]
	}
	return size == of && size > 0
}

// fused makes the Attention.
func (a *attention) fused(in []op.Entry) op.Entry {
	p := nn.ScaledAttentionParams{Heads: a.heads, UseMask: true}
	var q, k, v op.Entry
	switch a.dot.Op {
	case prim.BatchDot.Op:
		d, w := a.dot.Params.(prim.DotParams), a.n.Params.(prim.DotParams)
		q = a.joinedHeads(a.upright(a.dot.In[0], d.TransposeA), a.rows)
		k = a.joinedHeads(a.upright(a.dot.In[1], !d.TransposeB), a.keys)
		v = a.joinedHeads(a.upright(in[1], w.TransposeB), a.keys)
	case contrib.SelfAttQK.Op:
		parts := a.parts(a.dot.In[0], 3)
		q, k, v = parts[0], parts[1], parts[2]
		if in[0] != a.dot.In[0] {
			v = a.parts(in[0], 3)[2]
		}
	default:
		q = a.make(prim.Transpose.Op, prim.TransposeParams{Axes: []int{1, 0, 2}}, a.dot.In[0])
		parts := a.parts(a.dot.In[1], 2)
		k, v = parts[0], parts[1]
		if in[0] != a.dot.In[1] {
			v = a.parts(in[0], 2)[1]
		}
	}
	q = a.unscaled(q)
	size := a.facts.Shapes[q][2] / a.heads
	if a.dot.Op != prim.BatchDot.Op {
		a.scale /= math.Sqrt(float64(size))
	}
	p.Scale = op.Some(a.scale)
	operands := []op.Entry{q, k, v}
	if mask := a.mask(); mask.Valid() {
		operands = append(operands, mask)
	} else {
		p.UseMask = false
	}
	if a.drop != nil {
		p.Dropout = a.drop.Params.(nn.DropoutParams).P.Value()
	}
	y := a.joined(nn.Attention.Op, p, a.dot, a.n, operands...)
	if a.drop != nil && HasStream(a.drop) {
		SetStream(y.Node, int(Stream(a.drop)))
	}
	a.facts.Set(y, a.facts.Shapes[q], a.typ)
	return a.placed(y)
}

// make makes a node beside the product with the values, and learns its facts.
func (a *attention) make(o *op.Op, params any, in ...op.Entry) op.Entry {
	m, err := op.NewNode(o, a.n.Name+"_"+o.Name, params, in...)
	if err == nil {
		m.Attrs, m.Site = a.n.Attrs, a.n.Site
		err = a.facts.learnNode(m)
	}
	if err != nil {
		panic(err)
	}
	return m.Entry(0)
}

// reshaped gives e another shape.
func (a *attention) reshaped(e op.Entry, shape ...int) op.Entry {
	if a.facts.Shapes[e].Equal(shape) {
		return e
	}
	return a.make(prim.Reshape.Op, prim.ReshapeParams{Shape: shape}, e)
}

// unscaled takes a factor of the queries q into the scale of the scores.
func (a *attention) unscaled(q op.Entry) op.Entry {
	e := q
	for !e.Node.IsVar() && e.Node.Op.Reshapes {
		e = e.Node.In[0]
	}
	if e.Node.IsVar() || e.Node.Op != prim.MulScalar.Op ||
		a.facts.Types[e.Node.In[0]] != a.facts.Types[q] {
		return q
	}
	a.scale *= e.Node.Params.(prim.ScalarParams).Scalar
	return a.reshaped(e.Node.In[0], a.facts.Shapes[q]...)
}

// upright swaps the last two axes of e if swapped says so.
func (a *attention) upright(e op.Entry, swapped bool) op.Entry {
	if !swapped {
		return e
	}
	axes := make([]int, len(a.facts.Shapes[e]))
	for i := range axes {
		axes[i] = i
	}
	slices.Reverse(axes[len(axes)-2:])
	return a.make(prim.Transpose.Op, prim.TransposeParams{Axes: axes}, e)
}

// apart returns x and the number of heads if e, of shape (batch·heads, n, size) or (batch, heads, n,
// size), is x of shape (batch, n, heads, size) with the axes of steps and heads swapped.
func (a *attention) apart(e op.Entry) (x op.Entry, heads int, ok bool) {
	full := a.facts.Shapes[e]
	for !e.Node.IsVar() && e.Node.Op.Reshapes && len(a.facts.Shapes[e]) < 4 {
		e = e.Node.In[0]
	}
	s := a.facts.Shapes[e]
	if e.Node.IsVar() || len(s) != 4 || s[2] != full[len(full)-2] || s[3] != full[len(full)-1] ||
		len(e.Node.In) == 0 {
		return e, 0, false
	}
	perm, ok := permutation(e.Node, a.facts.Shapes[e.Node.In[0]])
	return e.Node.In[0], s[1], ok && slices.Equal(perm, []int{0, 2, 1, 3})
}

// joinedHeads gives e, of n steps for each sequence and head, the shape (batch, n, heads·size).
func (a *attention) joinedHeads(e op.Entry, n int) op.Entry {
	s := a.facts.Shapes[e]
	size := s[len(s)-1]
	if x, heads, ok := a.apart(e); ok && heads == a.heads {
		return a.reshaped(x, a.batch, n, heads*size)
	}
	if a.heads > 1 {
		e = a.reshaped(e, a.batch, a.heads, n, size)
		e = a.make(prim.Transpose.Op, prim.TransposeParams{Axes: []int{0, 2, 1, 3}}, e)
	}
	return a.reshaped(e, a.batch, n, a.heads*size)
}

// parts returns the interleaved parts of e, of shape (n, batch, heads·parts·size), each of shape
// (batch, n, heads·size).
func (a *attention) parts(e op.Entry, parts int) []op.Entry {
	s := a.facts.Shapes[e]
	n, size := s[0], s[2]/parts/a.heads
	e = a.reshaped(e, n, a.batch, a.heads, parts, size)
	e = a.make(prim.Transpose.Op, prim.TransposeParams{Axes: []int{3, 1, 0, 2, 4}}, e)
	e = a.reshaped(e, parts, a.batch, n, a.heads*size)
	cut := a.make(prim.SliceChannel.Op, prim.SliceChannelParams{NumOutputs: parts,
		Axis: op.Some(0), SqueezeAxis: true}, e)
	list := make([]op.Entry, parts)
	for i := range list {
		list[i] = cut.Node.Entry(i)
	}
	return list
}

// placed gives the result y the axes of the product that it takes the place of.
func (a *attention) placed(y op.Entry) op.Entry {
	out := a.facts.Shapes[a.n.Entry(0)]
	if a.dot.Op != prim.BatchDot.Op {
		return a.make(prim.Transpose.Op, prim.TransposeParams{Axes: []int{1, 0, 2}}, y)
	}
	if a.heads > 1 {
		y = a.reshaped(y, a.batch, a.rows, a.heads, out[len(out)-1])
		y = a.make(prim.Transpose.Op, prim.TransposeParams{Axes: []int{0, 2, 1, 3}}, y)
	}
	return a.reshaped(y, out...)
}

// lowEnough is a number that makes the exponent of a score zero when it is added to the score, or
// takes its place, unless all scores of the row are lowered.
const lowEnough = -1e9

// add takes a mask that is added to scores that are then multiplied by factor.
func (a *attention) add(mask, result op.Entry, factor float64) bool {
	shape := a.facts.Shapes[result]
	if may, ok := a.lowered(mask); ok && factor == 1 && a.chosen == nil &&
		a.after.of.Valid() && may == a.after.of {
		a.chosen = shape
		return true
	}
	if factor != 1 {
		mask = a.make(prim.MulScalar.Op, prim.ScalarParams{Scalar: factor}, mask)
	}
	a.masks = append(a.masks, attentionMask{mask, shape})
	return true
}

// lowered returns the zeros and ones of which mask is made, if it is zero where they are one and
// low enough elsewhere: (may - 1)·number.
func (a *attention) lowered(mask op.Entry) (may op.Entry, ok bool) {
	times := bare(mask).Node
	if times.IsVar() || times.Op != prim.MulScalar.Op {
		return may, false
	}
	factor, minus := times.Params.(prim.ScalarParams).Scalar, bare(times.In[0]).Node
	if minus.IsVar() {
		return may, false
	}
	p, _ := minus.Params.(prim.ScalarParams)
	switch minus.Op {
	case prim.MinusScalar.Op: // (may - 1)·number
		ok = p.Scalar == 1 && -factor <= lowEnough
	case prim.PlusScalar.Op: // (may + -1)·number
		ok = p.Scalar == -1 && -factor <= lowEnough
	case prim.RMinusScalar.Op: // (1 - may)·-number
		ok = p.Scalar == 1 && factor <= lowEnough
	}
	return bare(minus.In[0]), ok && a.binary(minus.In[0])
}

// bare returns the entry that e is converted from.
func bare(e op.Entry) op.Entry {
	for !e.Node.IsVar() && prim.IsCast(e.Node.Op) {
		e = e.Node.In[0]
	}
	return e
}

// where takes a choice between scores and a low number, if the weights are multiplied by the
// condition: rows without scores are then zeros.
func (a *attention) where(m *op.Node, e op.Entry) bool {
	v, ok := a.number(m.In[2])
	if !ok || v > lowEnough || a.chosen != nil || bare(m.In[0]) != a.after.of ||
		!a.fills(m.In[0], e) {
		return false
	}
	a.chosen = a.facts.Shapes[e]
	return a.below(m.In[1], 1)
}

// replaces takes a choice between scores and a low number. It becomes a sum of the scores and a mask
// that holds the low number or zero. The low numbers of libraries are so far below scores that the
// sums equal them. A row without scores has the gradients of equal weights, not zeros.
func (a *attention) replaces(m *op.Node, e op.Entry) bool {
	if a.chosen != nil {
		return false
	}
	for k, scores := range m.In[1:] {
		low, ok := a.number(m.In[2-k])
		if !ok || low > lowEnough || !a.leads(scores) {
			continue
		}
		may := m.In[0]
		for !may.Node.IsVar() && repeats(may.Node.Op) && a.facts.Known(may.Node.In[0]) &&
			len(a.facts.Shapes[may.Node.In[0]]) == len(a.facts.Shapes[may]) {
			may = may.Node.In[0]
		}
		shape := a.facts.Shapes[may]
		if !a.facts.Known(may) || len(shape) != len(a.facts.Shapes[e]) {
			return false
		}
		numbers := []op.Entry{a.full(shape, low), a.full(shape, low)}
		numbers[k] = a.full(shape, 0)
		mask := a.make(prim.Where.Op, nil, may, numbers[0], numbers[1])
		a.masks = append(a.masks, attentionMask{mask, a.facts.Shapes[e]})
		return a.below(scores, 1)
	}
	return false
}

// full makes an array of one number, of the type of the match.
func (a *attention) full(shape dtype.Shape, v float64) op.Entry {
	return a.make(prim.Full.Op, prim.FullParams{Shape: shape, DType: a.typ, Value: v})
}

// number returns the number that all elements of e are.
func (a *attention) number(e op.Entry) (float64, bool) {
	if v, ok := constantValue(e); ok || e.Node.IsVar() {
		return v, ok
	}
	p, _ := e.Node.Params.(prim.ScalarParams)
	switch o := e.Node.Op; {
	case o == prim.MulScalar.Op:
		v, ok := a.number(e.Node.In[0])
		return v * p.Scalar, ok
	case o == prim.PlusScalar.Op:
		v, ok := a.number(e.Node.In[0])
		return v + p.Scalar, ok
	case o.Reshapes || repeats(o) || prim.IsCast(o):
		return a.number(e.Node.In[0])
	}
	return 0, false
}

// repeats reports whether an operator repeats its first input along axes.
func repeats(o *op.Op) bool {
	return o == prim.BroadcastTo.Op || o == prim.BroadcastAxis.Op || o == prim.BroadcastLike.Op
}

// comparisons have results of zeros and ones.
var comparisons = []*op.Op{prim.Equal.Op, prim.NotEqual.Op, prim.Greater.Op, prim.GreaterEqual.Op,
	prim.Lesser.Op, prim.LesserEqual.Op, prim.LogicalAnd.Op, prim.LogicalOr.Op, prim.LogicalXor.Op,
	prim.BroadcastEqual.Op, prim.BroadcastNotEqual.Op, prim.BroadcastGreater.Op,
	prim.BroadcastGreaterEqual.Op, prim.BroadcastLesser.Op, prim.BroadcastLesserEqual.Op,
	prim.BroadcastLogicalAnd.Op, prim.BroadcastLogicalOr.Op, prim.BroadcastLogicalXor.Op,
	prim.EqualScalar.Op, prim.NotEqualScalar.Op, prim.GreaterScalar.Op, prim.GreaterEqualScalar.Op,
	prim.LesserScalar.Op, prim.LesserEqualScalar.Op, prim.LogicalAndScalar.Op,
	prim.LogicalOrScalar.Op, prim.LogicalXorScalar.Op, prim.LogicalNot.Op}

// binary reports whether e holds zeros and ones for certain.
func (a *attention) binary(e op.Entry) bool {
	m := e.Node
	if m.IsVar() || e.Index != 0 {
		return false
	}
	switch o := m.Op; {
	case slices.Contains(comparisons, o):
		return true
	case o == prim.ElemwiseMul.Op, o == prim.BroadcastMul.Op:
		return a.binary(m.In[0]) && a.binary(m.In[1])
	case o.Reshapes, repeats(o), prim.IsCast(o), o == prim.Transpose.Op, o == prim.SwapAxis.Op,
		o == prim.Identity.Op:
		return a.binary(m.In[0])
	}
	return false
}

// maskable reports whether one mask can say all that was found: lengths and masks of zeros and ones
// become booleans, which nothing is added to.
func (a *attention) maskable() bool {
	if a.after.of.Valid() != (a.chosen != nil) {
		return false
	}
	kinds := 0
	for _, is := range []bool{a.after.of.Valid(), a.length.Valid(), len(a.masks) > 0} {
		if is {
			kinds++
		}
	}
	return kinds <= 1 && (!a.after.of.Valid() ||
		slices.Equal(a.broadcast(a.after), a.broadcast(attentionMask{a.after.of, a.chosen})))
}

// broadcast returns the shape with four axes, by sequence, head, query and key, of a mask; nil if it
// has none.
func (a *attention) broadcast(m attentionMask) dtype.Shape {
	s, rank := slices.Clone(a.facts.Shapes[m.of]), len(m.shape)
	if len(s) > rank {
		return nil
	}
	for len(s) < rank {
		s = append(dtype.Shape{1}, s...)
	}
	switch {
	case rank == 4 && m.shape[0] == a.batch && m.shape[1] == a.heads:
		return s
	case rank == 3 && s[0] == 1:
		return append(dtype.Shape{1}, s...)
	case rank == 3 && s[0] == a.batch*a.heads:
		return append(dtype.Shape{a.batch, a.heads}, s[1:]...)
	}
	return nil
}

// mask makes the mask of the Attention, the zero Entry if there is none.
func (a *attention) mask() op.Entry {
	switch {
	case a.after.of.Valid():
		return a.typed(a.reshaped(a.after.of, a.broadcast(a.after)...), dtype.Bool)
	case a.length.Valid():
		places := a.make(prim.Arange.Op, prim.ArangeParams{Stop: op.Some(float64(a.keys)),
			DType: dtype.Float32})
		lengths := a.typed(a.reshaped(a.length, a.batch, a.heads, a.rows, 1), dtype.Float32)
		return a.typed(a.make(prim.BroadcastLesser.Op, nil,
			a.reshaped(places, 1, 1, 1, a.keys), lengths), dtype.Bool)
	}
	var sum op.Entry
	for _, m := range a.masks {
		e := a.typed(a.reshaped(m.of, a.broadcast(m)...), a.typ)
		if sum.Valid() {
			e = a.make(prim.BroadcastAdd.Op, nil, sum, e)
		}
		sum = e
	}
	return sum
}

// typed gives e an element type.
func (a *attention) typed(e op.Entry, t dtype.Type) op.Entry {
	if a.facts.Types[e] == t {
		return e
	}
	return a.make(prim.Cast.Op, prim.CastParams{DType: t}, e)
}
