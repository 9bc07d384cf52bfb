package gluon

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"gomx/device"
	"gomx/engine"
	"gomx/exec"
	"gomx/graph"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/trainer"
)

// compiled is a network traced and compiled for one kind of arguments.
type compiled struct {
	key   string
	used  uint64 // time of the last use, guarded by hybrid.mu
	graph *nd.Traced
	fn    *exec.Func // nil: an array or a gradient is sparse, and the network runs line by line
	outs  []op.Desc

	inputs []argument
	held   []holding
	wanted []*nd.Array  // captured arrays whose gradients are computed, in the order of fn's
	stored []nd.Storage // storage types of the gradients of wanted
	args   []int        // positions of the inputs whose gradients are computed
	record bool         // calls are recorded on a tape

	mu      sync.Mutex                 // guards the fields below
	ones    []*nd.Array                // arrays of ones like the outputs, made when they are needed
	readers map[int]*trainer.RowReader // by captured array
}

// holding is a captured array. If it holds the values of a parameter, the graph is out of date when
// the parameter gets other arrays; in any case when its gradient comes to be wanted or not any
// more.
type holding struct {
	array  *nd.Array
	wanted bool
	param  *Param
	arrays *[]*nd.Array // of param when the network was traced
}

// current reports whether the graph still fits the parameters.
func (c *compiled) current() bool {
	for i := range c.held {
		h := &c.held[i]
		if h.param != nil && h.param.arrays.Load() != h.arrays ||
			h.wanted != (c.record && h.array.Differentiated()) {
			return false
		}
	}
	return true
}

// close frees the memory of calls. Calls under way go on.
func (c *compiled) close() {
	if c.fn != nil {
		c.fn.Close()
	}
}

// describe returns the facts about arguments that a graph depends on.
func describe(in []*nd.Array) []argument {
	list := make([]argument, len(in))
	for i, a := range in {
		x := argument{name: "data", shape: a.Shape(), typ: a.DType()}
		if len(in) > 1 {
			x.name += strconv.Itoa(i)
		}
		if t := a.Tape(); t != nil {
			x.taped, x.training = true, t.Training()
		}
		list[i] = x
	}
	if slices.ContainsFunc(list, func(a argument) bool { return a.taped }) {
		for i, a := range in {
			list[i].wanted = a.Differentiated()
		}
	}
	return list
}

// trace records the network for arguments on a device. The listener may be nil.
func (h *hybrid) trace(eng *engine.Engine, dev device.Device, in []argument, l nd.Listener) (
	*nd.Traced, error) {
	h.traces++
	taped, training := false, false
	for _, a := range in {
		taped, training = taped || a.taped, training || a.training
	}
	t := nd.NewTracing(eng, dev, training, taped)
	defer t.Abandon()
	t.Listen(l)
	args := make([]*nd.Array, len(in))
	for i, a := range in {
		args[i] = t.Input(a.name, a.shape, a.typ)
	}
	at := nd.RandomState()
	g, err := t.Finish(h.call(args))
	if err == nil && len(g.Draws) > 0 && nd.RandomState() != at {
		nd.SetRandomState(at) // the first run draws these numbers again
	}
	return g, err
}

