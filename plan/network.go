package plan

import (
	"fmt"
	"slices"
	"strings"

	"gomx/compile"
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"
)

// Network is the work of one worker in a step of training.
type Network struct {
	Batch   int // samples of a step of one worker
	Threads int // most threads of a kernel

	// Keys are the parameters in the order of the symbol's arguments, then the auxiliary states:
	// the order in which a store numbers them.
	Keys []Key

	// Segments are the parts of the program in the order in which they are pushed to the engine.
	// The first Forward of them are the forward part.
	Segments []Segment
	Forward  int

	FLOPs  int64 // floating-point operations of a step
	Arrays Arrays
}

// Key is a value that workers share by a store.
type Key struct {
	Name  string
	Bytes int64
	State bool       // auxiliary state: changes are added, never compressed
	DType dtype.Type // element type
	Uses  int        // number of segments that read the value or write its gradient
}

// Segment is a part of the program that runs as one operation of the engine.
type Segment struct {
	Name    string
	Threads int   // most threads of its kernels
	FLOPs   int64 // floating-point operations of its kernels
	Bytes   int64 // bytes that its kernels read and write
	Needs   []int // earlier segments that it waits for
	Keys    []int // keys whose value it reads or whose gradient it writes
}

// Arrays are the bytes of a worker's arrays.
type Arrays struct {
	Parameters int64
	Gradients  int64
	States     int64 // auxiliary states
	Inputs     int64 // data and labels of one batch
	Arena      int64 // planned memory of the program, as compile.MemoryUse says
	Outputs    int64
	Kept       int64 // parameters in other forms that are kept between runs
}

// Total returns the sum.
func (a *Arrays) Total() int64 {
	return a.Parameters + a.Gradients + a.States + a.Inputs + a.Arena + a.Outputs + a.Kept
}

// Training says how a symbol is trained.
type Training struct {
	// Shapes are the shapes of the data for one step of a worker; the first extent of the first
	// name in the order of the symbol's arguments is the batch.
	Shapes  map[string]dtype.Shape
	Threads int // most threads of a kernel; 0: 1
}

// Inputs lists the arguments of a symbol that are no parameters, in the symbol's order: data, which
// shapes names, and labels, whose names end in "label".
func Inputs(s *sym.Symbol, shapes map[string]dtype.Shape) (data, labels []string) {
	for _, name := range s.Arguments() {
		switch _, given := shapes[name]; {
		case strings.HasSuffix(name, "label"):
			labels = append(labels, name)
		case given:
			data = append(data, name)
		}
	}
	return data, labels
}

// Describe compiles a symbol for training, as an executor would on this machine, and returns the
// work of a step.
func Describe(s *sym.Symbol, t Training) (n *Network, err error) {
	defer op.Recover(&err)
	d, err := newDescription(s, t)
	if err != nil {
		return nil, err
	}
	if d.program, err = d.compile(max(1, t.Threads)); err != nil {
		return nil, err
	}
	d.measure()
	d.segments()
	return d.net, nil
}

// description is the state of Describe.
type description struct {
	net     *Network
	symbol  *sym.Symbol
	facts   *compile.Inferred
	inputs  map[string]bool
	args    []*op.Node
	aux     map[string]bool
	keyOf   map[string]int // keys by the names of their variables
	program *compile.Program
}

func newDescription(s *sym.Symbol, t Training) (*description, error) {
	data, labels := Inputs(s, t.Shapes)
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("plan: no shape for an argument of the symbol, want one of %s",
			strings.Join(s.Arguments(), ", "))
	}
	d := &description{symbol: s, inputs: map[string]bool{}, aux: map[string]bool{},
		keyOf: map[string]int{}, net: &Network{Threads: max(1, t.Threads)}}
	for _, name := range slices.Concat(data, labels) {
		d.inputs[name] = true
	}
	if shape := t.Shapes[data[0]]; len(shape) > 0 {
		d.net.Batch = shape[0]
	}
	if d.net.Batch < 1 {
		return nil, fmt.Errorf("plan: shape %v of %q, want a batch of at least one sample",
			t.Shapes[data[0]], data[0])
	}
	var err error
	if d.facts, err = compile.Infer(s.Entries(), compile.Given{Shapes: t.Shapes}); err != nil {
		return nil, err
	}
	return d, d.variables()
}

