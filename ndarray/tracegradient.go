package ndarray

import (
	"fmt"
	"slices"
	"unsafe"

	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
	"gomx/op/prim"
)

// tracingOf returns the recording of the first array that is traced, nil if none is.
func tracingOf(arrays []*Array) *Tracing {
	for _, a := range arrays {
		if a != nil && a.traced() != nil {
			return a.traced()
		}
	}
	return nil
}

// differentiate records the gradients of heads as Gradients computes them.
func (t *Tracing) differentiate(heads, grads, wrt []*Array) ([]*Array, error) {
	if len(grads) > len(heads) {
		return nil, op.Errorf("grads", "%d gradients for %d heads", len(grads), len(heads))
	}
	entries := func(list []*Array, what string) ([]op.Entry, error) {
		out := make([]op.Entry, len(list))
		for i, a := range list {
			if a == nil && what == "gradient" {
				continue
			}
			if a == nil {
				return nil, op.Errorf(fmt.Sprintf("%s %d", what, i), "the array is nil")
			}
			out[i] = t.watch(a).entry()
		}
		return out, nil
	}
	from, err := entries(heads, "head")
	if err != nil {
		return nil, err
	}
	flows, err := entries(grads, "gradient")
	if err != nil {
		return nil, err
	}
	by, err := entries(wrt, "array")
	if err != nil {
		return nil, err
	}
	results, err := graph.Gradient(from, flows, by)
	if err != nil {
		return nil, err
	}
	out := make([]*Array, len(wrt))
	for i, a := range wrt {
		if !results[i].Valid() {
			out[i] = t.watch(Zeros(a.shape, On(t.chunk.dev), As(a.dtype), Using(t.chunk.eng)))
			continue
		}
		out[i] = t.result(results[i], a)
	}
	return out, nil
}

// result returns the traced array of an entry that is none of the recorded operations; it has the
// shape and the type of like.
func (t *Tracing) result(e op.Entry, like *Array) *Array {
	a := t.array(&step{node: op.Node{Op: prim.Identity.Op, In: []op.Entry{e}, Params: op.NoParams{}}}, 0,
		like.shape, like.dtype)
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &a.trace.step.node
	n.Name = t.unused("gradient")
	t.count(n)
	return a
}

// tracedFunction stands for a Function in a traced graph. Its first inputs are the outputs of
// Forward, which it passes on; its gradient is the graph that Backward has left behind.
var tracedFunction = op.Declare[functionParams]("_traced_function")

func init() {
	tracedFunction.Define(op.Spec[functionParams]{
		Traits: op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}, Moves: true,
			NoGrad: "its nodes bring the gradients of the functions that they stand for"},
		Inputs:  func(p functionParams) []op.Input { return numbered("input", p.Inputs) },
		Outputs: func(p functionParams) []string { return names(numbered("output", p.Outputs)) },
		Infer: func(p functionParams, in, out []dtype.Shape) error {
			if len(out) > len(in) {
				return op.Errorf("outputs", "%d, want at most the %d inputs", len(out), len(in))
			}
			for i := range out {
				if err := op.Same("output", &in[i], &out[i]); err != nil {
					return err
				}
			}
			return nil
		},
		InferType: func(p functionParams, in, out []dtype.Type) error {
			copy(out, in)
			return nil
		},
		Ref: func(p functionParams, c *op.Call) error {
			for i, t := range c.Out {
				copy(unsafe.Slice((*byte)(t.Data), t.Bytes),
					unsafe.Slice((*byte)(c.In[i].Data), t.Bytes))
			}
			return nil
		},
	})
}

// trace records a call of f: the operations of Forward, whose gradients are not used, and the
// operations of Backward as the gradient.
func (f Function) trace(t *Tracing, in []*Array) []*Array {
	watched, detached := make([]*Array, len(in)), make([]*Array, len(in))
	for i, a := range in {
		watched[i] = t.watch(a)
		detached[i] = watched[i].Detach()
	}
	results := f.checked(in, f.Forward(detached))
	out := make([]*Array, len(results))
	for i, a := range results {
		out[i] = t.watch(a)
	}
	s := &step{node: op.Node{Op: tracedFunction.Op, Site: op.CallSite()}}
	for _, a := range append(out, watched...) {
		s.node.In = append(s.node.In, a.entry())
	}
	if t.gradients {
		g := f.traceGradient(t, watched, out)
		s.node.Grad = g.of
		s.node.In = append(s.node.In, g.more...)
	}
	t.mu.Lock()
	s.node.Name = t.unused(f.name())
	t.count(&s.node)
	t.mu.Unlock()
	s.node.Params = functionParams{Inputs: len(s.node.In), Outputs: len(out)}
	for i, a := range out {
		out[i] = t.array(s, i, a.shape, a.dtype)
	}
	return out
}

// entry returns the entry that a traced array stands for.
func (a *Array) entry() op.Entry { return a.trace.step.node.Entry(a.trace.index) }

