package exec

import (
	"fmt"
	"maps"

	"gomx/compile"
	"gomx/device"
	"gomx/device/cpu/narrow"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// Config says how a graph is bound to memory. The zero value binds for training on the CPU
// with every argument inferred from the attributes of the variables.
type Config struct {
	Device device.Device
	// Group2Ctx gives groups of nodes, which the attribute __ctx_group__ names, devices of their
	// own: model parallelism. A node in no group follows its first input; a variable in no group
	// lies on Device. Values are copied where devices meet. Arrays lie where their nodes are.
	// Groups mean nothing when it is empty.
	Group2Ctx map[string]device.Device
	Shapes    map[string]dtype.Shape // shapes of data and labels at least; the others are inferred
	Types     map[string]dtype.Type  // float32 where nothing says otherwise
	// Stored gives arguments storage types. For the others given arrays and the attribute
	// __storage_type__ do, and the type default holds. Storage types of values, outputs and
	// gradients follow, as MXNet infers them. A graph with a sparse value runs operator by operator,
	// one whose gradients alone are sparse is compiled.
	Stored map[string]op.Storage
	// Precision is the type that layers compute in which are mostly products: float16, bfloat16, or
	// float32, which leaves the graph as it is. Arguments, gradients, states and outputs keep their
	// types; values are converted inside, as Mixed of package graph says.
	Precision dtype.Type
	// Products are the classes of products that processors compute in bfloat16 if Precision is that;
	// the others stay float32. Not given: the choice of package narrow for this processor.
	Products op.Opt[device.Products]
	// LossScale scales gradients on their way through layers of a narrow Precision; nil: no
	// scaling.
	LossScale *LossScale
	// GradReq is the request for the gradient of each argument; DefaultReq holds for the others.
	GradReq    map[string]op.Req
	DefaultReq op.Req
	// Args, Grads and Aux are arrays to use instead of new ones. They belong to one engine, on
	// which the executor runs; without any that is engine.Default() at the time of the bind. A
	// gradient has the shape, element type and device of its argument.
	Args, Grads, Aux map[string]*nd.Array
	// Shared is an executor that lends its planned memory; the two then run one after the other.
	Shared *Executor
	// Seed starts the random stream of dropout and the like; the position of a number is (Seed,
	// run, node).
	Seed uint64
	// Recompute trades time for memory in training: the backward part computes values of the
	// forward part again instead of keeping them, until this share of the planned memory is
	// reached, or the least that is possible. Results stay the same bit for bit. Zero recomputes
	// only the nodes whose attribute __force_mirroring__ is True.
	Recompute float64
	// Streams is the number of queues of a device, at most 4, that branches of the graph run on
	// side by side, where the device has queues. Results are the same. 0 and 1: one.
	Streams int
	// Replay lets a device record the kernels of the forward part and of the backward part and
	// launch each part at once in later runs, where the device can do that and addresses have not
	// changed.
	Replay bool
	// Guard makes every operator check its outputs for NaN and infinity: the first one found is an
	// error that names the operator. It costs one pass over all values. An independent verifier
	// checks the plan of the memory too.
	Guard bool
	// Monitor looks at the values inside the graph; see SetMonitor.
	Monitor *Monitor
	// NoFusion runs the operators as they are composed: no batch norm is folded into weights, no
	// sum or activation joins the layer before it, and every value between operators is a plain
	// array. It serves tests, and the search for the origin of a number.
	NoFusion bool
	// Without names passes of package compile to leave out.
	Without []string

	lent   *lending // of an executor of a Func, else nil
	stored stored   // storage types that Bind has found
}

// lending says that the arrays of an executor have no memory: each run gets others.
type lending struct {
	// draws has the place of each random stream among the numbers that one run takes from the
	// process-wide stream.
	draws []uint64
}

// Net is a composed graph whose nodes have names.
type Net struct {
	Outputs   []op.Entry
	Args, Aux []*op.Node // variables in the order of the graph, auxiliary states apart
}

// arguments lists the names of the arguments.
func (n *Net) arguments() []string {
	list := make([]string, len(n.Args))
	for i, v := range n.Args {
		list[i] = v.Name
	}
	return list
}

// Bind infers all shapes and element types, allocates the arrays that c does not give, and returns
// an executor that is ready to run. The graph is compiled at the first use of each mode.
func Bind(n Net, c Config) (ex *Executor, err error) {
	defer op.Recover(&err)
	if err := compile.CheckNames(c.Without); err != nil {
		return nil, err
	}
	if err := c.checkPrecision(); err != nil {
		return nil, err
	}
	if c.Precision == dtype.BFloat16 && !c.Products.IsSet() {
		c.Products = op.Some(narrow.Chosen().Products)
	}
	eng, err := c.engineFor()
	if err != nil {
		return nil, err
	}
	r, err := c.infer(n.Outputs)
	if err != nil {
		return nil, err
	}
	ex = &Executor{net: n, config: c, eng: eng, facts: r.Facts(), Args: map[string]*nd.Array{},
		Grads: map[string]*nd.Array{}, Aux: map[string]*nd.Array{}}
	if err := ex.config.storage(&n); err != nil {
		return nil, err
	}
	if node := resolving(n.Outputs); node != nil {
		ex.pending.lines = &lines{because: node}
	} else if name := ex.config.stored.sparse(&n); name != "" &&
		!ex.config.planned(&n) {
		ex.pending.lines = &lines{sparse: name}
	}
	if ex.pending.lines != nil {
		if err := ex.pending.lines.check(&c); err != nil {
			return nil, err
		}
	}
	if ex.spread, err = c.spreadOver(n.Outputs); err != nil {
		return nil, err
	}
	for _, list := range [][]*op.Node{n.Args, n.Aux} {
		if err := r.CheckKnown(list); err != nil {
			return nil, err
		}
	}
	for _, v := range n.Args {
		if err := ex.bindArg(v); err != nil {
			return nil, err
		}
	}
	for _, v := range n.Aux {
		if ex.Aux[v.Name], err = ex.take("auxiliary state", c.Aux, v); err != nil {
			return nil, err
		}
	}
	if ex.pending.lines != nil {
		return ex, nil
	}
	ex.join(c.Shared)
	if err := ex.allocOutputs(); err != nil {
		return nil, err
	}
	return ex, nil
}

// infer runs inference with the shapes and types of given arrays among the known ones.
func (c *Config) infer(outs []op.Entry) (*compile.Inferred, error) {
	known := compile.Given{Shapes: map[string]dtype.Shape{}, Types: map[string]dtype.Type{}}
	for _, given := range []map[string]*nd.Array{c.Args, c.Aux} {
		for name, a := range given {
			known.Shapes[name], known.Types[name] = a.Shape(), a.DType()
		}
	}
	maps.Copy(known.Shapes, c.Shapes)
	maps.Copy(known.Types, c.Types)
	return compile.Infer(outs, known)
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
		g = ex.zeros(ex.config.stored.grads[v.Name], a.Shape(), nd.On(a.Device()), nd.As(a.DType()),
			nd.Name(v.Name+"_grad"))
	} else if g.Device() != ex.Args[v.Name].Device() {
		return fmt.Errorf("exec: gradient of %q is on %v, want the argument's device %v", v.Name,
			g.Device(), ex.Args[v.Name].Device())
	} else if a := ex.Args[v.Name]; !g.Shape().Equal(a.Shape()) || g.DType() != a.DType() {
		return fmt.Errorf("exec: gradient of %q is %v %v, want %v %v", v.Name, g.DType(), g.Shape(),
			a.DType(), a.Shape())
	}
	ex.Grads[v.Name] = g
	return nil
}