// compile traces and compiles the network for arguments.
func (h *hybrid) compile(in []*nd.Array) (*compiled, error) {
	c := &compiled{inputs: describe(in)}
	eng, dev := in[0].Engine(), in[0].Device()
	g, err := h.trace(eng, dev, c.inputs, nil)
	if err != nil {
		return nil, err
	}
	c.graph = g
	cfg := exec.FuncConfig{Engine: eng, Device: dev, Held: map[string]*nd.Array{}, Draws: g.Draws,
		Stored:   map[string]op.Storage{},
		NoFusion: h.config.noFusion, Without: h.config.without, Recompute: h.config.recompute,
		Streams: h.config.streams, Precision: h.config.precision, Products: h.config.products}
	for i, a := range c.inputs {
		c.record = c.record || a.taped
		cfg.Train = cfg.Train || a.training
		if a.wanted {
			c.args = append(c.args, i)
		}
		cfg.Inputs = append(cfg.Inputs, exec.FuncInput{Name: g.Inputs[i].Name, Shape: a.shape,
			Type: a.typ, Wanted: a.wanted})
	}
	owners := map[*nd.Array]*Param{}
	for _, p := range h.params().All() {
		for _, a := range p.values() {
			owners[a] = p
		}
	}
	for _, k := range g.Captured {
		cfg.Held[k.Node.Name] = k.Hold
		hold := holding{array: k.Array, wanted: c.record && k.Array.Differentiated(),
			param: owners[k.Array]}
		if hold.param != nil {
			hold.arrays = hold.param.arrays.Load()
		}
		if hold.wanted {
			cfg.Wanted = append(cfg.Wanted, k.Node.Name)
			c.wanted = append(c.wanted, k.Array)
			s := nd.Dense
			if g := k.Array.Grad(); g != nil {
				s = g.Storage()
			}
			c.stored = append(c.stored, s)
			cfg.Stored[k.Node.Name] = s
		}
		c.held = append(c.held, hold)
	}
	if what := c.sparse(in); what != "" {
		op.Notice("the hybridized network runs line by line, because %s", what)
		return c, nil
	}
	if c.fn, err = exec.NewFunc(g.Outputs, cfg); err != nil {
		return nil, err
	}
	c.outs = c.fn.Outputs()
	return c, nil
}

// sparse says why the network cannot be compiled: an array is sparse, or a value of the backward
// part. It returns an empty text where it can.
func (c *compiled) sparse(in []*nd.Array) string {
	for i, a := range in {
		if s := a.Storage(); s != nd.Dense {
			return fmt.Sprintf("the argument %s is %v", c.inputs[i].name, s)
		}
	}
	var sparse []op.Entry
	if !exec.Gathered(c.graph.Outputs, c.storage) {
		for _, k := range c.graph.Captured {
			if s := k.Array.Storage(); s != nd.Dense {
				return fmt.Sprintf("the array %s is %v", k.Node.Name, s)
			}
		}
	}
	for i, k := range c.graph.Captured {
		if g := k.Array.Grad(); c.held[i].wanted && g != nil && g.Storage() != nd.Dense {
			sparse = append(sparse, k.Node.Entry(0))
		}
	}
	if len(sparse) == 0 {
		return ""
	}
	_, composed, err := graph.StoredGradients(c.graph.Outputs, sparse, c.storage)
	if composed && err == nil {
		return "a gradient is a sum of sparse gradients"
	}
	return ""
}

// storage returns the storage type of a variable of the graph.
func (c *compiled) storage(v *op.Node) op.Storage {
	for _, k := range c.graph.Captured {
		if k.Node == v {
			return k.Array.Storage()
		}
	}
	return op.Dense
}

// run calls the compiled network and records the call.
func (c *compiled) run(in []*nd.Array) ([]*nd.Array, error) {
	if err := c.pullRows(in); err != nil {
		return nil, err
	}
	dev, eng := in[0].Device(), in[0].Engine()
	r := &recorded{c: c}
	r.plain = append(r.few[:0], make([]*nd.Array, len(c.outs))...)
	plain, out := r.plain, make([]*nd.Array, len(c.outs))
	for i, d := range c.outs {
		a, err := nd.Make(eng, dev, d.DType, d.Shape)
		if err != nil {
			return nil, err
		}
		plain[i] = a
	}
	var err error
	if r.call, err = c.fn.Call(in, plain); err != nil {
		return nil, err
	}
	for i, a := range plain {
		out[i] = a.Detach()
	}
	if r.call == nil {
		r.Release()
	}
	nd.Record(r, slices.Concat(in, c.wanted), len(c.wanted), out)
	return out, nil
}

// recorded is a call on a tape. It refers to other arrays on the memory of the outputs, because the
// outputs refer to it.
type recorded struct {
	c     *compiled
	call  *exec.Call // nil when no gradient can be asked for
	plain []*nd.Array
	few   [2]*nd.Array // memory of plain for few outputs
}

// String names the call in errors.
func (r *recorded) String() string { return "hybridized network" }

