package compile

import (
	"slices"

	"gomx/device"
	"gomx/graph"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
)

// layouter prepares the kernels of a graph in order, so that every kernel sees the layouts that
// earlier kernels have chosen, and adds changes of layout where a reader wants another layout.
// Arguments and outputs stay plain.
//
// Layouts travel from producers to readers: a kernel that looks at layouts is offered its inputs as
// they are, and answers with the inputs that it wants and the outputs that it gives. Other kernels
// get plain inputs, but for pointwise ones, and for joins along channels and their gradient, to
// which a blocked array looks like a plain one of another shape.
//
// An old entry belongs to the graph as it was numbered, a new entry to the graph with changes of
// layout.
type layouter struct {
	u     *Unit
	p     *Program
	used  []bool                // by number of an old entry: some step reads its values
	reads map[op.Entry]int      // by old entry: number of inputs that name it
	now   map[op.Entry]op.Entry // new entries, by old entry
	desc  map[op.Entry]op.Desc  // descriptions by new entry, with their layouts
	moved map[move]op.Entry     // changes of layout made so far: readers of one layout share one
	taken map[op.Entry]bool     // new entries that some node reads in their present layout
	laid  map[*op.Node]*ready   // kernels by new node
}

// move is a change of layout.
type move struct {
	entry  op.Entry // new entry that is read
	layout any      // layout that the reader wants; nil is plain
}

// blocks is the ability of a layout to join arrays along their channels as if they were plain.
type blocks interface {
	Fits(shape []int) bool  // an array of the shape can have the layout
	Seen(shape []int) []int // shape of a plain array with the same memory
}

// layOut chooses layouts and numbers the graph again with the changes of layout in it.
func layOut(u *Unit) error {
	if !u.opt.lays() {
		return nil
	}
	p := u.prog
	u.draft.private = map[int]op.Desc{}
	l := &layouter{u: u, p: p, used: p.used(), reads: map[op.Entry]int{},
		now: map[op.Entry]op.Entry{}, desc: map[op.Entry]op.Desc{},
		moved: map[move]op.Entry{}, taken: map[op.Entry]bool{}, laid: map[*op.Node]*ready{}}
	for _, n := range p.Graph.Nodes {
		for _, e := range n.In {
			l.reads[e]++
		}
	}
	for i, n := range p.Graph.Nodes {
		if err := l.visit(i, n); err != nil {
			return err
		}
	}
	u.draft.laid = l.laid
	list := u.all()
	for i, e := range list {
		list[i] = l.now[e]
	}
	u.become(list)
	for e, d := range l.desc {
		if !u.Facts.Known(e) {
			u.Facts.Set(e, d.Shape, d.DType)
		}
	}
	return number(u)
}

// visit chooses the kernel of old node number i, and copies the node where its inputs have changed.
func (l *layouter) visit(i int, n *op.Node) error {
	if n.IsVar() {
		l.now[n.Entry(0)], l.desc[n.Entry(0)] = n.Entry(0), l.p.Descs[l.p.Graph.Entry(n.Entry(0))]
		return nil
	}
	in := make([]op.Entry, len(n.In))
	for k, e := range n.In {
		in[k] = l.now[e]
	}
	r, err := l.choose(i, n, in)
	if err != nil {
		return err
	}
	m := n
	after := slices.Clone(n.After)
	for k, a := range after {
		after[k] = l.now[a.Entry(0)].Node
	}
	if !slices.Equal(in, n.In) || !slices.Equal(after, n.After) {
		c := *n
		c.In, c.After, m = in, after, &c
	}
	for k, e := range in {
		l.taken[e] = l.taken[e] || !ignores(n, k)
	}
	l.laid[m] = r
	for j := range r.out {
		e := n.Entry(j)
		l.now[e] = m.Entry(j)
		d := l.p.Descs[l.p.Graph.Entry(e)]
		d.Layout, d.Bytes = r.out[j].Layout, r.out[j].Bytes
		l.desc[m.Entry(j)] = d
		if private(e) {
			l.u.draft.private[l.p.Graph.Entry(e)] = d
		}
	}
	return nil
}