// req says whether the gradient of an argument is written, added or not computed.
func (ex *Executor) req(name string) op.Req { return ex.config.req(name) }

func (c *Config) req(name string) op.Req {
	if r, ok := c.GradReq[name]; ok {
		return r
	}
	return c.DefaultReq
}

// take returns the array given for a variable, checked, or a new one of zeros.
func (ex *Executor) take(what string, given map[string]*nd.Array, v *op.Node) (*nd.Array, error) {
	shape, t := ex.facts.Shapes[v.Entry(0)], ex.facts.Types[v.Entry(0)]
	a, ok := given[v.Name]
	if !ok {
		return ex.zeros(ex.config.stored.vars[v.Name], shape, nd.On(ex.deviceOf(v.Name)), nd.As(t),
			nd.Name(v.Name)), nil
	}
	if want := ex.deviceOf(v.Name); a.Device() != want {
		return nil, fmt.Errorf("exec: %s %q is on %v, want %v: use To", what, v.Name, a.Device(),
			want)
	}
	if !a.Shape().Equal(shape) || a.DType() != t {
		return nil, fmt.Errorf("exec: %s %q has shape %v and type %v, want %v and %v", what, v.Name,
			a.Shape(), a.DType(), shape, t)
	}
	return a, nil
}

// allocOutputs makes the arrays that outputs are written to.
func (ex *Executor) allocOutputs() error {
	f := ex.facts
	for i, e := range ex.net.Outputs {
		if !f.Shapes[e].Known() {
			return fmt.Errorf("exec: the shape %v of output %s is not known", f.Shapes[e], e)
		}
		made := nd.Zeros
		if ex.config.lent != nil {
			made = nd.Placeholder
		}
		ex.outputs = append(ex.outputs, made(f.Shapes[e], nd.On(ex.outputOn(i)),
			nd.As(f.Types[e]), nd.Name(e.String()), nd.Using(ex.eng)))
	}
	return nil
}

// Reshape binds the same graph to other shapes. Arrays whose shapes stay the same, weights
// above all, and the planned memory are shared with ex.
func (ex *Executor) Reshape(shapes map[string]dtype.Shape) (*Executor, error) {
	c := ex.config
	c.Shapes, c.Shared = shapes, ex
	c.Args, c.Grads, c.Aux = map[string]*nd.Array{}, map[string]*nd.Array{}, ex.Aux
	r, err := compile.Infer(ex.net.Outputs, compile.Given{Shapes: shapes})
	if err != nil {
		return nil, err
	}
	for _, v := range ex.net.Args {
		if shape, _ := r.Of(v.Entry(0)); ex.Args[v.Name].Shape().Equal(shape) {
			c.Args[v.Name] = ex.Args[v.Name]
			if g := ex.Grads[v.Name]; g != nil {
				c.Grads[v.Name] = g
			}
		}
	}
	return Bind(ex.net, c)
}
