package control

import (
	"gomx/device"
	"gomx/dtype"
	"gomx/op"
)

func init() {
	Foreach.Define(spec(foreachLoop, op.Spec[ForeachParams]{
		Traits: op.Traits{Hidden: true, Random: true, Precision: op.Wide,
			Doc: `Foreach runs a graph once for each row of its data.

The body takes one row of each data input and the states, and returns rows of the outputs and the
new states. Other inputs are the same in all steps.`},
		Visible: func(p ForeachParams) int { return p.NumOutputs },
		Check:   checkForeach,
	}))
	WhileLoop.Define(spec(whileLoop, op.Spec[WhileLoopParams]{
		Traits: op.Traits{Hidden: true, Random: true, Precision: op.Wide,
			Doc: `WhileLoop runs a graph as long as another one says so.

Both take the loop variables. The body returns rows of the outputs and the new variables. The
outputs have max_iterations rows; rows of steps that are not taken are zeros.`},
		Visible: func(p WhileLoopParams) int { return p.NumOutputs },
		Check:   checkWhile,
	}))
	scan.Define(spec(scanLoop, op.Spec[scanParams]{
		Traits:  op.Traits{Hidden: true, Random: true, Precision: op.Wide},
		Visible: func(p scanParams) int { return p.NumOutData + p.States },
		Check:   checkScan,
	}))
}

// spec completes the definition of a loop with functions of its common form.
func spec[P any](form func(P) *loop, s op.Spec[P]) op.Spec[P] {
	s.Inputs = func(p P) []op.Input {
		l := form(p)
		return inputNames(l.inputs, l.changes())
	}
	s.Outputs = func(p P) []string { return form(p).outputs() }
	s.Changes = func(p P) []int { return form(p).changes() }
	s.Draws = func(p P) bool { return form(p).draws() }
	s.Infer = func(p P, in, out []dtype.Shape) error { return form(p).inferShape(in, out) }
	s.InferType = func(p P, in, out []dtype.Type) error { return form(p).inferType(in, out) }
	s.FLOPs = func(p P, in, _ []dtype.Shape) int64 { return form(p).flops(in) }
	s.Grad = func(g *op.Grad, p P) []op.Entry { return form(p).grad(g) }
	s.Ref = func(p P, c *op.Call) error { return reference(form(p).prepare, c) }
	return s
}

// reference runs a kernel whose graphs are interpreted.
func reference(prepare func(*op.Args) (*op.Prepared, error), c *op.Call) error {
	a := &op.Args{Train: c.Train, Threads: 1, Device: device.CPU()}
	for _, t := range c.In {
		a.In = append(a.In, t.Desc)
	}
	for _, t := range c.Out {
		a.Out, a.Need = append(a.Out, t.Desc), append(a.Need, t.Data != nil)
	}
	k, err := prepare(a)
	if err != nil {
		return err
	}
	inner := *c
	inner.Scratch = allocate(k.Scratch)
	return k.Run(&inner)
}

// flops counts the operations of all steps, the most of them where a condition ends the loop.
func (l *loop) flops(in []dtype.Shape) int64 {
	shapes := make([]dtype.Shape, len(l.from))
	for k, s := range l.from {
		if shapes[k] = in[s.input]; s.kind == row {
			shapes[k] = tail(in[s.input])
		}
	}
	return int64(max(l.steps(in, nil), 0)) * graphFLOPs(l.body, shapes)
}

// graphFLOPs counts the operations of one run of a graph, 0 where shapes are unknown.
func graphFLOPs(g *op.Graph, in []dtype.Shape) int64 {
	all := &op.Graph{Inputs: g.Inputs}
	for _, n := range g.Nodes() {
		for i := range n.NumOutputs() {
			all.Outputs = append(all.Outputs, n.Entry(i))
		}
	}
	outs := make([]dtype.Shape, len(all.Outputs))
	if inferShapes(all, in, outs) != nil {
		return 0
	}
	known := map[op.Entry]op.Desc{}
	for i, e := range all.Outputs {
		known[e] = op.Desc{Shape: outs[i]}
	}
	sum := int64(0)
	for _, n := range g.Nodes() {
		if n.IsVar() {
			continue
		}
		var from, to []op.Desc
		for _, e := range n.In {
			from = append(from, known[e])
		}
		for i := range n.NumOutputs() {
			to = append(to, known[n.Entry(i)])
		}
		sum += n.Op.Cost(n.Params, from, to).FLOPs
	}
	return sum
}
