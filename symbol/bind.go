package symbol

import (
	"fmt"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// BindConfig says how a symbol is bound to memory. The zero value binds for training on the CPU
// with every argument inferred from the attributes of the symbol.
type BindConfig struct {
	Device device.Device
	// Group2Ctx places groups of nodes, which the attribute __ctx_group__ names, on devices of their own: model parallelism. What
	// is in no group follows its first input, variables in no group lie on Device. Values are copied where devices meet;
	// arrays of arguments, gradients, states and outputs lie where their nodes are. Without it groups mean nothing.
	Group2Ctx map[string]device.Device
	Shapes    map[string]dtype.Shape // of the data and labels, at least; the others are inferred
	Types     map[string]dtype.Type  // float32 where nothing says otherwise
	// Precision is what layers that are mostly products compute in: float16, bfloat16, or float32, which leaves the graph as it is.
	// Arguments, gradients, states and outputs keep their types; values are converted inside, as package graph's Mixed says.
	Precision dtype.Type
	// LossScale scales gradients on their way through the layers of a Precision that is not float32; nil: they are not scaled.
	LossScale *LossScale
	// GradReq says per argument what becomes of its gradient; DefaultReq holds for the others.
	GradReq    map[string]op.Req
	DefaultReq op.Req
	// Args, Grads and Aux are arrays to use instead of new ones. They belong to one engine, which the executor runs on; where none is
	// given that is engine.Default() at the time of the bind. A gradient has the shape, element type and device of its argument.
	Args, Grads, Aux map[string]*nd.Array
	// Shared is an executor whose planned memory is used together with this one's; they then run
	// one after the other.
	Shared *Executor
	// Seed starts the random stream of dropout and the like; a run's position is (Seed, run, node).
	Seed uint64
	// Recompute trades time for memory in training: the backward part computes values of the forward
	// part again instead of keeping them, as far as it takes to come down to this share of the planned
	// memory, or as near to it as possible. Results stay the same bit for bit. Zero recomputes only the
	// nodes whose attribute __force_mirroring__ is True.
	Recompute float64
	// Streams is the number of queues of a device, at most 4, that branches of the graph run on side by side, where the device has queues. Results are
	// the same. 0 and 1: one.
	Streams int
	// Replay lets a device record the kernels of a segment and launch all of them at once in later runs, where the device can do that and their
	// addresses have not changed.
	Replay bool
	// Guard makes every operator check its outputs for NaN and infinity: the first one found is
	// an error that names it. It costs one pass over all values. The plan of the memory is checked
	// by an independent verifier too.
	Guard bool
	// Monitor looks at the values inside the graph; see SetMonitor.
	Monitor *Monitor
	// NoFusion runs inference with the operators as they are composed: no batch norm is folded
	// into weights, no sum or activation joins the layer before it, and every value between
	// operators is a plain array. For tests and for finding out where a number comes from.
	NoFusion bool
	// Without names passes of package graph to leave out.
	Without []string
}

// SimpleBind infers all shapes and element types, allocates what c does not give, and compiles
// the graph. The result is ready to run.
func (s *Symbol) SimpleBind(c BindConfig) (ex *Executor, err error) {
	defer op.Recover(&err)
	if err := compile.CheckNames(c.Without); err != nil {
		return nil, err
	}
	if err := c.checkPrecision(); err != nil {
		return nil, err
	}
	eng, err := c.engineFor()
	if err != nil {
		return nil, err
	}
	r, err := s.inferFor(&c)
	if err != nil {
		return nil, err
	}
	args, aux := s.variables()
	ex = &Executor{symbol: s, config: c, eng: eng, Args: map[string]*nd.Array{}, Grads: map[string]*nd.Array{}, Aux: map[string]*nd.Array{},
		source: compile.Source{Outputs: s.outputs, Args: args, Facts: r.Facts()}}
	if ex.spread, err = s.spreadOver(&c); err != nil {
		return nil, err
	}
	for _, list := range [][]*op.Node{args, aux} {
		if err := r.CheckKnown(list); err != nil {
			return nil, err
		}
	}
	for _, v := range args {
		if err := ex.bindArg(v); err != nil {
			return nil, err
		}
	}
	for _, v := range aux {
		if ex.Aux[v.Name], err = ex.take("auxiliary state", c.Aux, v); err != nil {
			return nil, err
		}
	}
	ex.join(c.Shared)
	ex.unfused = c.NoFusion
	ex.config.NoFusion = c.NoFusion || c.Monitor != nil
	if err := ex.allocOutputs(); err != nil {
		return nil, err
	}
	return ex, nil
}

// inferFor runs inference with the shapes of given arrays among what is known.
func (s *Symbol) inferFor(c *BindConfig) (*compile.Inferred, error) {
	shapes, types := map[string]dtype.Shape{}, map[string]dtype.Type{}
	for _, given := range []map[string]*nd.Array{c.Args, c.Aux} {
		for name, a := range given {
			shapes[name], types[name] = a.Shape(), a.DType()
		}
	}
	for name, sh := range c.Shapes {
		shapes[name] = sh
	}
	for name, t := range c.Types {
		types[name] = t
	}
	return s.infer(shapes, types)
}

// bindArg gives an argument its arrays: value, and gradient unless its request is null.
func (ex *Executor) bindArg(v *op.Node) (err error) {
	if ex.Args[v.Name], err = ex.take("argument", ex.config.Args, v); err != nil {
		return err
	}
	if ex.req(v.Name) == op.ReqNull {
		return nil
	}
	g, given := ex.config.Grads[v.Name]
	if !given {
		a := ex.Args[v.Name]
		g = ex.zeros(a.Shape(), nd.On(a.Device()), nd.As(a.DType()), nd.Name(v.Name+"_grad"))
	} else if g.Device() != ex.Args[v.Name].Device() {
		return fmt.Errorf("symbol: gradient of %q is on %v, want the argument's device %v", v.Name, g.Device(), ex.Args[v.Name].Device())
	} else if a := ex.Args[v.Name]; !g.Shape().Equal(a.Shape()) || g.DType() != a.DType() {
		return fmt.Errorf("symbol: gradient of %q is %v %v, want %v %v", v.Name, g.DType(), g.Shape(), a.DType(), a.Shape())
	}
	ex.Grads[v.Name] = g
	return nil
}

// req returns what becomes of the gradient of an argument.
func (ex *Executor) req(name string) op.Req {
	if r, ok := ex.config.GradReq[name]; ok {
		return r
	}
	return ex.config.DefaultReq
}

// take returns the array given for a variable, checked, or a new one of zeros.
func (ex *Executor) take(what string, given map[string]*nd.Array, v *op.Node) (*nd.Array, error) {
	shape, t := ex.source.Facts.Shapes[v.Entry(0)], ex.source.Facts.Types[v.Entry(0)]
	a, ok := given[v.Name]
	if !ok {
		return ex.zeros(shape, nd.On(ex.deviceOf(v.Name)), nd.As(t), nd.Name(v.Name)), nil
	}
	if want := ex.deviceOf(v.Name); a.Device() != want {
		return nil, fmt.Errorf("symbol: %s %q is on %v, want %v: use To", what, v.Name, a.Device(), want)
	}
	if !a.Shape().Equal(shape) || a.DType() != t {
		return nil, fmt.Errorf("symbol: %s %q has shape %v and type %v, want %v and %v", what, v.Name, a.Shape(), a.DType(), shape, t)
	}
	return a, nil
}

// allocOutputs makes the arrays that outputs are written to.
func (ex *Executor) allocOutputs() error {
	f := ex.source.Facts
	for i, e := range ex.source.Outputs {
		if !f.Shapes[e].Known() {
			return fmt.Errorf("symbol: the shape %v of output %s is not known", f.Shapes[e], e)
		}
		ex.outputs = append(ex.outputs, ex.zeros(f.Shapes[e], nd.On(ex.outputOn(i)), nd.As(f.Types[e]), nd.Name(e.String())))
	}
	return nil
}

// Reshape binds the same symbol to other shapes. Arrays whose shapes stay the same, weights
// above all, and the planned memory are shared with ex.
func (ex *Executor) Reshape(shapes map[string]dtype.Shape) (*Executor, error) {
	c := ex.config
	c.Shapes, c.Shared = shapes, ex
	c.Args, c.Grads, c.Aux = map[string]*nd.Array{}, map[string]*nd.Array{}, ex.Aux
	args, _, _, err := ex.symbol.InferShape(shapes)
	if err != nil {
		return nil, err
	}
	for i, name := range ex.symbol.Arguments() {
		if ex.Args[name].Shape().Equal(args[i]) {
			c.Args[name] = ex.Args[name]
			if g := ex.Grads[name]; g != nil {
				c.Grads[name] = g
			}
		}
	}
	return ex.symbol.SimpleBind(c)
}