// variables finds the keys.
func (d *description) variables() error {
	for _, name := range d.symbol.AuxStates() {
		d.aux[name] = true
	}
	var all, states []*op.Node
	for _, n := range d.facts.Graph.Nodes {
		if n.IsVar() {
			all = append(all, n)
		}
	}
	if err := d.facts.CheckKnown(all); err != nil {
		return err
	}
	for _, n := range all {
		switch {
		case d.aux[n.Name]:
			states = append(states, n)
			continue
		case !d.inputs[n.Name]:
			d.addKey(n, false)
		}
		d.args = append(d.args, n)
	}
	for _, n := range states {
		if _, t := d.facts.Of(n.Entry(0)); t != dtype.Bool { // a worker keeps it for itself
			d.addKey(n, true)
		}
	}
	return nil
}

func (d *description) addKey(n *op.Node, state bool) {
	shape, t := d.facts.Of(n.Entry(0))
	d.keyOf[n.Name] = len(d.net.Keys)
	d.net.Keys = append(d.net.Keys, Key{Name: n.Name, State: state, DType: t,
		Bytes: int64(shape.Size() * t.Size())})
}

// compile compiles the graph as exec does for training.
func (d *description) compile(threads int) (*compile.Program, error) {
	grads := map[string]op.Req{}
	for i := range d.net.Keys {
		if k := &d.net.Keys[i]; !k.State {
			grads[k.Name] = op.ReqWrite
		}
	}
	target := compile.Target{Tier: device.MaxTier(), Threads: threads}
	target.Layouts = cpu.HasC && target.Tier >= device.TierC && cpu.HasBlocks()
	return compile.Compile(compile.Source{Outputs: d.symbol.Entries(), Args: d.args,
		Facts: d.facts.Facts()}, compile.Options{Train: true, Device: device.CPU(), Grads: grads,
		Target: target})
}

// measure sums up the memory.
func (d *description) measure() {
	a := &d.net.Arrays
	for i := range d.net.Keys {
		k := &d.net.Keys[i]
		if k.State {
			a.States += k.Bytes
		} else {
			a.Parameters += k.Bytes
			a.Gradients += k.Bytes
		}
	}
	for _, n := range d.args {
		if d.inputs[n.Name] {
			shape, t := d.facts.Of(n.Entry(0))
			a.Inputs += int64(shape.Size() * t.Size())
		}
	}
	use := d.program.MemoryUse()
	a.Arena, a.Outputs, a.Kept = use.Arena, use.Outputs, use.Kept
}

// segments copies the segments with their costs.
func (d *description) segments() {
	p := d.program
	d.net.Forward = p.Forward
	for i := range p.Segments {
		seg := &p.Segments[i]
		s := Segment{Name: seg.Name, Threads: max(1, seg.Threads), Needs: seg.Needs}
		for j := seg.From; j < seg.To; j++ {
			if p.Steps[j].Skip {
				continue
			}
			c := d.cost(&p.Steps[j])
			s.FLOPs += c.FLOPs
			s.Bytes += c.Bytes
		}
		for _, u := range seg.Uses {
			if k, ok := d.keyOf[p.Slots[u.Slot].Arg]; ok && !slices.Contains(s.Keys, k) {
				s.Keys = append(s.Keys, k)
				d.net.Keys[k].Uses++
			}
		}
		d.net.FLOPs += s.FLOPs
		d.net.Segments = append(d.net.Segments, s)
	}
}

// cost returns the work of a step of the program.
func (d *description) cost(s *compile.Step) op.Cost {
	g := d.program.Graph
	in := make([]op.Desc, len(s.Node.In))
	for k, e := range s.Node.In {
		in[k] = d.program.Descs[g.Entry(e)]
	}
	from, to := g.Out(s.Index)
	return s.Node.Op.Cost(s.Node.Params, in, d.program.Descs[from:to])
}
