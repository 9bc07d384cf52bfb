package symbol

import (
	"slices"

	"gomx/device"
	"gomx/graph"
	"gomx/op"
	"gomx/op/prim"
)

// step is one node ready to run.
type step struct {
	node     *op.Node
	index    int // of the node
	kernel   *op.Prepared
	call     op.Call // what every run of it is given, without addresses
	dead     bool    // nobody reads more than the shapes of its outputs
	skip     bool    // dead, or it only renames memory
	keep     *keeper
	internal []operand
	external []operand
	scratch  int64  // offset of the scratch memory, -1 without
	room     int    // of the arena that holds it
	stream   uint64 // of random numbers
}

// operand is a tensor of a call whose address is filled in: it lies in the array of a slot, or at
// an offset in the arena.
type operand struct {
	out    bool
	index  int
	slot   int
	offset int64
	room   int // of the arena that the offset counts in
}

// of returns the tensor of a call that o is about.
func (o *operand) of(c *op.Call) *op.Tensor {
	if o.out {
		return &c.Out[o.index]
	}
	return &c.In[o.index]
}

// used marks the entries that are read, or live in an array outside.
func (p *program) used() []bool {
	used := make([]bool, p.g.NumEntries())
	for _, n := range p.g.Nodes {
		for k, e := range n.In {
			used[p.g.Entry(e)] = used[p.g.Entry(e)] || !ignores(n, k)
		}
	}
	for e := range p.slotOf {
		used[e] = true
	}
	return used
}

// args describes the operands of node number i as plain arrays.
func (p *program) args(i int, n *op.Node, used []bool) *op.Args {
	a := &op.Args{Train: p.train, Threads: device.Cores()}
	for _, e := range n.In {
		d, private := p.private[p.g.Entry(e)]
		if !private {
			d = p.desc(p.g.Entry(e))
		}
		a.In = append(a.In, d)
	}
	from, to := p.g.Out(i)
	for e := from; e < to; e++ {
		a.Out = append(a.Out, p.desc(e))
		a.Need = append(a.Need, used[e])
	}
	if _, outside := p.slotOf[to-1]; n.Op.Keeps && !outside {
		a.Free = make([]bool, to-from)
		a.Free[to-from-1] = true
	}
	return a
}

// ready is a node whose kernel has been prepared, with what the kernel is told of its operands.
type ready struct {
	kernel  *op.Prepared
	args    *op.Args
	in, out []op.Desc
}

// ready prepares the kernel of a node. The error is op.ErrUnsupported where plain operands would be
// served.
func (p *program) ready(n *op.Node, a *op.Args) (*ready, error) {
	if n.Op == prim.CrossDeviceCopy.Op {
		return p.copies(n, a), nil
	}
	k, err := n.Op.Prepare(p.deviceOf(n), device.MaxTier(), n.Params, a)
	if err == op.ErrUnsupported {
		return nil, err
	}
	if err != nil {
		return nil, op.WithOp(err, n.Op.Name, n.Name, n.Site)
	}
	return &ready{k, a, k.In, k.Out}, nil
}

// prepare readies the kernel of every node.
func (p *program) prepare() error {
	used := p.used()
	p.private = map[int]op.Desc{}
	for i, n := range p.g.Nodes {
		if n.IsVar() {
			continue
		}
		r := p.laid[n]
		if r == nil {
			var err error
			if r, err = p.ready(n, p.args(i, n, used)); err != nil {
				return err
			}
		}
		from, _ := p.g.Out(i)
		for j, d := range r.out {
			if n.Op.Keeps && d.Layout != nil {
				p.private[from+j] = d
			}
		}
		s := step{node: n, index: i, stream: graph.Stream(n), kernel: r.kernel, scratch: -1, dead: !slices.Contains(r.args.Need, true) && len(n.Op.Mutates) == 0}
		s.call.Train = p.train
		s.call.In = make([]op.Tensor, len(r.in))
		s.call.Out = make([]op.Tensor, len(r.out))
		for j, d := range r.in {
			s.call.In[j].Desc = d
		}
		for j, d := range r.out {
			s.call.Out[j].Desc = d
			if !r.args.Need[j] {
				s.call.Out[j].Bytes = 0
			}
		}
		first := len(p.slots)
		p.keep(&s)
		for k := first; k < len(p.slots); k++ {
			p.slots[k].kept = true
		}
		p.steps = append(p.steps, s)
	}
	return nil
}

func (p *program) desc(e int) op.Desc { return op.Plain(p.types[e], p.shapes[e]) }

func ignores(n *op.Node, k int) bool {
	for _, i := range n.Op.Ignores {
		if i == k {
			return true
		}
	}
	return false
}
