package compile

import (
	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
)

// Body is the program of a graph inside an operator, such as the body of a loop. Its memory lies in
// the scratch memory of the operator, so the plan of the outer program covers it. Its slots are
// addresses that a runner gets anew for each step: there is no array behind them, and no engine
// orders its steps, which run one after the other.
type Body struct {
	*Program
	Inputs  []int  // slots by input of the graph; -1 where the program does not read the input
	Outputs []int  // slots by output of the graph; -1 for outputs that are not wanted
	Fixed   []bool // by slot: a variable that stays the same while a loop runs
}

// bodies returns the function that compiles the graphs inside node n and makes them ready to run;
// nil where the node has none, or where nothing is injected that runs them.
func (u *Unit) bodies(n *op.Node) func(op.BodyArgs) (*op.Body, error) {
	if u.opt.Target.Runner == nil || n.Op.NumGraphs() == 0 {
		return nil
	}
	return func(a op.BodyArgs) (*op.Body, error) {
		b, err := u.body(n, a)
		if err != nil {
			return nil, err
		}
		return u.opt.Target.Runner(b), nil
	}
}

// body compiles a graph inside node n. Outputs that are not wanted are left out, but they count
// where nodes that draw random numbers are numbered: the numbers that a node draws do not depend on
// the outputs that are wanted.
func (u *Unit) body(n *op.Node, a op.BodyArgs) (*Body, error) {
	facts, err := bodyFacts(a)
	if err != nil {
		return nil, err
	}
	outs, _ := graph.Streams(a.Graph.Outputs, facts)
	src := Source{Facts: facts}
	b := &Body{}
	for i, e := range outs {
		if !a.Need[i] {
			b.Outputs = append(b.Outputs, -1)
			continue
		}
		b.Outputs = append(b.Outputs, len(src.Outputs))
		src.Outputs = append(src.Outputs, e)
	}
	for k, v := range a.Graph.Inputs {
		if !a.Graph.Changed()[k] {
			src.Args = append(src.Args, v)
		}
	}
	o := *u.opt
	o.Train, o.Device, o.Spread, o.Single = a.Train, u.deviceOf(n), nil, false
	o.Grads, o.LossScale, o.Recompute, o.Streams = nil, nil, 0, 1
	if b.Program, err = Compile(src, o); err != nil {
		return nil, err
	}
	b.Fixed = make([]bool, len(b.Slots))
	for k, v := range a.Graph.Inputs {
		slot, ok := b.Vars[v.Name]
		if !ok {
			slot = -1
		} else {
			b.Fixed[slot] = a.Fixed[k]
		}
		b.Inputs = append(b.Inputs, slot)
	}
	for i, k := range b.Outputs {
		if k >= 0 {
			b.Outputs[i] = b.Program.Outputs[k]
		}
	}
	return b, nil
}

// bodyFacts infers the shapes and types of a graph inside an operator from its operands.
func bodyFacts(a op.BodyArgs) (*graph.Facts, error) {
	read := map[*op.Node]bool{}
	for _, n := range a.Graph.Nodes() {
		read[n] = true
	}
	known := Given{Shapes: map[string]dtype.Shape{}, Types: map[string]dtype.Type{}}
	for k, v := range a.Graph.Inputs {
		if read[v] {
			known.Shapes[v.Name], known.Types[v.Name] = a.In[k].Shape, a.In[k].DType
		}
	}
	r, err := Infer(a.Graph.Outputs, known)
	if err != nil {
		return nil, err
	}
	return r.Facts(), nil
}
