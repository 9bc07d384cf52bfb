package graph

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// CancelTranspositions computes regions of pointwise operators in the order of axes that leaves the
// fewest transpositions around them. A region is a set of operators on arrays of one shape that
// read each other. Models of frameworks with channels last have a transposition before and after every
// convolution; the functions between two convolutions are then computed with channels first.
func CancelTranspositions(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	r, order := newRewriter(outs, f)
	t := &turner{rewriter: r, regions: map[*op.Node]*region{}, turned: map[op.Entry]turned{}}
	for _, n := range order {
		t.collect(n)
	}
	for _, n := range order {
		t.borders(n)
	}
	for _, n := range order {
		if axes := t.choice(t.regionOf(n)); axes != nil {
			t.turn(n, axes)
		} else {
			r.visit(n, t.cancel)
		}
	}
	return r.now(outs), r.changes
}

// turner is the state of CancelTranspositions.
type turner struct {
	*rewriter
	regions map[*op.Node]*region // of pointwise operators
	turned  map[op.Entry]turned  // by old entry
}

// turned is an entry in another order of axes: the old entry is its transposition by axes.
type turned struct {
	entry op.Entry
	axes  []int
}

// region is a set of pointwise operators; sets that are joined are a tree.
type region struct {
	parent  *region // nil: this set stands for all of its tree
	in, out []op.Entry
	reads   map[op.Entry]int        // how often members read an entry of in
	readers map[op.Entry][]*op.Node // readers of out outside of the region; nil is the caller
	settled bool
	axes    []int // the choice
}

func (t *turner) regionOf(n *op.Node) *region {
	g := t.regions[n]
	for g != nil && g.parent != nil {
		g = g.parent
	}
	return g
}

// collect puts n into the region of the pointwise operators that it reads.
func (t *turner) collect(n *op.Node) {
	if !t.turns(n) {
		return
	}
	g := &region{reads: map[op.Entry]int{}, readers: map[op.Entry][]*op.Node{}}
	t.regions[n] = g
	for _, e := range n.In {
		if h := t.regionOf(e.Node); h != nil && h != g && t.large(n, e) {
			h.parent = g
		}
	}
}

// large reports whether n's input e has the shape of n's output; other inputs repeat.
func (t *turner) large(n *op.Node, e op.Entry) bool {
	return t.facts.Shapes[e].Equal(t.facts.Shapes[n.Entry(0)])
}

// turns reports whether n can be computed in any order of axes, inputs that repeat being the same
// memory in all of them.
func (t *turner) turns(n *op.Node) bool {
	if n.IsVar() || !n.Op.Pointwise || n.NumOutputs() != 1 || n.Draws() || n.Op.Update ||
		len(n.After) > 0 || len(n.Op.Changes(n.Params)) > 0 || !t.facts.Known(n.Entry(0)) ||
		len(t.facts.Shapes[n.Entry(0)]) < 2 {
		return false
	}
	some := false
	for _, e := range n.In {
		if !t.facts.Known(e) {
			return false
		}
		whole := t.large(n, e)
		if !whole && (!n.Op.Broadcasts || !alongOne(t.facts.Shapes[e])) {
			return false
		}
		some = some || whole
	}
	return some
}

// alongOne reports whether at most one axis has several elements.
func alongOne(s dtype.Shape) bool {
	several := 0
	for _, d := range s {
		if d != 1 {
			several++
		}
	}
	return several <= 1
}

// borders notes what regions read from outside at n, and what n reads from them.
func (t *turner) borders(n *op.Node) {
	own := t.regionOf(n)
	for _, e := range n.In {
		from := t.regionOf(e.Node)
		if own != nil && from != own && t.large(n, e) {
			if own.reads[e]++; own.reads[e] == 1 {
				own.in = append(own.in, e)
			}
		}
		if from != nil && from != own {
			from.leave(e, n)
		}
	}
	if own != nil && t.outs[n.Entry(0)] {
		own.leave(n.Entry(0), nil)
	}
}

func (g *region) leave(e op.Entry, reader *op.Node) {
	if g.readers[e] == nil {
		g.out = append(g.out, e)
	}
	g.readers[e] = append(g.readers[e], reader)
}

// choice returns the axes by which results of g in the new order are transposed to the old one, nil
// if no order of axes saves a transposition or there is no region.
func (t *turner) choice(g *region) []int {
	switch {
	case g == nil:
		return nil
	case g.settled:
		return g.axes
	}
	g.settled = true
	var list [][]int
	for _, e := range g.in {
		if axes, ok := t.transposition(e.Node); ok {
			list = append(list, axes)
		}
	}
	for _, e := range g.out {
		for _, n := range g.readers[e] {
			if axes, ok := t.transposition(n); ok {
				list = append(list, inverse(axes))
			}
		}
	}
	most := 0
	for _, axes := range list {
		if n := t.saved(g, axes); n > most {
			g.axes, most = axes, n
		}
	}
	return g.axes
}

