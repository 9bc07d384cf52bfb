package control

import (
	"slices"
	"unsafe"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// choice is a Cond by its parts. Its outputs are the results of a branch, the condition as a number
// for the gradient, and the values that the gradients of the branches read.
type choice struct {
	pred     *op.Graph
	predOf   []source
	branches [2]branch // for a condition that holds, and for one that does not
	outs     int
	inputs   int // inputs of the operator
}

// branch is one of the two graphs of a choice.
type branch struct {
	graph *op.Graph
	locs  []int // inputs of the operator, by input of the graph
}

func newChoice(p CondParams) *choice {
	c := &choice{pred: p.Pred, outs: p.NumOutputs, inputs: p.NumArgs - 3,
		branches: [2]branch{{p.Then, p.ThenInputLocs}, {p.Else, p.ElseInputLocs}}}
	for _, i := range p.CondInputLocs {
		c.predOf = append(c.predOf, source{kind: fixed, input: i})
	}
	return c
}

func checkCond(p CondParams) error {
	inputs := p.NumArgs - 3
	for _, list := range []struct {
		name string
		locs []int
		g    *op.Graph
	}{{"cond_input_locs", p.CondInputLocs, p.Pred}, {"then_input_locs", p.ThenInputLocs, p.Then},
		{"else_input_locs", p.ElseInputLocs, p.Else}} {
		if err := checkLocs(list.name, list.locs, inputs, list.g); err != nil {
			return err
		}
	}
	for i, g := range []*op.Graph{p.Then, p.Else} {
		if len(g.Outputs) != p.NumOutputs {
			return op.Errorf("num_outputs", "%d, graph %d has %d outputs", p.NumOutputs, i+1,
				len(g.Outputs))
		}
	}
	return checkPred(p.Pred)
}

// full returns a branch with the values that its gradient reads.
func (b *branch) full() *extended {
	n := len(b.graph.Inputs)
	return extend(b.graph, make([]bool, n), make([]bool, n))
}

// saved returns the number of values that a branch saves.
func (b *branch) saved() int { return len(b.full().graph.Outputs) - len(b.graph.Outputs) }

// from returns the first output that holds a saved value of branch number i.
func (c *choice) from(i int) int {
	at := c.outs + 1
	if i == 1 {
		at += c.branches[0].saved()
	}
	return at
}

// outputOf returns the output of the operator for output k of the extended branch number i.
func (c *choice) outputOf(i, k int) int {
	if k < c.outs {
		return k
	}
	return c.from(i) + k - c.outs
}

func (c *choice) outputs() []string {
	n := c.branches[0].saved() + c.branches[1].saved()
	list := outputNames(c.outs, n)
	return slices.Insert(list, c.outs, "pred")
}

// changes lists the inputs that one of the branches changes in place.
func (c *choice) changes() (list []int) {
	for _, b := range c.branches {
		for k, changes := range b.graph.Changed() {
			if changes && !slices.Contains(list, b.locs[k]) {
				list = append(list, b.locs[k])
			}
		}
	}
	return list
}

func (c *choice) draws() bool {
	return c.pred.Draws() || c.branches[0].graph.Draws() || c.branches[1].graph.Draws()
}

func (c *choice) inferShape(in, out []dtype.Shape) error {
	m := merger[dtype.Shape]{f: &shapeFact}
	for i := range c.branches {
		if err := inferBranch(c, i, in, out, &m, inferShapes); err != nil {
			return err
		}
	}
	m.into(&out[c.outs], dtype.Shape{1}, "output", c.outs)
	if m.err != nil {
		return m.err
	}
	return inferPred(c.pred, c.predOf, in)
}

func (c *choice) inferType(in, out []dtype.Type) error {
	m := merger[dtype.Type]{f: &typeFact}
	for i := range c.branches {
		if err := inferBranch(c, i, in, out, &m, inferTypes); err != nil {
			return err
		}
	}
	m.into(&out[c.outs], dtype.Float32, "output", c.outs)
	if m.err != nil {
		return m.err
	}
	return inferPredType(c.pred, c.predOf, in)
}

// inferBranch infers shapes or types through one branch.
func inferBranch[T any](c *choice, i int, in, out []T, m *merger[T],
	infer func(g *op.Graph, in, out []T) error) error {
	b := &c.branches[i]
	g := b.full().graph
	bin, bout := make([]T, len(g.Inputs)), make([]T, len(g.Outputs))
	for k, input := range b.locs {
		bin[k] = in[input]
	}
	for k := range bout {
		bout[k] = out[c.outputOf(i, k)]
	}
	if err := infer(g, bin, bout); err != nil {
		return err
	}
	for k, input := range b.locs {
		m.into(&in[input], bin[k], "input", input)
	}
	for k, v := range bout {
		m.into(&out[c.outputOf(i, k)], v, "output", c.outputOf(i, k))
	}
	return m.err
}

// grad returns the gradients of the inputs of a choice: a choice between the gradients of the
// branches, by the same condition.
func (c *choice) grad(g *op.Grad) []op.Entry {
	all := inputs{name: "in"}
	pred := all.add(g.Out(c.outs), g.Out(c.outs))
	p := CondParams{CondInputLocs: []int{0},
		Pred: &op.Graph{Inputs: []*op.Node{pred.Node}, Outputs: []op.Entry{pred}}}
	var grads [2][]op.Entry
	for i := range c.branches {
		grads[i] = c.differentiate(i, g, &all)
	}
	list := make([]op.Entry, len(g.Node.In))
	var outs [2][]op.Entry
	var ends []int
	for k := range list {
		if !grads[0][k].Valid() && !grads[1][k].Valid() {
			continue
		}
		ends = append(ends, k)
		for i, e := range grads {
			if !e[k].Valid() {
				e[k] = zerosLike(all.add(g.In(k), g.In(k)))
			}
			outs[i] = append(outs[i], e[k])
		}
	}
	if len(ends) == 0 {
		return list
	}
	p.Then, p.Else, p.NumOutputs, p.NumArgs = op.NewGraph(outs[0]), op.NewGraph(outs[1]), len(ends),
		len(all.vars)+3
	for i, to := range []*[]int{&p.ThenInputLocs, &p.ElseInputLocs} {
		*to = []int{}
		for _, v := range []*op.Graph{p.Then, p.Else}[i].Inputs {
			*to = append(*to, slices.Index(all.vars, v))
		}
	}
	n := Cond.Node(p, all.from...)
	for i, k := range ends {
		list[k] = n.Entry(i)
	}
	return list
}

// differentiate returns the gradients of the operator's inputs through one branch.
func (c *choice) differentiate(i int, g *op.Grad, all *inputs) []op.Entry {
	b := &c.branches[i]
	x := b.full()
	heads := make([]op.Entry, len(x.graph.Outputs))
	for k := range heads {
		if e := g.OutGrad[c.outputOf(i, k)]; e.Valid() {
			heads[k] = all.add(e, e)
		}
	}
	var wrt []op.Entry
	var ends []int
	for k, input := range b.locs {
		if g.Need[input] && !b.graph.Changed()[k] {
			wrt, ends = append(wrt, b.graph.Inputs[k].Entry(0)), append(ends, input)
		}
	}
	grads, err := op.Backprop(x.graph.Outputs, heads, wrt)
	if err != nil {
		panic(err)
	}
	value := func(e op.Entry) op.Entry {
		if k := slices.Index(b.graph.Inputs, e.Node); k >= 0 {
			from := g.In(b.locs[k])
			return all.add(from, from)
		}
		if k, ok := x.saved[e]; ok {
			from := g.Out(c.from(i) + k)
			return all.add(from, from)
		}
		return op.Entry{}
	}
	m := newMover(x, value, value)
	list := make([]op.Entry, len(g.Node.In))
	for k, e := range grads {
		switch to := &list[ends[k]]; {
		case !e.Valid():
		case to.Valid():
			*to = prim.GradAdd.Apply(op.NoParams{}, *to, m.move(e, false))
		default:
			*to = m.move(e, false)
		}
	}
	return list
}

// chooser is the kernel of a choice for operands of known description. The branches use the same
// scratch memory.
type chooser struct {
	c        *choice
	pred     *unit
	branches [2]*unit
	at       int // offset of the result of the condition
	need     []bool

	sessions pool[*[3]*session]
}

// prepare makes the kernel of a choice.
func (c *choice) prepare(a *op.Args) (*op.Prepared, error) {
	k := &chooser{c: c, need: make([]bool, len(a.Out))}
	for i := range k.need {
		k.need[i] = a.Needs(i)
	}
	mem := &area{}
	var err error
	if k.pred, err = readyPred(a, mem, c.pred, c.predOf, a.Train); err != nil {
		return nil, err
	}
	k.at = mem.part(k.pred.out[0].Bytes)
	threads, from, most := k.pred.Threads, mem.bytes, 0
	for i := range c.branches {
		b := &c.branches[i]
		args := op.BodyArgs{Graph: b.full().graph, Train: a.Train,
			Fixed: slices.Repeat([]bool{true}, len(b.locs))}
		for _, input := range b.locs {
			args.In = append(args.In, a.In[input])
		}
		for j := range args.Graph.Outputs {
			args.Need = append(args.Need, k.need[c.outputOf(i, j)])
		}
		mem.bytes = from
		if k.branches[i], err = ready(a, mem, args); err != nil {
			return nil, err
		}
		threads, most = max(threads, k.branches[i].Threads), max(most, mem.bytes)
	}
	k.sessions.make = func() *[3]*session {
		return &[3]*session{k.branches[0].open(a.Train), k.branches[1].open(a.Train),
			k.pred.open(a.Train)}
	}
	return &op.Prepared{Scratch: most, Threads: threads, Run: k.run}, nil
}

// run computes the condition and one branch. Values that the other one would save are cleared.
func (k *chooser) run(c *op.Call) error {
	s := k.sessions.take()
	defer k.sessions.give(s)
	for i, src := range k.c.predOf {
		s[2].In[i].Data = c.In[src.input].Data
	}
	s[2].Out[0].Data = unsafe.Add(c.Scratch, k.at)
	if err := start(s[2], c, k.pred, 0); err != nil {
		return err
	}
	taken, number := 1, float32(0)
	if truth(s[2].Out[0]) {
		taken, number = 0, 1
	}
	if k.need[k.c.outs] {
		*(*float32)(c.Out[k.c.outs].Data) = number
	}
	other := 1 - taken
	for j := k.c.from(other); j < k.c.from(other)+k.c.branches[other].saved(); j++ {
		if k.need[j] {
			clearMemory(c.Out[j].Data, c.Out[j].Shape.Size()*c.Out[j].DType.Size())
		}
	}
	b := s[taken]
	for i, input := range k.c.branches[taken].locs {
		b.In[i].Data = c.In[input].Data
	}
	for j := range b.Out {
		if to := k.c.outputOf(taken, j); k.need[to] {
			b.Out[j].Data = c.Out[to].Data
		}
	}
	return start(b, c, k.branches[taken], 1+taken)
}

// start runs a graph once.
func start(s *session, c *op.Call, u *unit, part int) error {
	s.Scratch, s.Queue, s.Seed = unsafe.Add(c.Scratch, u.at), c.Queue, c.Seed.AtStep(part, 0)
	if err := s.Begin(&s.Call); err != nil {
		return err
	}
	return s.Run(&s.Call)
}

func init() {
	Cond.Define(op.Spec[CondParams]{
		Traits: op.Traits{Hidden: true, Random: true, Precision: op.Wide,
			Doc: `Cond runs one of two graphs.

The condition is a graph of one number. Only the branch that it chooses is computed; the outputs of
both have the same shapes and types.`},
		Inputs: func(p CondParams) []op.Input {
			c := newChoice(p)
			return inputNames(c.inputs, c.changes())
		},
		Outputs: func(p CondParams) []string { return newChoice(p).outputs() },
		Visible: func(p CondParams) int { return p.NumOutputs },
		Check:   checkCond,
		Changes: func(p CondParams) []int { return newChoice(p).changes() },
		Draws:   func(p CondParams) bool { return newChoice(p).draws() },
		Infer: func(p CondParams, in,
			out []dtype.Shape) error {
			return newChoice(p).inferShape(in, out)
		},
		InferType: func(p CondParams, in,
			out []dtype.Type) error {
			return newChoice(p).inferType(in, out)
		},
		FLOPs: func(p CondParams, in, _ []dtype.Shape) int64 { return newChoice(p).flops(in) },
		Grad:  func(g *op.Grad, p CondParams) []op.Entry { return newChoice(p).grad(g) },
		Ref: func(p CondParams, c *op.Call) error {
			return reference(newChoice(p).prepare,
				c)
		},
	})
}

// flops counts the operations of the branch with more of them.
func (c *choice) flops(in []dtype.Shape) int64 {
	most := int64(0)
	for _, b := range c.branches {
		shapes := make([]dtype.Shape, len(b.locs))
		for k, input := range b.locs {
			shapes[k] = in[input]
		}
		most = max(most, graphFLOPs(b.graph, shapes))
	}
	return most
}
