package symbol

import (
	"fmt"

	"gomx/op"
	"gomx/op/control"
)

// Foreach runs body once for each row of data, which are one or more arrays with the same number of
// rows. The body gets one row of each and the states, and returns rows of the outputs and the new
// states. Foreach returns the outputs with the rows of all steps, and the states after the last
// step:
//
//	sums, last := sym.Foreach(func(row, s []*sym.Symbol) (outs, states []*sym.Symbol) {
//		sum := sym.ElemwiseAdd(row[0], s[0])
//		return []*sym.Symbol{sum}, []*sym.Symbol{sum}
//	}, []*sym.Symbol{data}, []*sym.Symbol{start})
//
// The body may read symbols around it. What it composes becomes the graph inside a _foreach node;
// symbols that were composed outside are computed once. To tell the two apart Foreach calls body
// twice: it must compose the same graph each time.
func Foreach(body func(row, states []*Symbol) (outs, next []*Symbol), data, states []*Symbol,
	opts ...Option) (outs, last []*Symbol) {
	c, site := config(opts), op.CallSite()
	n, err := foreach(body, data, states, c.name)
	return results(n, err, control.Foreach.Op, c, site, len(states))
}

func foreach(body func(row, states []*Symbol) (outs, next []*Symbol), data, states []*Symbol,
	name string) (*op.Node, error) {
	in, first, err := loopInputs(data, states)
	if err != nil {
		return nil, err
	}
	var b control.ForeachBody
	b.Outside, err = twice(func() ([]op.Entry, error) {
		taken := map[string]bool{}
		b.Rows, b.States = control.Placeholders(in, taken), control.Placeholders(first, taken)
		outs, next := body(symbolsOf(b.Rows), symbolsOf(b.States))
		if b.Outs, err = entriesOf("output", outs); err != nil {
			return nil, err
		}
		b.Next, err = entriesOf("state", next)
		return append(b.Outs[:len(b.Outs):len(b.Outs)], b.Next...), err
	})
	if err != nil {
		return nil, err
	}
	return control.NewForeach(name, in, first, b)
}

// WhileLoop runs body as long as cond is not zero, at most max times. Both get the loop variables.
// The body returns rows of the outputs and the new variables. The outputs have max rows; rows of
// steps that are not taken are zeros. As Foreach it calls cond and body twice.
func WhileLoop(cond func(vars []*Symbol) *Symbol, body func(vars []*Symbol) (outs, next []*Symbol),
	vars []*Symbol, max int, opts ...Option) (outs, last []*Symbol) {
	c, site := config(opts), op.CallSite()
	n, err := whileLoop(cond, body, vars, max, c.name)
	return results(n, err, control.WhileLoop.Op, c, site, len(vars))
}

func whileLoop(cond func(vars []*Symbol) *Symbol, body func(vars []*Symbol) (outs, next []*Symbol),
	vars []*Symbol, max int, name string) (*op.Node, error) {
	first, _, err := loopInputs(vars, nil)
	if err != nil {
		return nil, err
	}
	var b control.WhileBody
	b.Outside, err = twice(func() ([]op.Entry, error) {
		b.CondVars = control.Placeholders(first, map[string]bool{})
		b.Vars = control.Placeholders(first, map[string]bool{})
		pred, err := entriesOf("condition", []*Symbol{cond(symbolsOf(b.CondVars))})
		if err != nil {
			return nil, err
		}
		b.Cond = pred[0]
		outs, next := body(symbolsOf(b.Vars))
		if b.Outs, err = entriesOf("output", outs); err != nil {
			return nil, err
		}
		b.Next, err = entriesOf("loop variable", next)
		return append(append(pred, b.Outs...), b.Next...), err
	})
	if err != nil {
		return nil, err
	}
	return control.NewWhileLoop(name, first, max, b)
}

// Cond computes one of two branches: then if pred, a single number, is not zero, and otherwise
// els. Both return the same number of symbols of the same shapes and types. The branches read
// symbols around them; only symbols that a branch composes itself are left uncomputed when the
// other one is taken. To tell them apart Cond calls then and els twice.
func Cond(pred *Symbol, then, els func() []*Symbol, opts ...Option) []*Symbol {
	c, site := config(opts), op.CallSite()
	n, err := cond(pred, then, els, c.name)
	outs, _ := results(n, err, control.Cond.Op, c, site, 0)
	return outs
}

func cond(pred *Symbol, then, els func() []*Symbol, name string) (*op.Node, error) {
	p, err := entriesOf("condition", []*Symbol{pred})
	if err != nil {
		return nil, err
	}
	b := control.CondBody{Pred: p[0]}
	b.Outside, err = twice(func() ([]op.Entry, error) {
		if b.Then, err = entriesOf("output of the first branch", then()); err != nil {
			return nil, err
		}
		b.Else, err = entriesOf("output of the second branch", els())
		return append(b.Then[:len(b.Then):len(b.Then)], b.Else...), err
	})
	if err != nil {
		return nil, err
	}
	return control.NewCond(name, b)
}

// twice calls compose two times. Nodes that occur in both results were made before; all others are
// inside of a body.
func twice(compose func() ([]op.Entry, error)) (control.Outside, error) {
	first, err := compose()
	if err != nil {
		return nil, err
	}
	before := map[*op.Node]bool{}
	for _, n := range op.Topo(first) {
		before[n] = true
	}
	if _, err := compose(); err != nil {
		return nil, err
	}
	return func(n *op.Node) bool { return before[n] }, nil
}

// loopInputs returns the entries of data and states.
func loopInputs(data, states []*Symbol) (in, first []op.Entry, err error) {
	if in, err = entriesOf("input", data); err != nil {
		return nil, nil, err
	}
	first, err = entriesOf("state", states)
	return in, first, err
}

// entriesOf returns the entries of symbols of one output each.
func entriesOf(what string, list []*Symbol) ([]op.Entry, error) {
	entries := []op.Entry{}
	for i, s := range list {
		switch {
		case s == nil:
			return nil, op.Errorf(fmt.Sprintf("%s %d", what, i), "nil, want a symbol")
		case s.err != nil:
			return nil, s.err
		case len(s.outputs) != 1:
			return nil, op.Errorf(fmt.Sprintf("%s %d", what, i),
				"a symbol of %d outputs, want one: pick with At", len(s.outputs))
		}
		entries = append(entries, s.outputs[0])
	}
	return entries, nil
}

// symbolsOf wraps variables.
func symbolsOf(vars []*op.Node) []*Symbol {
	list := make([]*Symbol, len(vars))
	for i, v := range vars {
		list[i] = &Symbol{outputs: []op.Entry{v.Entry(0)}}
	}
	return list
}

// results wraps the visible outputs of a node, the last ones apart. A mistake is in all of them; a
// caller that indexes the outputs finds at least one.
func results(n *op.Node, err error, o *op.Op, c *options, site string, last int) (outs,
	states []*Symbol) {
	if err != nil {
		failed := &Symbol{err: op.WithOp(err, o.Name, c.name, site)}
		for range last {
			states = append(states, failed)
		}
		return []*Symbol{failed}, states
	}
	n.Attrs, n.Site = c.attrs, site
	visible := n.NumVisible()
	for i := range visible {
		outs = append(outs, &Symbol{outputs: []op.Entry{n.Entry(i)}})
	}
	return outs[: visible-last : visible-last], outs[visible-last:]
}