// saved is the number of transpositions that the graph has less if a region is computed in an order
// of axes.
func (t *turner) saved(g *region, axes []int) (saved int) {
	for _, e := range g.in {
		perm, ok := t.transposition(e.Node)
		if ok && t.uses[e] == g.reads[e] {
			saved++
		}
		if !ok && !t.free(e, inverse(axes)) || ok && !slices.Equal(perm, axes) {
			saved--
		}
	}
	for _, e := range g.out {
		plain := 0
		for _, n := range g.readers[e] {
			perm, ok := t.transposition(n)
			switch {
			case !ok || t.outs[n.Entry(0)]:
				plain = 1
			case isSorted(composed(axes, perm)):
				saved++
			}
		}
		saved -= plain
	}
	return saved
}

// free reports whether transposing e moves nothing.
func (t *turner) free(e op.Entry, axes []int) bool {
	shape := t.facts.Shapes[e]
	return sorted(axes, func(a int) bool { return shape[a] != 1 })
}

// transposition returns the axes by which n transposes its input; n may be nil.
func (t *turner) transposition(n *op.Node) ([]int, bool) {
	if n == nil || n.IsVar() || len(n.In) != 1 || len(n.After) > 0 || !t.facts.Known(n.In[0]) {
		return nil, false
	}
	return permutation(n, t.facts.Shapes[n.In[0]])
}

func inverse(axes []int) []int {
	back := make([]int, len(axes))
	for i, a := range axes {
		back[a] = i
	}
	return back
}

// composed returns the axes of a transposition by first and then by second.
func composed(first, second []int) []int {
	both := make([]int, len(second))
	for i, a := range second {
		both[i] = first[a]
	}
	return both
}

func isSorted(axes []int) bool { return sorted(axes, func(int) bool { return true }) }

// turn computes member n in the new order, and transposes the result for readers outside.
func (t *turner) turn(n *op.Node, axes []int) {
	in := make([]op.Entry, len(n.In))
	for k, e := range n.In {
		if t.large(n, e) {
			in[k] = t.enter(n, e, axes)
		} else {
			in[k] = t.repeated(n, e, axes)
		}
	}
	y := changed(n, n.Op, n.Params, in)
	shape := moveAxes(t.facts.Shapes[n.Entry(0)], inverse(axes))
	t.facts.Set(y, shape, t.facts.Types[n.Entry(0)])
	t.turned[n.Entry(0)] = turned{y, axes}
	back := transposed(n, y, axes)
	t.become(n.Entry(0), back)
	t.nodes[n] = back.Node
	t.changes++
	t.facts.note(Change{Node: n.Name, Before: describe(n, t.now(n.In)), After: describeEntry(back)})
}

func moveAxes(s dtype.Shape, axes []int) dtype.Shape {
	moved := make(dtype.Shape, len(s))
	for i, a := range axes {
		moved[i] = s[a]
	}
	return moved
}

// transposed transposes e in the place of n.
func transposed(n *op.Node, e op.Entry, axes []int) op.Entry {
	return changed(n, prim.Transpose.Op, prim.TransposeParams{Axes: axes}, []op.Entry{e})
}

// enter brings old entry e, which member n reads, into the new order.
func (t *turner) enter(n *op.Node, e op.Entry, axes []int) op.Entry {
	if y, ok := t.turned[e]; ok && slices.Equal(y.axes, axes) {
		return y.entry
	}
	if perm, ok := t.transposition(e.Node); ok && slices.Equal(perm, axes) {
		return t.made[e.Node.In[0]]
	}
	y := transposed(n, t.made[e], inverse(axes))
	t.facts.Set(y, moveAxes(t.facts.Shapes[e], inverse(axes)), t.facts.Types[e])
	t.turned[e] = turned{y, axes}
	return y
}

// repeated brings an input of member n that repeats into the new order.
func (t *turner) repeated(n *op.Node, e op.Entry, axes []int) op.Entry {
	old := t.facts.Shapes[e]
	if old.Size() == 1 {
		return t.made[e]
	}
	whole := slices.Repeat(dtype.Shape{1}, len(axes))
	copy(whole[len(axes)-len(old):], old)
	shape := moveAxes(whole, inverse(axes))
	y := changed(n, prim.Reshape.Op, prim.ReshapeParams{Shape: shape}, []op.Entry{t.made[e]})
	t.facts.Set(y, shape, t.facts.Types[e])
	return y
}

// cancel joins a transposition with the one behind a turned region.
func (t *turner) cancel(_ *rewriter, n *op.Node, _ []op.Entry) op.Entry {
	perm, ok := t.transposition(n)
	if !ok || t.outs[n.Entry(0)] || t.regionOf(n.In[0].Node) == nil {
		return op.Entry{}
	}
	y, ok := t.turned[n.In[0]]
	if !ok {
		return op.Entry{}
	}
	if both := composed(y.axes, perm); !isSorted(both) {
		return transposed(n, y.entry, both)
	}
	return y.entry
}
