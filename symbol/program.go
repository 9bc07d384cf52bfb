package symbol

import (
	"fmt"
	"slices"
	"sync/atomic"

	"gomx/device"
	"gomx/dtype"
	"gomx/graph"
	"gomx/memplan"
	nd "gomx/ndarray"
	"gomx/op"
)

// program is a graph compiled for one mode: its nodes in order, prepared, placed in memory, and
// cut into segments that are pushed to the engine one by one. Once compiled it does not change, but
// for the kept forms of parameters: executors that compute the same graph side by side share it.
type program struct {
	ex       *Executor // that it was compiled for
	train    bool
	single   bool // every operator is a segment of its own
	g        *graph.Indexed
	shapes   []dtype.Shape
	types    []dtype.Type
	store    *graph.Storage
	plan     *memplan.Plan
	buffered []memplan.Buffer // what was planned
	rooms    []room           // where the plan's memory is, one for each device
	devices  []device.Device  // of the rooms, on several devices
	beside   map[*op.Node]int // lanes of nodes among those for kernels; nil: all in one
	outBytes int64
	laid     map[*op.Node]*ready // kernels whose operands need not be plain
	private  map[int]op.Desc     // entries that their operators' gradients alone read, laid out as kernels liked
	kept     int64               // bytes of derived parameters that are kept between runs
	applied  []graph.Applied     // what the passes did

	slots     []slot
	outputs   []int          // slots of the outputs
	headSlots int            // slots of head gradients, which come first
	slotOf    map[int]int    // entry to slot, for entries outside the arena
	slotName  map[string]int // argument to slot
	heads     []*nd.Array    // where Backward reads the gradient of each output; nil: nowhere
	ones      bool           // heads hold ones
	written   []*nd.Array    // arrays outside that the backward part writes

	steps    []step
	segments []segment
	derived  int   // segments at the beginning that make kept forms of parameters
	forward  int   // segments before the backward part
	mutated  []int // slots that the forward part changes: auxiliary states

	refs   atomic.Int32 // executors and runs that use it
	shared atomic.Bool  // by several executors
	forms  *forms       // in which its kept forms of parameters are
	trade  graph.Trade  // what was done for memory
}

// slot is an array outside the arena: argument, gradient, auxiliary state or output.
type slot struct {
	name  string
	array *nd.Array // of the executor that the program was compiled for
	param bool      // somebody else writes it between runs
	sink  bool      // the program overwrites it without looking at the old content
	kept  bool      // it belongs to the program: a form of parameters that is kept between runs
}

// compile builds the program of a mode.
func (ex *Executor) compile(train, single bool) (p *program, err error) {
	defer op.Recover(&err)
	made := &program{ex: ex, train: train, single: single, forms: ex.arena.forms, slotOf: map[int]int{}, slotName: map[string]int{}}
	p = made
	defer func() {
		if err != nil {
			made.forms.release(made)
		}
	}()
	outs, err := p.optimize(p.assignDevices(ex.claimedOutputs()))
	if err != nil {
		return nil, err
	}
	all, grads, err := p.differentiate(outs)
	if err != nil {
		return nil, err
	}
	if outs, all, err = p.optimizeAll(outs, all, grads); err != nil {
		return nil, err
	}
	if all, err = p.recompute(outs, all, grads); err != nil {
		return nil, err
	}
	if outs, all, err = p.copyBetweenDevices(outs, all, grads); err != nil {
		return nil, err
	}
	if err := p.number(outs, all, grads); err != nil {
		return nil, err
	}
	if laid, err := p.layOut(all); err != nil {
		return nil, err
	} else if laid != nil {
		outs = laid[:len(outs)]
		for i := range grads {
			grads[i].entry = laid[len(outs)+i]
		}
		if err := p.number(outs, laid, grads); err != nil {
			return nil, err
		}
	}
	forward := len(p.g.Nodes)
	if p.train {
		forward = len(op.Topo(outs))
	}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	p.spreadBranches()
	p.cut(forward)
	if err := p.place(forward); err != nil {
		return nil, err
	}
	p.connect()
	return p, nil
}