// Release gives the memory of the call back.
func (r *recorded) Release() {
	if r.call != nil {
		r.call.Release()
	}
	for _, a := range r.plain {
		a.Close()
	}
	r.plain = nil
}

// Ones returns an array of ones like an output.
func (r *recorded) Ones(output int) (*nd.Array, error) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ones == nil {
		c.ones = make([]*nd.Array, len(c.outs))
	}
	if a := r.plain[output]; c.ones[output] == nil {
		c.ones[output] = nd.Ones(a.Shape(), nd.On(a.Device()), nd.As(a.DType()),
			nd.Using(a.Engine()))
	}
	return c.ones[output], nil
}

// Gradients runs the backward part.
func (r *recorded) Gradients(c *nd.GradientCall) ([]*nd.Array, error) {
	n := len(c.In) - len(r.c.wanted)
	if c.Record {
		return r.differentiate(c, n)
	}
	grads := make([]*nd.Array, len(c.In))
	get := func(i int) error {
		s := nd.Dense
		if i >= n {
			s = r.c.stored[i-n]
		}
		to := c.Into[i]
		if to != nil && to.Storage() == s {
			grads[i] = to
		}
		if a := c.In[i]; grads[i] == nil && (c.Wanted[i] || to != nil) {
			g, err := gradientLike(a, s)
			if err != nil {
				return err
			}
			grads[i] = c.Own(g)
		}
		return nil
	}
	for _, i := range r.c.args {
		if err := get(i); err != nil {
			return nil, err
		}
	}
	for i := n; i < len(c.In); i++ {
		if err := get(i); err != nil {
			return nil, err
		}
	}
	return grads, r.call.Gradients(c.In[:n], c.Out, c.OutGrad, grads)
}

// gradientLike makes an array for the gradient of a.
func gradientLike(a *nd.Array, s nd.Storage) (*nd.Array, error) {
	if s != nd.Dense {
		return nd.ZerosOf(s, a.Shape(), nd.As(a.DType()), nd.Using(a.Engine())), nil
	}
	return nd.Make(a.Engine(), a.Device(), a.DType(), a.Shape())
}

// differentiate computes the gradients operator by operator, so that the tape can record how. It
// computes the network again, with the same random numbers and on copies of its states; n is the
// number of inputs.
func (r *recorded) differentiate(c *nd.GradientCall, n int) ([]*nd.Array, error) {
	g := r.c.graph
	values := map[*op.Node]*nd.Array{}
	var wrt []op.Entry
	for i, v := range g.Inputs {
		values[v] = c.In[i]
		wrt = append(wrt, v.Entry(0))
	}
	changed := map[*op.Node]bool{}
	for _, node := range op.Topo(g.Outputs) {
		for k, e := range node.In {
			changed[e.Node] = changed[e.Node] || node.Mutates(k)
		}
	}
	next := n
	for i, k := range g.Captured {
		switch {
		case r.c.held[i].wanted:
			values[k.Node] = c.In[next]
			wrt = append(wrt, k.Node.Entry(0))
			next++
		case changed[k.Node]:
			values[k.Node] = k.Hold.Copy()
		default:
			values[k.Node] = k.Hold
		}
	}
	heads := make([]op.Entry, len(g.Outputs))
	for i := range heads {
		v := op.Var("head")
		heads[i], values[v] = v.Entry(0), c.OutGrad[i]
	}
	entries, err := graph.Gradient(g.Outputs, heads, wrt)
	if err != nil {
		return nil, err
	}
	var outs []op.Entry
	for _, e := range entries {
		if e.Valid() {
			outs = append(outs, e)
		}
	}
	list, err := nd.Evaluate(nd.Graph{Outputs: outs, Values: values, Engine: c.In[0].Engine(),
		Device: c.In[0].Device(),
		Seed:   func(n *op.Node) op.Seed { return r.call.Seed(graph.Stream(n)) }})
	if err != nil {
		return nil, err
	}
	grads := make([]*nd.Array, len(entries))
	for i, e := range entries {
		if e.Valid() {
			grads[i], list = list[0], list[1:]
		}
	}
	return grads, nil
}
