package exec

import (
	"fmt"
	"slices"
	"sync"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// Func is a compiled graph that is called with arrays of the caller: inputs, outputs and gradients
// come with each call, and nothing is copied. Arrays that belong to the graph, such as parameters,
// are bound once.
//
// Calls may come from many goroutines. A call whose gradients are still wanted keeps the planned
// memory with the values of its forward part; further calls get memory of their own, which is used
// again later. All calls share one program.
type Func struct {
	config FuncConfig
	net    Net
	mode   mode
	total  int // random numbers that a call takes

	// Slots of the program by input; -1 for inputs that no operator reads.
	inputs []int
	// Slots of gradients by input and then by wanted held array, and of head gradients by output;
	// -1 where there is none.
	grads, heads []int
	private      bool // executors cannot share the program: it keeps forms of inputs

	mu     sync.Mutex
	idle   []*Executor // whose memory no call uses
	all    []*Executor
	closed bool
}

// FuncConfig says how a Func is compiled.
type FuncConfig struct {
	Engine *engine.Engine
	Device device.Device
	Inputs []FuncInput
	// Held are the arrays of all other variables, by name.
	Held map[string]*nd.Array
	// Wanted are the names of held arrays whose gradients are computed.
	Wanted []string
	// Stored are the storage types of wanted gradients that are not dense.
	Stored map[string]op.Storage
	// Train makes operators compute as in training.
	Train bool
	// Draws has the count of random numbers that each stream takes from the process-wide stream in
	// a call; see nd.Traced.
	Draws []int

	NoFusion  bool     // see Config
	Without   []string // see Config
	Recompute float64  // see Config
	Streams   int      // see Config

	Precision dtype.Type              // see Config
	Products  op.Opt[device.Products] // see Config
}

// FuncInput is an argument of the calls.
type FuncInput struct {
	Name   string
	Shape  dtype.Shape
	Type   dtype.Type
	Wanted bool // its gradient is computed
}

// NewFunc compiles a graph. Outputs names the results of a call in their order.
func NewFunc(outputs []op.Entry, c FuncConfig) (f *Func, err error) {
	defer op.Recover(&err)
	f = &Func{config: c, net: netOf(outputs), mode: inferring}
	wants := len(c.Wanted) > 0 ||
		slices.ContainsFunc(c.Inputs, func(in FuncInput) bool { return in.Wanted })
	switch {
	case c.Train:
		f.mode = training
	case wants:
		f.mode = frozen
	}
	ex, err := f.bind()
	if err != nil {
		return nil, err
	}
	if b := ex.programs[f.mode]; f.gradientsEarly(b.p) {
		f.config.Without = append(slices.Clone(c.Without), "fuse-row-loss")
		ex.Close()
		if ex, err = f.bind(); err != nil {
			return nil, err
		}
	}
	f.locate(ex.programs[f.mode].p)
	f.all, f.idle = []*Executor{ex}, []*Executor{ex}
	return f, nil
}

// netOf lists the variables of a graph: those that an operator changes are auxiliary states.
func netOf(outputs []op.Entry) Net {
	n := Net{Outputs: outputs}
	order := op.Topo(outputs)
	aux := map[*op.Node]bool{}
	for _, node := range order {
		for k, e := range node.In {
			if e.Node.IsVar() && node.Mutates(k) {
				aux[e.Node] = true
			}
		}
	}
	for _, node := range order {
		switch {
		case !node.IsVar():
		case aux[node]:
			n.Aux = append(n.Aux, node)
		default:
			n.Args = append(n.Args, node)
		}
	}
	return n
}

// bind makes an executor whose inputs, outputs and gradients have no memory, and compiles its
// program.
func (f *Func) bind() (*Executor, error) {
	c := Config{Device: f.config.Device, Args: map[string]*nd.Array{}, Aux: map[string]*nd.Array{},
		Grads: map[string]*nd.Array{}, GradReq: map[string]op.Req{}, DefaultReq: op.ReqNull,
		NoFusion: f.config.NoFusion, Without: f.config.Without, Recompute: f.config.Recompute,
		Streams: f.config.Streams, Precision: f.config.Precision, Products: f.config.Products,
		lent: f.lending()}
	known := map[string]*nd.Array{}
	stand := func(name string, shape dtype.Shape, t dtype.Type) *nd.Array {
		return nd.Placeholder(shape, nd.On(c.Device), nd.As(t), nd.Name(name),
			nd.Using(f.config.Engine))
	}
	for name, a := range f.config.Held {
		known[name] = a
	}
	for _, in := range f.config.Inputs {
		known[in.Name] = stand(in.Name, in.Shape, in.Type)
	}
	for _, v := range f.net.Args {
		a := known[v.Name]
		if a == nil {
			return nil, fmt.Errorf("exec: no array for variable %q", v.Name)
		}
		c.Args[v.Name] = a
		if f.wants(v.Name) {
			c.GradReq[v.Name] = op.ReqWrite
			c.Grads[v.Name] = stand(v.Name+"_grad", a.Shape(), a.DType())
			if s := f.config.Stored[v.Name]; s != op.Dense {
				c.Grads[v.Name] = nd.ZerosOf(s, a.Shape(), nd.As(a.DType()),
					nd.Using(f.config.Engine))
			}
		}
	}
	for _, v := range f.net.Aux {
		if c.Aux[v.Name] = known[v.Name]; c.Aux[v.Name] == nil {
			return nil, fmt.Errorf("exec: no array for auxiliary state %q", v.Name)
		}
	}
	ex, err := Bind(f.net, c)
	if err != nil {
		return nil, err
	}
	_, err = ex.compiled(f.mode, false)
	return ex, err
}

// lending returns the places of the random streams, and adds up the numbers that a call takes.
func (f *Func) lending() *lending {
	l := &lending{}
	f.total = 0
	for _, n := range f.config.Draws {
		l.draws = append(l.draws, uint64(f.total))
		f.total += n
	}
	return l
}

// wants reports whether the gradient of a variable is computed.
func (f *Func) wants(name string) bool {
	return slices.Contains(f.config.Wanted, name) ||
		slices.ContainsFunc(f.config.Inputs, func(in FuncInput) bool {
			return in.Wanted && in.Name == name
		})
}

// gradientsEarly reports whether the forward part writes gradients or reads the gradients of
// outputs, whose arrays are not known yet when it runs.
func (f *Func) gradientsEarly(p *program) bool {
	for _, s := range p.Segments[:p.Forward] {
		for _, u := range s.Uses {
			if k := p.Slots[u.Slot].Kind; k == compile.SlotGradient || k == compile.SlotHead {
				return true
			}
		}
	}
	return false
}

// locate finds the slots of the arrays that come with a call.
func (f *Func) locate(p *program) {
	slotOf := func(kind compile.SlotKind, arg string, index int) int {
		return slices.IndexFunc(p.Slots, func(s compile.Slot) bool {
			return s.Kind == kind && s.Arg == arg && (arg != "" || s.Index == index)
		})
	}
	for _, in := range f.config.Inputs {
		f.inputs = append(f.inputs, slotOf(compile.SlotVariable, in.Name, 0))
		f.grads = append(f.grads, slotOf(compile.SlotGradient, in.Name, 0))
		f.private = f.private || p.DerivesFrom(in.Name)
	}
	for _, name := range f.config.Wanted {
		f.grads = append(f.grads, slotOf(compile.SlotGradient, name, 0))
	}
	for i := range f.net.Outputs {
		f.heads = append(f.heads, slotOf(compile.SlotHead, "", i))
	}
}

// Outputs returns the shapes and types of the results of a call.
func (f *Func) Outputs() []op.Desc {
	list := make([]op.Desc, len(f.net.Outputs))
	for i, a := range f.all[0].outputs {
		list[i] = op.Plain(a.DType(), a.Shape())
	}
	return list
}

// MemoryUse returns the memory of one call.
func (f *Func) MemoryUse() compile.MemoryUse { return f.all[0].programs[f.mode].p.MemoryUse() }

// MemoryPlan returns the plan of the memory of one call, gradients included.
func (f *Func) MemoryPlan() (*compile.MemoryPlan, error) {
	return f.all[0].programs[f.mode].p.MemoryPlan()
}

// Explain lists the changes of the passes to the graph.
func (f *Func) Explain() *compile.Explanation { return f.all[0].programs[f.mode].p.Explain() }

// Executors returns the number of calls that there is memory for.
func (f *Func) Executors() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all)
}

// take returns an executor that no call uses.
func (f *Func) take() (*Executor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("exec: call of a closed function")
	}
	if n := len(f.idle); n > 0 {
		ex := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return ex, nil
	}
	ex, err := f.twin()
	if err == nil {
		f.all = append(f.all, ex)
	}
	return ex, err
}

// twin makes another executor. The caller holds mu.
func (f *Func) twin() (*Executor, error) {
	if f.private {
		return f.bind()
	}
	first := f.all[0]
	ex := &Executor{net: f.net, config: first.config, eng: first.eng, facts: first.facts,
		Args: first.Args, Grads: first.Grads, Aux: first.Aux, outputs: first.outputs}
	ex.join(nil)
	ex.programs[f.mode] = first.programs[f.mode].p.bind(ex)
	return ex, nil
}

// give returns an executor to the idle ones.
func (f *Func) give(ex *Executor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		ex.Close()
		return
	}
	f.idle = append(f.idle, ex)
}

// Close gives the memory of the calls back that are over. Calls under way go on.
func (f *Func) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	for _, ex := range f.idle {
		ex.Close()
	}
	f.idle = nil
}