// choose prepares the kernel of node number i for inputs in; those that it wants in another layout
// are replaced.
func (l *layouter) choose(i int, n *op.Node, in []op.Entry) (*ready, error) {
	a := l.u.args(i, n, l.used)
	switch layout := l.common(n, in); {
	case layout != nil && n.Op.Pointwise && l.alike(i, n, a):
		return l.pointwise(n, a, in, layout)
	case n.Op.Layouts:
		return l.offer(i, n, a, in)
	case layout != nil && n.Op == prim.Concat.Op && n.Params.(prim.ConcatParams).Dim.Value() == 1 &&
		l.free(i, 0):
		if r, err := l.concat(n, a, in, layout); r != nil || err != nil {
			return r, err
		}
	case layout != nil && n.Op == prim.ConcatGrad.Op && l.freed(i, len(a.Out)) &&
		n.Params.(prim.ConcatParams).Dim.Value() == 1:
		if r, err := l.pieces(n, a, in, layout); r != nil || err != nil {
			return r, err
		}
	}
	if err := l.plain(n, in); err != nil {
		return nil, err
	}
	return l.u.ready(n, a)
}

// free reports whether output j of node number i may have any layout: entries in slots are plain,
// because their arrays belong to callers.
func (l *layouter) free(i, j int) bool {
	from, _ := l.p.Graph.Out(i)
	_, outside := l.p.Outside[from+j]
	return !outside
}

// freed reports whether all of count outputs of node number i may have any layout.
func (l *layouter) freed(i, count int) bool {
	for j := range count {
		if !l.free(i, j) {
			return false
		}
	}
	return true
}

// common returns the first blocked layout among the inputs that node n reads; nil if all are plain.
func (l *layouter) common(n *op.Node, in []op.Entry) any {
	for k, e := range in {
		if lay, ok := l.desc[e].Layout.(blocks); ok && !ignores(n, k) {
			return lay
		}
	}
	return nil
}

// plain makes all inputs plain of which more than the shape is read. It leaves values alone that an
// operator keeps for its own gradient: nothing else knows their layout. in is changed in place.
func (l *layouter) plain(n *op.Node, in []op.Entry) (err error) {
	for k := range in {
		if !ignores(n, k) && !private(in[k]) && err == nil {
			d := l.desc[in[k]]
			in[k], err = l.convert(in[k], op.Plain(d.DType, d.Shape))
		}
	}
	return err
}

// private reports whether entry e is a value that an operator keeps for its own gradient.
func private(e op.Entry) bool {
	return !e.Node.IsVar() && e.Node.Op.Keeps && e.Index == e.Node.NumOutputs()-1
}

// convert returns entry e in the layout of want. A form of a parameter that nothing else reads is
// made in that layout from the start, and so is the result of a conversion of types that nothing
// has read as it is; else a node that changes the layout is added, once for all readers.
func (l *layouter) convert(e op.Entry, want op.Desc) (op.Entry, error) {
	have := l.desc[e]
	if have.Layout == want.Layout {
		return e, nil
	}
	key := move{e, want.Layout}
	if m, ok := l.moved[key]; ok {
		return m, nil
	}
	if r := l.laid[e.Node]; r != nil && have.Layout == nil && l.remade(e, r, want) {
		a := *r.args
		a.Out = slices.Clone(a.Out)
		a.Out[e.Index] = want
		if again, err := l.u.ready(e.Node, &a); err == nil {
			l.laid[e.Node], l.desc[e] = again, want
			return e, nil
		}
	}
	n, err := op.NewNode(nn.Reorder.Op, e.Node.Name+"_reorder", nil, e)
	if err != nil {
		return e, err
	}
	n.Attrs = e.Node.Attrs
	if l.u.opt.Spread != nil {
		n.Attrs = map[string]string{graph.GroupAttr: l.u.deviceOf(e.Node).String()}
	}
	r, err := l.u.ready(n, &op.Args{In: []op.Desc{have}, Out: []op.Desc{want}, Need: []bool{true},
		Threads: l.u.threads()})
	if err != nil {
		return e, err
	}
	m := n.Entry(0)
	l.laid[n], l.desc[m], l.moved[key], l.taken[e] = r, want, m, true
	return m, nil
}

// remade reports whether the kernel that makes entry e may be asked for the layout of want instead.
func (l *layouter) remade(e op.Entry, r *ready, want op.Desc) bool {
	if !e.Node.Op.Layouts {
		return false
	}
	if _, ok := want.Layout.(blocks); ok && !l.taken[e] {
		return e.Node.Op.Derived || prim.IsCast(e.Node.Op) && r.args.Chooses(e.Index)
	}
	return e.Node.Op.Derived && l.reads[e] == 1
}

