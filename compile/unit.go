package compile

import (
	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
)

// Unit is a graph on its way through the stages. It belongs to one compilation.
type Unit struct {
	Outs  []op.Entry   // outputs of the forward part
	Grads []Gradient   // gradients, of the last layers first; none before the stage that adds them
	Facts *graph.Facts // shapes and types of all entries that exist, at every stage

	src     *Source
	opt     *Options
	special []Slot // slots of variables that stages have made: loss scale, head gradients
	prog    *Program
	draft   draft
}

// Gradient is one gradient that a program computes.
type Gradient struct {
	Arg   string
	Entry op.Entry
	Old   *op.Node // variable that stands for the content of the array, when adding to it
}

// draft is the knowledge about a numbered graph that only later stages need.
type draft struct {
	forward int // number of nodes of the forward part
	// kernels prepared by the stage layout, whose operands need not be plain
	laid map[*op.Node]*ready
	// by entry: layouts of values that only the operator's own gradient reads
	private map[int]op.Desc
	lanes   map[*op.Node]int // lanes of nodes among the lanes for kernels; nil: all in one
	scratch map[int]int      // by step: buffer of its scratch memory
}

func newUnit(src *Source, o *Options) *Unit {
	u := &Unit{src: src, opt: o, Facts: src.Facts.Clone()}
	u.Facts.Device = o.Device
	u.prog = &Program{Train: o.Train}
	u.Outs = u.claim()
	for _, n := range op.Topo(src.Outputs) {
		if !n.IsVar() {
			u.prog.Composed++
		}
	}
	return u
}

// claim returns the outputs, each as an entry of its own that no variable and no other output owns,
// so that each can be written to an array of its own.
func (u *Unit) claim() []op.Entry {
	claimed := map[op.Entry]bool{}
	outs := make([]op.Entry, len(u.src.Outputs))
	for i, e := range u.src.Outputs {
		outs[i] = u.own(e, claimed)
	}
	return outs
}

// own returns e, or a copy of it when e is a variable or claimed already; it claims the result.
func (u *Unit) own(e op.Entry, claimed map[op.Entry]bool) op.Entry {
	if e.Node.IsVar() || claimed[e] {
		e = u.Facts.Copied(e)
	}
	claimed[e] = true
	return e
}

// all returns the outputs, then the gradients.
func (u *Unit) all() []op.Entry {
	list := append([]op.Entry{}, u.Outs...)
	for _, g := range u.Grads {
		list = append(list, g.Entry)
	}
	return list
}

// become makes a list the outputs and gradients of u, in the order of all.
func (u *Unit) become(list []op.Entry) {
	u.Outs = list[:len(u.Outs):len(u.Outs)]
	for i := range u.Grads {
		u.Grads[i].Entry = list[len(u.Outs)+i]
	}
}

// rewrite runs a pass over the whole graph and reports it.
func (u *Unit) rewrite(s *Stage, p graph.Pass) error {
	list, changes, report, err := graph.Apply(p, u.all(), u.Facts)
	if err != nil {
		return err
	}
	u.become(list)
	u.prog.Applied = append(u.prog.Applied, Applied{Stage: s, Changes: changes, List: report})
	return nil
}

// variable makes a variable with an array of its own, and the slot for it.
func (u *Unit) variable(s Slot, shape dtype.Shape, t dtype.Type) op.Entry {
	s.Desc = op.Plain(t, shape)
	u.special = append(u.special, s)
	e := op.Var(s.Name).Entry(0)
	u.Facts.Set(e, shape, t)
	return e
}

// slot returns the slot that a stage has made for a variable, by name; nil for other variables.
func (u *Unit) slot(name string) *Slot {
	for i := range u.special {
		if u.special[i].Name == name {
			return &u.special[i]
		}
	}
	return nil
}
