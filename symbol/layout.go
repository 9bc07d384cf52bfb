package symbol

import (
	"slices"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/graph"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
)

// layouter prepares the kernels of a graph in order, so that every kernel sees the
// layouts that those before it have chosen, and puts changes of layout where a reader does not
// take what it would get. Arguments and outputs stay plain.
type layouter struct {
	p     *program
	used  []bool
	reads map[op.Entry]int
	now   map[op.Entry]op.Entry // what entries have become
	desc  map[op.Entry]op.Desc  // of the entries made
	moved map[move]op.Entry
	laid  map[*op.Node]*ready
}

// move is a change of layout.
type move struct {
	entry  op.Entry
	layout any
}

// layOut chooses layouts and returns the outputs of the graph with what that adds to it; nil where
// everything is plain.
func (p *program) layOut(outs []op.Entry) ([]op.Entry, error) {
	if p.ex.config.NoFusion || p.train && !cpu.HasBlocks() || !p.ex.onHost() || device.MaxTier() < device.TierC || !cpu.HasC {
		return nil, nil
	}
	l := &layouter{p: p, used: p.used(), reads: map[op.Entry]int{}, now: map[op.Entry]op.Entry{}, desc: map[op.Entry]op.Desc{},
		moved: map[move]op.Entry{}, laid: map[*op.Node]*ready{}}
	for _, n := range p.g.Nodes {
		for _, e := range n.In {
			l.reads[e]++
		}
	}
	for i, n := range p.g.Nodes {
		if err := l.visit(i, n); err != nil {
			return nil, err
		}
	}
	p.laid = l.laid
	laid := make([]op.Entry, len(outs))
	for i, e := range outs {
		laid[i] = l.now[e]
	}
	return laid, nil
}

func (l *layouter) visit(i int, n *op.Node) error {
	if n.IsVar() {
		l.now[n.Entry(0)], l.desc[n.Entry(0)] = n.Entry(0), l.p.desc(l.p.g.Entry(n.Entry(0)))
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
	l.laid[m] = r
	for j := range r.out {
		e := n.Entry(j)
		l.now[e] = m.Entry(j)
		d := l.p.desc(l.p.g.Entry(e))
		d.Layout, d.Bytes = r.out[j].Layout, r.out[j].Bytes
		l.desc[m.Entry(j)] = d
	}
	return nil
}

// choose prepares the kernel of node number i for inputs in; those that it wants in another layout
// are replaced.
func (l *layouter) choose(i int, n *op.Node, in []op.Entry) (*ready, error) {
	a := l.p.args(i, n, l.used)
	switch layout := l.common(n, in); {
	case layout != nil && n.Op.Pointwise && l.alike(i, n, a):
		return l.pointwise(n, a, in, layout)
	case n.Op.Layouts:
		return l.offer(i, n, a, in)
	case layout != nil && n.Op == prim.Concat.Op && n.Params.(prim.ConcatParams).Dim.Value() == 1 && l.free(i, 0):
		if r, err := l.concat(n, a, in, layout); r != nil || err != nil {
			return r, err
		}
	}
	if err := l.plain(n, in); err != nil {
		return nil, err
	}
	return l.p.ready(n, a)
}

// free reports whether output j of node number i may have any layout.
func (l *layouter) free(i, j int) bool {
	from, _ := l.p.g.Out(i)
	_, outside := l.p.slotOf[from+j]
	return !outside
}

// common returns the first layout among the inputs that is not plain.
func (l *layouter) common(n *op.Node, in []op.Entry) any {
	for k, e := range in {
		if lay, ok := l.desc[e].Layout.(cpu.Layout); ok && !ignores(n, k) {
			return lay
		}
	}
	return nil
}

// plain makes all inputs plain of which more than the shape is read.
func (l *layouter) plain(n *op.Node, in []op.Entry) (err error) {
	for k := range in {
		if !ignores(n, k) && err == nil {
			d := l.desc[in[k]]
			in[k], err = l.convert(in[k], op.Plain(d.DType, d.Shape))
		}
	}
	return err
}

// convert returns entry e in the layout of want.
func (l *layouter) convert(e op.Entry, want op.Desc) (op.Entry, error) {
	have := l.desc[e]
	if have.Layout == want.Layout {
		return e, nil
	}
	key := move{e, want.Layout}
	if m, ok := l.moved[key]; ok {
		return m, nil
	}
	if r := l.laid[e.Node]; r != nil && e.Node.Op.Derived && have.Layout == nil && l.reads[e] == 1 {
		a := *r.args
		a.Out = slices.Clone(a.Out)
		a.Out[e.Index] = want
		if again, err := l.p.ready(e.Node, &a); err == nil {
			l.laid[e.Node], l.desc[e] = again, want
			return e, nil
		}
	}
	n, err := op.NewNode(nn.Reorder.Op, e.Node.Name+"_reorder", nil, e)
	if err != nil {
		return e, err
	}
	n.Attrs = e.Node.Attrs
	if l.p.ex.spread != nil {
		n.Attrs = map[string]string{graph.GroupAttr: l.p.deviceOf(e.Node).String()}
	}
	r, err := l.p.ready(n, &op.Args{In: []op.Desc{have}, Out: []op.Desc{want}, Need: []bool{true}, Threads: device.Cores()})
	if err != nil {
		return e, err
	}
	m := n.Entry(0)
	l.laid[n], l.desc[m], l.moved[key] = r, want, m
	return m, nil
}

// offer prepares a kernel that looks at layouts.
func (l *layouter) offer(i int, n *op.Node, a *op.Args, in []op.Entry) (*ready, error) {
	for k, e := range in {
		a.In[k] = l.desc[e]
	}
	for j := range a.Out {
		a.Free = append(a.Free, l.free(i, j))
	}
	r, err := l.p.ready(n, a)
	if err == op.ErrUnsupported {
		if err := l.plain(n, in); err != nil {
			return nil, err
		}
		for k, e := range in {
			a.In[k] = l.desc[e]
		}
		r, err = l.p.ready(n, a)
	}
	if err != nil {
		return nil, err
	}
	for k, d := range r.in {
		if in[k], err = l.convert(in[k], d); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// alike reports whether all operands of a pointwise node have one shape and type, and no output has
// to be plain.
func (l *layouter) alike(i int, n *op.Node, a *op.Args) bool {
	same := func(d op.Desc) bool { return d.DType == a.Out[0].DType && d.Shape.Equal(a.Out[0].Shape) }
	for _, d := range a.In {
		if !same(d) {
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

// pointwise prepares the kernel as for plain arrays: where an element lies does not matter to it.
func (l *layouter) pointwise(n *op.Node, a *op.Args, in []op.Entry, layout any) (r *ready, err error) {
	for k := range in {
		want := a.In[k]
		want.Layout = layout
		if in[k], err = l.convert(in[k], want); err != nil {
			return nil, err
		}
	}
	if r, err = l.p.ready(n, a); err != nil {
		return nil, err
	}
	r.out = slices.Clone(r.out)
	for j := range r.out {
		r.out[j].Layout = layout
	}
	return r, nil
}

// concat prepares joining along channels as joining plain arrays that have the same memory, if
// the channels of every input fill the blocks of the layout.
func (l *layouter) concat(n *op.Node, a *op.Args, in []op.Entry, layout any) (r *ready, err error) {
	lay := layout.(cpu.Layout)
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
	if r, err = l.p.ready(n, a); err != nil {
		return nil, err
	}
	r.out = slices.Clone(r.out)
	r.out[0].Layout = layout
	return r, nil
}