// gradientGraph is the graph of the gradient of a function. Its leaves are variables that stand for
// the node's outputs, inputs and output gradients, and for values of the forward graph that
// Backward reads, which are further inputs of the node.
type gradientGraph struct {
	grads []op.Entry // gradients of the inputs of the function; the zero Entry for zero
	outs  int
	heads []*op.Node            // variables for the gradients of outputs
	vars  map[*op.Node]op.Entry // variables for outputs, and entries of outputs
	slots map[*op.Node]int      // variables for inputs of the node, and their positions
	more  []op.Entry            // inputs of the node beyond the outputs and inputs of the function
}

// traceGradient records Backward.
func (f Function) traceGradient(t *Tracing, in, out []*Array) *gradientGraph {
	g := &gradientGraph{outs: len(out), vars: map[*op.Node]op.Entry{}, slots: map[*op.Node]int{}}
	leaf := func(like *Array) (*Array, *op.Node) {
		s := &step{node: op.Node{Name: "operand"}}
		return t.array(s, 0, like.shape, like.dtype), &s.node
	}
	args, outs := make([]*Array, len(in)), make([]*Array, len(out))
	heads := make([]*Array, len(out))
	for i, a := range out {
		var n *op.Node
		outs[i], n = leaf(a)
		g.vars[n] = op.Entry{Index: i}
		heads[i], n = leaf(a)
		g.heads = append(g.heads, n)
	}
	for i, a := range in {
		var n *op.Node
		args[i], n = leaf(a)
		g.slots[n] = len(out) + i
	}
	before := t.recorded()
	grads := f.Backward(args, outs, heads)
	if len(grads) != len(in) {
		panic(misuse(f.name(), "", "Backward returned %d gradients for %d inputs", len(grads),
			len(in)))
	}
	for i, a := range grads {
		switch {
		case a == nil:
			g.grads = append(g.grads, op.Entry{})
		case !a.shape.Equal(in[i].shape) || a.dtype != in[i].dtype:
			panic(misuse(f.name(), "", "Backward returned %v %v as gradient of input %d, want "+
				"%v %v", a.dtype, a.shape, i, in[i].dtype, in[i].shape))
		default:
			g.grads = append(g.grads, t.watch(a).entry())
		}
	}
	g.cut(func(n *op.Node) bool { return t.before(n, before) }, len(out)+len(in))
	return g
}

// cut replaces values of the forward graph by variables, which become inputs of the node from
// position first on. old reports whether a node was there before Backward was called.
func (g *gradientGraph) cut(old func(n *op.Node) bool, first int) {
	vars := map[op.Entry]op.Entry{}
	g.grads = substitute(g.grads, func(e op.Entry) (op.Entry, bool) {
		if _, ok := g.slots[e.Node]; ok {
			return e, true
		}
		if _, ok := g.vars[e.Node]; ok || slices.Contains(g.heads, e.Node) {
			return e, true
		}
		if !e.Node.IsVar() && !old(e.Node) {
			return e, false
		}
		v, ok := vars[e]
		if !ok {
			v = op.Var("operand").Entry(0)
			vars[e] = v
			g.slots[v.Node] = first + len(g.more)
			g.more = append(g.more, e)
		}
		return v, true
	})
}

// of returns the gradients of the inputs of a node.
func (g *gradientGraph) of(at *op.Grad) []op.Entry {
	grads := substitute(g.grads, func(e op.Entry) (op.Entry, bool) {
		if i, ok := g.slots[e.Node]; ok {
			return at.In(i), true
		}
		if out, ok := g.vars[e.Node]; ok {
			return at.Out(out.Index), true
		}
		if i := slices.Index(g.heads, e.Node); i >= 0 {
			return at.Head(i), true
		}
		return e, false
	})
	all := make([]op.Entry, len(at.Node.In))
	copy(all[g.outs:], grads)
	return all
}

// substitute returns entries of copies of the nodes below, where swap has replaced entries. An
// entry that swap does not replace stays, but for the inputs of its node.
func substitute(entries []op.Entry, swap func(e op.Entry) (op.Entry, bool)) []op.Entry {
	copies := map[*op.Node]*op.Node{}
	var of func(e op.Entry) op.Entry
	of = func(e op.Entry) op.Entry {
		if !e.Valid() {
			return e
		}
		if to, ok := swap(e); ok {
			return to
		}
		n := copies[e.Node]
		if n == nil {
			c := *e.Node
			c.In = make([]op.Entry, len(e.Node.In))
			for i, in := range e.Node.In {
				c.In[i] = of(in)
			}
			n = &c
			copies[e.Node] = n
		}
		return op.Entry{Node: n, Index: e.Index}
	}
	out := make([]op.Entry, len(entries))
	for i, e := range entries {
		out[i] = of(e)
	}
	return out
}

// PassFunctions takes the nodes that stand for a [Function] out of a traced graph that is not going
// to be differentiated: their outputs are the results of Forward.
func PassFunctions(g *Traced) {
	g.Outputs = substitute(g.Outputs, func(e op.Entry) (op.Entry, bool) {
		return e, e.Node.IsVar()
	})
	through := func(e op.Entry) op.Entry {
		for e.Node.Op == tracedFunction.Op {
			e = e.Node.In[e.Index]
		}
		return e
	}
	for i, e := range g.Outputs {
		g.Outputs[i] = through(e)
	}
	for _, n := range op.Topo(g.Outputs) {
		for i, e := range n.In {
			n.In[i] = through(e)
		}
	}
}
