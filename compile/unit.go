package compile

import (
	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
)

// Unit is a graph on its way through the stages. It belongs to one compilation and one goroutine.
//
// Invariants, which hold before and after every stage:
//
//  1. Outs and the entries of Grads are distinct, and none of them is a variable, so that each can
//     be written to an array of its own.
//  2. Facts know every entry that Outs and Grads depend on, from the first inference on.
//  3. The number and the order of Outs and Grads stay, once their stage has made them.
type Unit struct {
	Outs  []op.Entry   // outputs of the forward part, in the order of the source
	Grads []Gradient   // gradients, of the last layers first; none before the stage that adds them
	Facts *graph.Facts // shapes and types of all entries that exist, at every stage

	src *Source  // read only
	opt *Options // read only

	// special are slots of variables that stages have made: loss scale and head gradients. The
	// stage number puts them before all other slots.
	special []Slot

	// prog is the program to be: the stages from number on fill it in.
	prog  *Program
	draft draft
}

// Gradient is one gradient that a program computes.
type Gradient struct {
	Arg   string   // name of the argument
	Entry op.Entry // entry that ends in the gradient array

	// Old is the variable that stands for the content of the gradient array where the gradient is
	// added to it; nil where the array is overwritten.
	Old *op.Node
}

// draft is the knowledge about a numbered graph that only later stages need. It is no part of the
// program.
type draft struct {
	// forward is the number of nodes of the forward part, variables included. They come first.
	forward int

	// laid has the kernels that the stage layout has prepared, whose operands need not be plain.
	laid map[*op.Node]*ready

	// private has, by entry number, the descriptions of values that only the operator's own
	// gradient reads, in a layout of the kernel's choice.
	private map[int]op.Desc

	// lanes has the lanes of nodes among the lanes for kernels, from 0 on; nil: all in one.
	lanes map[*op.Node]int

	// scratch has, by position of a step, the buffer of its scratch memory in the plan.
	scratch map[int]int
}

// newUnit begins a compilation: outputs are claimed, and the operators of the source are counted
// for the report.
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

// all returns the outputs, then the gradients, in a list that the caller may change.
func (u *Unit) all() []op.Entry {
	list := append([]op.Entry{}, u.Outs...)
	for _, g := range u.Grads {
		list = append(list, g.Entry)
	}
	return list
}

// become makes a list the outputs and gradients of u, in the order of all. The list belongs to u
// afterwards.
func (u *Unit) become(list []op.Entry) {
	u.Outs = list[:len(u.Outs):len(u.Outs)]
	for i := range u.Grads {
		u.Grads[i].Entry = list[len(u.Outs)+i]
	}
}

// rewrite runs a pass over the whole graph and reports it. Facts of new nodes are inferred from
// their inputs alone, so that a pass costs no inference of the whole graph.
func (u *Unit) rewrite(s *Stage, p graph.Pass) error {
	list, changes, report, err := graph.Apply(p, u.all(), u.Facts)
	if err != nil {
		return err
	}
	u.become(list)
	u.prog.Applied = append(u.prog.Applied, Applied{Stage: s, Changes: changes, List: report})
	return nil
}

// variable makes a variable with an array of its own, and the slot for it. The executor fills the
// array, as the kind of the slot says.
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