// number indexes the graph, finds the arrays of what lives outside, and infers shapes.
func (p *program) number(outs, all []op.Entry, grads []gradient) error {
	if !p.train {
		all = append(derivedOf(all), all...)
		outs = all
	}
	p.g = graph.IndexPhases(outs, all)
	outs = outs[len(outs)-len(p.ex.outputs):]
	p.forgetSlots()
	if err := p.bindSlots(outs, grads); err != nil {
		return err
	}
	return p.inferAll()
}

// forgetSlots removes all arrays but those of head gradients, which are there before the graph is numbered.
func (p *program) forgetSlots() {
	for _, s := range p.slots[p.headSlots:] {
		delete(p.slotName, s.name)
	}
	p.slots, p.slotOf = p.slots[:p.headSlots], map[int]int{}
	p.outputs, p.written, p.outBytes = nil, nil, 0
}

// derivedOf lists the outputs of the nodes below outs that compute another form of variables.
func derivedOf(outs []op.Entry) (list []op.Entry) {
	for _, n := range op.Topo(outs) {
		if n.IsVar() || !n.Op.Derived || slices.ContainsFunc(n.In, func(e op.Entry) bool { return !e.Node.IsVar() }) {
			continue
		}
		for i := range n.NumOutputs() {
			list = append(list, n.Entry(i))
		}
	}
	return list
}

// claimedOutputs returns the outputs, each as an entry of its own that no variable and no other
// output owns, so that each can be written to an array of its own.
func (ex *Executor) claimedOutputs() []op.Entry {
	claimed := map[op.Entry]bool{}
	outs := make([]op.Entry, len(ex.symbol.outputs))
	for i, e := range ex.symbol.outputs {
		outs[i] = own(e, claimed)
	}
	return outs
}

// own returns e, or a copy of it when e is a variable or claimed already; it claims the result.
func own(e op.Entry, claimed map[op.Entry]bool) op.Entry {
	if e.Node.IsVar() || claimed[e] {
		n, err := op.NewNode(op.Lookup("_copy"), e.Node.Name+"_copy", nil, e)
		if err != nil {
			panic(err)
		}
		e = n.Entry(0)
	}
	claimed[e] = true
	return e
}

// gradient is one gradient that a program computes.
type gradient struct {
	arg   string
	entry op.Entry
	old   *op.Node // the variable that stands for the array's content, when adding to it
}

// differentiate appends the gradients that are asked for to the outputs, those of the last layers
// first, so that they are ready first.
func (p *program) differentiate(outs []op.Entry) (all []op.Entry, grads []gradient, err error) {
	all = append(all, outs...)
	if !p.train || len(p.ex.Grads) == 0 {
		return all, nil, nil
	}
	args, _ := p.ex.symbol.variables()
	var wrt []op.Entry
	for _, v := range args {
		if p.ex.req(v.Name) != op.ReqNull {
			wrt = append(wrt, v.Entry(0))
		}
	}
	headVars := make([]op.Entry, len(outs))
	for i := range headVars {
		headVars[i] = op.Var(fmt.Sprintf("_head_grad_%d", i)).Entry(0)
	}
	entries, err := graph.Gradient(outs, headVars, wrt)
	if err != nil {
		return nil, nil, err
	}
	claimed := map[op.Entry]bool{}
	for _, e := range outs {
		claimed[e] = true
	}
	for i := len(wrt) - 1; i >= 0; i-- {
		e := entries[i]
		if !e.Valid() && p.ex.req(wrt[i].Node.Name) == op.ReqAdd {
			continue
		}
		if !e.Valid() {
			e = zeroGradient(wrt[i])
		}
		g := p.gradientOf(wrt[i].Node.Name, e, claimed)
		grads = append(grads, g)
		all = append(all, g.entry)
	}
	p.bindHeads(all, headVars)
	p.headSlots = len(p.slots)
	return all, grads, nil
}

// zeroGradient makes the gradient of a variable that the outputs do not depend on, or only through operators that let no
// gradient pass.
func zeroGradient(v op.Entry) op.Entry {
	n, err := op.NewNode(op.Lookup("zeros_like"), v.Node.Name+"_no_grad", nil, v)
	if err != nil {
		panic(err)
	}
	return n.Entry(0)
}

