package compile

import (
	"fmt"
	"slices"

	"gomx/graph"
	"gomx/op"
)

// number gives nodes and entries their numbers, and slots to the entries that live outside. The
// order is topological. The forward part comes first in training, so that it can run by itself;
// forms of parameters come first in inference and on queues, so that most runs can pass over them.
func number(u *Unit) error {
	p := u.prog
	first, all := u.Outs, u.all()
	if u.derivesFirst() {
		forms := derivedOf(all)
		first, all = append(forms, first...), append(forms[:len(forms):len(forms)], all...)
	}
	if !u.opt.Train {
		first = all
	}
	p.Graph = graph.IndexPhases(first, all)
	u.draft.forward = len(op.Topo(first))
	if err := u.describe(); err != nil {
		return err
	}
	return u.fillSlots()
}

// derivesFirst reports whether forms of parameters are made before everything else. Processors look
// at the versions of parameters when they come to a form in training, so that the first layer starts
// before the last parameter has arrived.
func (u *Unit) derivesFirst() bool { return !u.opt.Train || !u.opt.onHost() }

// derivedOf lists the outputs of the nodes below outs that compute another form of variables.
func derivedOf(outs []op.Entry) (list []op.Entry) {
	for _, n := range op.Topo(outs) {
		if n.IsVar() || !n.Op.Derived ||
			slices.ContainsFunc(n.In, func(e op.Entry) bool { return !e.Node.IsVar() }) {
			continue
		}
		for i := range n.NumOutputs() {
			list = append(list, n.Entry(i))
		}
	}
	return list
}

// describe writes the facts of the numbered entries down. It is the last place where a shape may
// turn out to be unknown: kernels are prepared for fixed shapes.
func (u *Unit) describe() error {
	p := u.prog
	p.Descs = make([]op.Desc, 0, p.Graph.NumEntries())
	for _, n := range p.Graph.Nodes {
		for i := range n.NumOutputs() {
			e := n.Entry(i)
			if !u.Facts.Known(e) {
				return fmt.Errorf("compile: output %s has shape %v and type %v: not enough is "+
					"known to run it", e, u.Facts.Shapes[e], u.Facts.Types[e])
			}
			p.Descs = append(p.Descs, op.Plain(u.Facts.Types[e], u.Facts.Shapes[e]))
		}
		if s := u.src.Values[n.Name]; n.IsVar() && s != op.Dense {
			d := &p.Descs[len(p.Descs)-1]
			*d = op.Stored(s, d.DType, d.Shape)
		}
	}
	for _, g := range u.Grads {
		if s := u.src.Stored[g.Arg]; s != op.Dense {
			d := &p.Descs[p.Graph.Entry(g.Entry)]
			*d = op.Stored(s, d.DType, d.Shape)
		}
	}
	return nil
}

// fillSlots makes the slots of all variables, outputs and gradients of the graph, in this order:
// slots that stages have asked for, outputs, gradients, variables. The stage layout numbers the
// graph a second time, so everything is made anew.
func (u *Unit) fillSlots() error {
	p := u.prog
	p.Slots, p.Outside, p.Outputs, p.Vars = slices.Clone(u.special), map[int]int{}, nil,
		map[string]int{}
	p.Memory.Outputs = 0
	for i := range u.special {
		p.Vars[u.special[i].Name] = i
	}
	for i, e := range u.Outs {
		want := u.src.Outputs[i]
		s, err := p.addSlot(Slot{Name: fmt.Sprint("output ", i), Kind: SlotOutput, Index: i,
			Device: u.opt.output(i), Sink: true}, e, u.descOf(want))
		if err != nil {
			return err
		}
		p.Outputs = append(p.Outputs, s)
		p.Memory.Outputs += int64(p.Slots[s].Desc.Bytes)
	}
	for _, g := range u.Grads {
		s, err := p.addSlot(Slot{Name: g.Arg + "_grad", Kind: SlotGradient, Arg: g.Arg,
			Device: u.opt.variable(g.Arg), Sink: g.Old == nil}, g.Entry,
			u.argument(g.Arg))
		if err != nil {
			return err
		}
		if g.Old != nil {
			if i, ok := p.Graph.Node(g.Old); ok {
				e, _ := p.Graph.Out(i)
				p.Outside[e] = s
			}
		}
	}
	for i, n := range p.Graph.Nodes {
		e, _ := p.Graph.Out(i)
		if _, done := p.Outside[e]; done || !n.IsVar() {
			continue
		}
		if s, ok := p.Vars[n.Name]; ok {
			p.Outside[e] = s
			continue
		}
		s, err := p.addSlot(Slot{Name: n.Name, Kind: SlotVariable, Arg: n.Name,
			Device: u.opt.variable(n.Name), Learned: u.opt.wants(n.Name)}, n.Entry(0), p.Descs[e])
		if err != nil {
			return err
		}
		p.Vars[n.Name] = s
	}
	return nil
}

// descOf describes an entry by its facts.
func (u *Unit) descOf(e op.Entry) op.Desc { return op.Plain(u.Facts.Types[e], u.Facts.Shapes[e]) }

// argument describes the gradient of an argument by the facts of the source: it has the shape and
// the type of the argument also where the graph computes in a narrow one.
func (u *Unit) argument(name string) op.Desc {
	i := slices.IndexFunc(u.src.Args, func(v *op.Node) bool { return v.Name == name })
	d := u.descOf(u.src.Args[i].Entry(0))
	return op.Stored(u.src.Stored[name], d.DType, d.Shape)
}

// addSlot makes the slot of entry e, whose array is described by want. An entry of another shape or
// type is an error: an output or gradient would be written in a form that its array does not have.
func (p *Program) addSlot(s Slot, e op.Entry, want op.Desc) (int, error) {
	id := p.Graph.Entry(e)
	if have := p.Descs[id]; !have.Shape.Equal(want.Shape) || have.DType != want.DType {
		return 0, fmt.Errorf("compile: %s is computed as %v %v, want %v %v", s.Name, have.DType,
			have.Shape, want.DType, want.Shape)
	}
	s.Desc = want
	p.Slots = append(p.Slots, s)
	p.Outside[id] = len(p.Slots) - 1
	return len(p.Slots) - 1, nil
}