// offer prepares a kernel that looks at layouts. Where it cannot serve the layouts of its inputs,
// it is asked again with plain ones, which every kernel serves.
func (l *layouter) offer(i int, n *op.Node, a *op.Args, in []op.Entry) (*ready, error) {
	for k, e := range in {
		a.In[k] = l.desc[e]
	}
	for j := range a.Out {
		a.Free = append(a.Free, l.free(i, j))
	}
	r, err := l.u.attempt(n, a)
	if err == op.ErrUnsupported {
		if err := l.plain(n, in); err != nil {
			return nil, err
		}
		for k, e := range in {
			a.In[k] = l.desc[e]
		}
		r, err = l.u.attempt(n, a)
	}
	if err != nil {
		return nil, op.WithOp(err, n.Op.Name, n.Name, n.Site)
	}
	for k, d := range r.in {
		if in[k], err = l.convert(in[k], d); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// alike reports whether all operands of a pointwise node have one shape, and on processors one
// type, and no output has to be plain. Operands that are broadcast would be read at other places
// than in a plain array, but for single numbers. Processors cannot change the layouts of all types.
func (l *layouter) alike(i int, n *op.Node, a *op.Args) bool {
	host := l.u.deviceOf(n).Kind == device.KindCPU
	same := func(d op.Desc) bool {
		return d.Shape.Equal(a.Out[0].Shape) && (d.DType == a.Out[0].DType || !host)
	}
	for _, d := range a.In {
		if !same(d) && !l.single(d, a) {
			return false
		}
	}
	for j, d := range a.Out {
		if !same(d) || !l.free(i, j) {
			return false
		}
	}
	return true
}

// single reports whether an operand of a pointwise node is one number for all elements.
func (l *layouter) single(d op.Desc, a *op.Args) bool {
	return d.Shape.Size() == 1 && a.Out[0].Shape.Size() > 1
}

// pointwise prepares the kernel as for plain arrays: where an element lies does not matter to it,
// as long as all operands have the same layout. Inputs in another layout are converted to the first
// one.
func (l *layouter) pointwise(n *op.Node, a *op.Args, in []op.Entry, layout any) (r *ready,
	err error) {
	for k := range in {
		want := a.In[k]
		if !l.single(want, a) {
			want.Layout = layout
		}
		if in[k], err = l.convert(in[k], want); err != nil {
			return nil, err
		}
	}
	if r, err = l.u.ready(n, a); err != nil {
		return nil, err
	}
	r.out = laidOut(r.out, layout)
	return r, nil
}

// laidOut returns copies of descriptions in another layout of the same size.
func laidOut(list []op.Desc, layout any) []op.Desc {
	laid := slices.Clone(list)
	for j := range laid {
		laid[j].Layout = layout
	}
	return laid
}

// concat prepares joining along channels as joining plain arrays that have the same memory, if the
// channels of every input fill the blocks of the layout. It returns nil where they do not, before
// it has changed anything.
func (l *layouter) concat(n *op.Node, a *op.Args, in []op.Entry, layout any) (r *ready, err error) {
	lay := layout.(blocks)
	for k := range in {
		if !lay.Fits(a.In[k].Shape) {
			return nil, nil
		}
	}
	for k := range in {
		want := a.In[k]
		want.Layout = layout
		if in[k], err = l.convert(in[k], want); err != nil {
			return nil, err
		}
		a.In[k].Shape = lay.Seen(a.In[k].Shape)
	}
	a.Out[0].Shape = lay.Seen(a.Out[0].Shape)
	if r, err = l.u.ready(n, a); err != nil {
		return nil, err
	}
	r.out = laidOut(r.out, layout)
	return r, nil
}

// pieces prepares the gradient of joining along channels likewise; the shapes of the pieces follow
// from the inputs that are not read.
func (l *layouter) pieces(n *op.Node, a *op.Args, in []op.Entry, layout any) (r *ready, err error) {
	lay := layout.(blocks)
	for _, d := range a.Out {
		if !lay.Fits(d.Shape) {
			return nil, nil
		}
	}
	want := a.In[0]
	want.Layout = layout
	if in[0], err = l.convert(in[0], want); err != nil {
		return nil, err
	}
	for k := range a.In {
		a.In[k].Shape = lay.Seen(a.In[k].Shape)
	}
	for j := range a.Out {
		a.Out[j].Shape = lay.Seen(a.Out[j].Shape)
	}
	if r, err = l.u.ready(n, a); err != nil {
		return nil, err
	}
	r.out = laidOut(r.out, layout)
	return r, nil
}
