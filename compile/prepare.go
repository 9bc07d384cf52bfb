package compile

import (
	"encoding/binary"
	"math"
	"slices"

	"gomx/graph"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
)

// ready is a node whose kernel has been prepared, with the descriptions of its operands.
type ready struct {
	kernel  *op.Prepared
	args    *op.Args  // the question: operands as the graph has them
	in, out []op.Desc // the answer: operands as the kernel wants them, layouts included
}

// used marks the entries that are read, or live in an array outside. An entry of which only the
// shape is read is not used.
func (p *Program) used() []bool {
	used := make([]bool, p.Graph.NumEntries())
	for _, n := range p.Graph.Nodes {
		for k, e := range n.In {
			used[p.Graph.Entry(e)] = used[p.Graph.Entry(e)] || !ignores(n, k)
		}
	}
	for e := range p.Outside {
		used[e] = true
	}
	return used
}

// ignores reports whether node n reads only the shape of its input k.
func ignores(n *op.Node, k int) bool { return slices.Contains(n.Op.Ignores, k) }

// args describes the operands of node number i as plain arrays, but for values that only the
// operator's own gradient reads: those have the layout that the forward kernel has chosen. Need
// says which outputs some step reads, and Free which ones may have a layout.
func (u *Unit) args(i int, n *op.Node, used []bool) *op.Args {
	p := u.prog
	a := &op.Args{Train: u.trains(n), Threads: u.threads(), Ready: u.bodies(n)}
	for _, e := range n.In {
		d, private := u.draft.private[p.Graph.Entry(e)]
		if !private {
			d = p.Descs[p.Graph.Entry(e)]
		}
		a.In = append(a.In, d)
	}
	from, to := p.Graph.Out(i)
	for e := from; e < to; e++ {
		a.Out = append(a.Out, p.Descs[e])
		a.Need = append(a.Need, used[e])
	}
	if _, outside := p.Outside[to-1]; n.Op.Keeps && !outside {
		a.Free = make([]bool, len(a.Out))
		a.Free[len(a.Out)-1] = true
	}
	return a
}

// threads returns the most threads of a kernel.
func (u *Unit) threads() int { return max(u.opt.Target.Threads, 1) }

// ready prepares the kernel of a node. Errors name the operator, the node and the line that made
// it.
func (u *Unit) ready(n *op.Node, a *op.Args) (*ready, error) {
	r, err := u.attempt(n, a)
	if err != nil {
		return nil, op.WithOp(err, n.Op.Name, n.Name, n.Site)
	}
	return r, nil
}

// attempt prepares the kernel of a node. The error is op.ErrUnsupported where plain operands would
// be served. It names no node.
func (u *Unit) attempt(n *op.Node, a *op.Args) (*ready, error) {
	if n.Op == prim.CrossDeviceCopy.Op {
		return u.copies(n, a), nil
	}
	k, err := n.Op.Prepare(u.deviceOf(n), u.opt.Target.Tier, n.Params, a)
	if err != nil {
		return nil, err
	}
	return &ready{k, a, k.In, k.Out}, nil
}

// prepare readies the kernel of every node that the stage layout has not prepared, and makes the
// steps. It goes in the order of the graph, because a gradient needs the layouts of the values that
// its forward operator keeps for it.
func prepare(u *Unit) error {
	p := u.prog
	used := p.used()
	u.draft.private = map[int]op.Desc{}
	for i, n := range p.Graph.Nodes {
		if n.IsVar() {
			continue
		}
		r := u.draft.laid[n]
		if r == nil {
			var err error
			if r, err = u.ready(n, u.args(i, n, used)); err != nil {
				return err
			}
		}
		from, _ := p.Graph.Out(i)
		for j, d := range r.out {
			if d.Layout != nil {
				u.draft.private[from+j] = d
			}
		}
		p.Steps = append(p.Steps, newStep(n, i, r, u.trains(n)))
		u.keep(&p.Steps[len(p.Steps)-1])
	}
	return nil
}

// trains reports whether node n computes as in training. Dropout is the one kind of operator that
// an executor switches off alone, for gradients of a run without dropout.
func (u *Unit) trains(n *op.Node) bool {
	return u.opt.Train && !u.opt.Frozen && !(u.opt.NoDropout && IsDropout(n))
}

// IsDropout reports whether n is a dropout or its gradient, or attention that drops weights.
func IsDropout(n *op.Node) bool {
	return n.Op == nn.Dropout.Op || n.Op == nn.DropoutGrad.Op || nn.DropsWeights(n)
}

// newStep makes the step of node number i. Outputs that no step reads get no bytes, so that kernels
// need not compute them. A step of which nothing is read is dead, unless it changes a state.
func newStep(n *op.Node, i int, r *ready, train bool) Step {
	s := Step{Node: n, Index: i, Stream: graph.Stream(n), Kernel: r.kernel, Scratch: -1,
		Dead: !slices.Contains(r.args.Need, true) && len(n.Op.Changes(n.Params)) == 0}
	s.Call.Train = train
	s.Call.In = make([]op.Tensor, len(r.in))
	s.Call.Out = make([]op.Tensor, len(r.out))
	for j, d := range r.in {
		s.Call.In[j].Desc = d
	}
	for j, d := range r.out {
		s.Call.Out[j].Desc = d
		if !r.args.Need[j] {
			s.Call.Out[j].Bytes = 0
		}
	}
	return s
}

// keep gives the outputs of step s slots of their own, if its operator derives them from nothing
// but arguments and auxiliary states. Executors with one arena find equal forms by the key and
// share them, so a weight is blocked once for all of them.
func (u *Unit) keep(s *Step) {
	p, n := u.prog, s.Node
	if !n.Op.Derived {
		return
	}
	f := &Form{Key: formKey(n)}
	for _, e := range n.In {
		slot, ok := p.Outside[p.Graph.Entry(e)]
		if !ok || p.Slots[slot].Kind != SlotVariable {
			return
		}
		f.Inputs = append(f.Inputs, slot)
	}
	from, _ := p.Graph.Out(s.Index)
	for j := range s.Call.Out {
		d := s.Call.Out[j].Desc
		p.Slots = append(p.Slots, Slot{Name: n.Entry(j).String(), Kind: SlotKept, Desc: d,
			Device: u.deviceOf(n), Sink: true,
			Learned: u.opt.Train && u.derivesFirst()})
		p.Outside[from+j] = len(p.Slots) - 1
		f.Outputs = append(f.Outputs, len(p.Slots)-1)
		p.Memory.Kept += int64(d.Bytes)
	}
	s.Form = f
}

// formKey spells the operator of a node and all its parameters, the ones that change from run to
// run included: forms are shared only where nothing differs.
func formKey(n *op.Node) string {
	key := n.Op.AppendKey(append([]byte(n.Op.Name), 0), n.Params)
	for _, v := range n.Op.AppendRun(nil, n.Params) {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
	}
	return string(key)
}