// gradientOf makes the entry that ends in the gradient array of arg.
func (p *program) gradientOf(arg string, e op.Entry, claimed map[op.Entry]bool) gradient {
	if p.ex.req(arg) != op.ReqAdd {
		return gradient{arg: arg, entry: own(e, claimed)}
	}
	old := op.Var(arg + "_grad_before")
	n, err := op.NewNode(op.Lookup("_grad_add"), arg+"_grad_add", nil, old.Entry(0), e)
	if err != nil {
		panic(err)
	}
	claimed[n.Entry(0)] = true
	return gradient{arg: arg, entry: n.Entry(0), old: old}
}

// bindHeads makes arrays for the head gradients that the graph reads.
func (p *program) bindHeads(all, headVars []op.Entry) {
	p.heads = make([]*nd.Array, len(headVars))
	read := map[*op.Node]bool{}
	for _, n := range op.Topo(all) {
		read[n] = true
	}
	for i, h := range headVars {
		if read[h.Node] {
			o := p.ex.outputs[i]
			p.heads[i] = nd.Ones(o.Shape(), nd.On(o.Device()), nd.As(o.DType()), nd.Name(h.Node.Name), nd.Using(p.ex.eng))
			p.addSlot(h.Node.Name, p.heads[i], false)
		}
	}
	p.ones = true
}

func (p *program) addSlot(name string, a *nd.Array, param bool) int {
	p.slots = append(p.slots, slot{name: name, array: a, param: param})
	p.slotName[name] = len(p.slots) - 1
	return len(p.slots) - 1
}

// bindSlots gives every variable, output and gradient of the graph its array.
func (p *program) bindSlots(outs []op.Entry, grads []gradient) error {
	for i, e := range outs {
		s := p.addSlot("output "+fmt.Sprint(i), p.ex.outputs[i], false)
		p.slots[s].sink = true
		p.outputs = append(p.outputs, s)
		p.slotOf[p.g.Entry(e)] = s
		p.outBytes += int64(p.ex.outputs[i].Bytes())
	}
	for _, g := range grads {
		a := p.ex.Grads[g.arg]
		s := p.addSlot(g.arg+"_grad", a, false)
		p.slots[s].sink = g.old == nil
		p.slotOf[p.g.Entry(g.entry)] = s
		p.written = append(p.written, a)
		if g.old != nil {
			p.slotOf[p.g.Entry(g.old.Entry(0))] = s
		}
	}
	for i, n := range p.g.Nodes {
		e, _ := p.g.Out(i)
		if _, done := p.slotOf[e]; done || !n.IsVar() {
			continue
		}
		if s, ok := p.slotName[n.Name]; ok {
			p.slotOf[e] = s
			continue
		}
		a := p.ex.Args[n.Name]
		if a == nil {
			a = p.ex.Aux[n.Name]
		}
		if a == nil {
			return fmt.Errorf("symbol: variable %q is not bound", n.Name)
		}
		p.slotOf[e] = p.addSlot(n.Name, a, p.ex.Grads[n.Name] != nil)
	}
	return nil
}

// inferAll infers the shapes of the whole graph, gradients included, from the bound arrays.
func (p *program) inferAll() error {
	p.shapes = make([]dtype.Shape, p.g.NumEntries())
	p.types = make([]dtype.Type, p.g.NumEntries())
	for e := range p.types {
		p.types[e] = dtype.Unknown
	}
	for e, s := range p.slotOf {
		p.shapes[e], p.types[e] = p.slots[s].array.Shape(), p.slots[s].array.DType()
	}
	if err := graph.InferShapes(p.g, p.shapes); err != nil {
		return err
	}
	if err := graph.InferTypes(p.g, p.types); err != nil {
		return err
	}
	for i, n := range p.g.Nodes {
		from, to := p.g.Out(i)
		for e := from; e < to; e++ {
			if !p.shapes[e].Known() || p.types[e] == dtype.Unknown {
				return fmt.Errorf("symbol: output %s has shape %v and type %v: not enough is known to run it", n.Entry(e-from), p.shapes[e], p.types[e])
			}
		}
	}
	return nil
}
