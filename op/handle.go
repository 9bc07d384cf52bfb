package op

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
)

// Op is an operator with its parameters erased, as graphs, passes and generators see it.
// It is immutable once every init has run.
type Op struct {
	Name string // MXNet's name
	Traits
	ParamsType reflect.Type
	Own        bool // declared by a program, outside of gomx's packages of operators

	schema *schema
	// AppendKey as a value: a static recursion would move buffers of callers to the heap
	appendAny func(b []byte, p any) []byte
	defined   bool
	inputs    func(p any) []Input
	outputs   func(p any) []string
	visible   func(p any) int
	infer     func(p any, in, out []dtype.Shape) error
	inferType func(p any, in, out []dtype.Type) error
	grad      func(g *Grad, p any) []Entry
	flops     func(p any, in, out []dtype.Shape) int64 // nil: as Spec.FLOPs says
	precision func(p any) Precision
	product   func(p any, in []dtype.Shape) device.Product
	neutral   func(p any) bool
	fill      func(p any) float64 // nil: none
	draws     func(p any) bool
	numbers   func(p any, in []dtype.Shape) int
	check     func(p any) error // nil: nothing to check
	changes   func(p any) []int
	resolve   func(p any, in []dtype.Shape) (Resolution, error) // nil: not needed
	ref       func(p any, a *Args) (*Prepared, error)

	storage     func(p any, in []Storage) ([]Storage, bool) // nil: dense only
	sparse      func(p any, c *Call) error                  // nil: none
	gradStorage func(p any, in, heads []Storage) []Storage  // nil: all dense

	kernels map[kernelKey]func(p any, a *Args) (*Prepared, error)
}

// Handle is a declared operator whose parameter type is known to the compiler.
type Handle[P any] struct{ *Op }

var registry = map[string]*Op{}

// Declare registers an operator by MXNet's name, before its definition: a gradient often names
// its own operator, and Go forbids that cycle between package variables. Use it for a package
// variable and call Define in init. It panics when the name is taken or P's tags are wrong.
func Declare[P any](name string) Handle[P] {
	typ := reflect.TypeFor[P]()
	o := &Op{Name: name, ParamsType: typ, schema: newSchema(name, typ), Own: ownCaller(),
		kernels: map[kernelKey]func(any, *Args) (*Prepared, error){}}
	o.appendAny = o.schema.appendKey
	register(name, o)
	return Handle[P]{o}
}

func register(name string, o *Op) {
	if old, dup := registry[name]; dup {
		panic(fmt.Sprintf("op: %s: name taken by operator %s", name, old.Name))
	}
	registry[name] = o
}

// Define completes a declared operator. It panics when the definition is incomplete.
func (h Handle[P]) Define(s Spec[P]) {
	o := h.Op
	must := func(ok bool, what string) {
		if !ok {
			panic("op: " + o.Name + ": " + what)
		}
	}
	must(!o.defined, "defined twice")
	must(s.Doc != "" || s.Hidden, "has no documentation")
	must(s.Infer != nil, "has no shape inference")
	must(s.Ref != nil, "has no reference kernel")
	must((s.Grad == nil) == (s.NoGrad != ""),
		"wants either a gradient or the reason for having none")
	must((s.Storage == nil) == (s.Sparse == nil),
		"wants storage types and a sparse kernel, or neither")
	must(s.Grad != nil || s.Once == "", "has no gradient that might be differentiated")
	o.defined, o.Traits = true, s.Traits
	if s.Once != "" && s.Doc != "" {
		o.Doc += "\n\nIts gradient has no gradient in turn: " + s.Once + "."
	}
	if o.GoName == "" {
		o.GoName = camel(o.Name)
	}
	for _, a := range s.Aliases {
		register(a, o)
	}
	h.erase(&s)
}

// erase wraps the typed functions of s into ones that take any.
func (h Handle[P]) erase(s *Spec[P]) {
	o := h.Op
	o.inputs = func(any) []Input { return []Input{{Name: "data"}} }
	if s.Inputs != nil {
		o.inputs = func(p any) []Input { return s.Inputs(p.(P)) }
	}
	o.outputs = func(any) []string { return []string{"output"} }
	if s.Outputs != nil {
		o.outputs = func(p any) []string { return s.Outputs(p.(P)) }
	}
	o.visible = func(p any) int { return len(o.outputs(p)) }
	if s.Visible != nil {
		o.visible = func(p any) int { return s.Visible(p.(P)) }
	}
	o.infer = func(p any, in, out []dtype.Shape) error { return s.Infer(p.(P), in, out) }
	if s.InferType == nil {
		s.InferType = SameType[P]
	}
	o.inferType = func(p any, in, out []dtype.Type) error { return s.InferType(p.(P), in, out) }
	if s.Grad != nil {
		o.grad = func(g *Grad, p any) []Entry { return s.Grad(g, p.(P)) }
	}
	h.eraseFacts(s)
	run := s.Ref
	if len(o.schema.run) > 0 {
		run = func(p P, c *Call) error { return s.Ref(h.At(p, c), c) }
	}
	ref := Simple(run)
	o.ref = func(p any, a *Args) (*Prepared, error) { return ref(p.(P), a) }
	h.eraseStorage(s)
}

// eraseStorage does so for the functions of sparse operands.
func (h Handle[P]) eraseStorage(s *Spec[P]) {
	o := h.Op
	if s.Storage != nil {
		o.storage = func(p any, in []Storage) ([]Storage, bool) { return s.Storage(p.(P), in) }
		o.sparse = func(p any, c *Call) error { return s.Sparse(h.At(p.(P), c), c) }
	}
	if s.GradStorage != nil {
		o.gradStorage = func(p any, in, heads []Storage) []Storage {
			return s.GradStorage(p.(P), in, heads)
		}
	}
}

// eraseFacts does so for the functions that passes ask.
func (h Handle[P]) eraseFacts(s *Spec[P]) {
	o := h.Op
	if s.FLOPs != nil {
		o.flops = func(p any, in, out []dtype.Shape) int64 { return s.FLOPs(p.(P), in, out) }
	}
	o.precision = func(any) Precision { return o.Precision }
	if s.PrecisionOf != nil {
		o.precision = func(p any) Precision { return s.PrecisionOf(p.(P)) }
	}
	o.product = func(any, []dtype.Shape) device.Product { return device.OtherProducts }
	if s.Product != nil {
		o.product = func(p any, in []dtype.Shape) device.Product { return s.Product(p.(P), in) }
	}
	o.neutral = func(any) bool { return false }
	if s.Neutral != nil {
		o.neutral = func(p any) bool { return s.Neutral(p.(P)) }
	}
	if s.Fill != nil {
		o.fill = func(p any) float64 { return s.Fill(p.(P)) }
	}
	o.changes = func(any) []int { return o.Mutates }
	if s.Changes != nil {
		o.changes = func(p any) []int { return s.Changes(p.(P)) }
	}
	if s.Check != nil {
		o.check = func(p any) error { return s.Check(p.(P)) }
	}
	if s.Resolve != nil {
		o.resolve = func(p any, in []dtype.Shape) (Resolution, error) { return s.Resolve(p.(P), in) }
	}
	o.draws = func(any) bool { return o.Random }
	if s.Draws != nil {
		o.draws = func(p any) bool { return s.Draws(p.(P)) }
	}
	if s.Numbers != nil {
		o.numbers = func(p any, in []dtype.Shape) int { return s.Numbers(p.(P), in) }
	}
}

// Kernel attaches a faster kernel for a kind of device and a tier (TierRef for devices that have
// only one). Call it from init.
func (h Handle[P]) Kernel(kind device.Kind, tier device.Tier, prepare Prepare[P]) {
	key := kernelKey{kind, tier}
	if h.kernels[key] != nil {
		panic(fmt.Sprintf("op: %s: second kernel for %v, tier %v", h.Name, kind, tier))
	}
	h.kernels[key] = func(p any, a *Args) (*Prepared, error) { return prepare(p.(P), a) }
}

// HasKernel reports whether a kernel of that tier is attached; the reference kernel of hosts is
// not counted.
func (o *Op) HasKernel(kind device.Kind, tier device.Tier) bool {
	return o.kernels[kernelKey{kind, tier}] != nil
}

// Lookup returns the operator with a name or alias, nil if there is none.
func Lookup(name string) *Op { return registry[name] }

// Find is Lookup with an error that says why there is no operator with a name.
func Find(name string) (*Op, error) {
	if o := registry[name]; o != nil {
		return o, nil
	}
	if strings.HasPrefix(name, "_np") {
		return nil, fmt.Errorf("operator %s is one of MXNet's NumPy operators (_np_, _npi_, "+
			"_npx_), which are not supported: "+
			"export a network that is made of mx.sym's or mx.nd's operators", name)
	}
	if kind := outside[name]; kind != "" {
		return nil, fmt.Errorf("operator %s, %s, is not supported yet", name, kind)
	}
	return nil, fmt.Errorf("unknown operator %q", name)
}

// outside are MXNet's operators whose bodies are code of the user, by their kinds.
var outside = map[string]string{"_Native": "which runs code of the user's program",
	"_NDArray": "which runs code of the user's program"}

// All returns every operator once, sorted by name.
func All() []*Op {
	names := slices.Sorted(maps.Keys(registry))
	var ops []*Op
	for _, n := range names {
		if o := registry[n]; o.Name == n {
			ops = append(ops, o)
		}
	}
	return ops
}

// Normalize fills in the defaults of a parameter struct and checks its bounds.
func (o *Op) Normalize(params any) (any, error) {
	v := reflect.New(o.ParamsType).Elem()
	if params != nil {
		if t := reflect.TypeOf(params); t != o.ParamsType {
			return nil, Errorf("", "parameters are a %v, want %v", t, o.ParamsType)
		}
		v.Set(reflect.ValueOf(params))
	}
	if err := o.schema.normalize(v); err != nil {
		return nil, WithOp(err, o.Name, "", "")
	}
	params = v.Interface()
	if err := o.checkParams(params); err != nil {
		return nil, err
	}
	return params, nil
}

// ParseParams builds normalized parameters from MXNet's attribute strings; keys of the form
// __key__ are passed over, unknown keys are errors. Graphs among the parameters stay missing until
// WithGraphs adds them.
func (o *Op) ParseParams(attrs map[string]string) (any, error) {
	p, err := o.schema.parse(attrs)
	if err != nil {
		return nil, WithOp(err, o.Name, "", "")
	}
	if o.NumGraphs() > 0 {
		return p, nil
	}
	if err := o.checkParams(p); err != nil {
		return nil, err
	}
	return p, nil
}

// UnknownParams returns the keys of attrs, sorted, that are neither parameters nor of the form
// __key__.
func (o *Op) UnknownParams(attrs map[string]string) []string {
	var keys []string
	for key := range attrs {
		if _, ok := o.schema.byName[key]; !ok && !hiddenKey(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// FormatParams writes the parameters that differ from their defaults as attribute strings.
func (o *Op) FormatParams(params any) map[string]string { return o.schema.format(params) }

// WithCount stores the number of inputs of a variadic operator in its parameters.
func (o *Op) WithCount(params any, n int) any { return o.schema.setAuto(params, n) }

// AppendKey appends an encoding of the parameters that is equal only for parameters that kernels
// need not tell apart: those read at run time are left out.
//
// Parameters of another operator, which Normalize refuses, get the name of their type.
func (o *Op) AppendKey(b []byte, params any) []byte {
	if t := reflect.TypeOf(params); t != nil && t != o.ParamsType {
		return append(append(b, "not "...), t.String()...)
	}
	return o.schema.appendKey(b, params)
}

// AppendRun appends the values of the parameters that kernels read at run time, for Call.Values.
func (o *Op) AppendRun(values []float64, params any) []float64 {
	return o.schema.appendRun(values, params)
}

// At returns the parameters of one call: p with the values that the call carries.
func (h Handle[P]) At(p P, c *Call) P {
	for i, v := range c.Values {
		*(*float64)(unsafe.Add(unsafe.Pointer(&p), h.schema.run[i])) = v
	}
	return p
}

// Params describes the parameters, for documentation and generators.
func (o *Op) Params() []ParamSpec { return o.schema.params }

// Inputs lists the inputs under the given normalized parameters.
func (o *Op) Inputs(params any) []Input { return o.inputs(params) }

// Outputs lists the outputs under the given normalized parameters.
func (o *Op) Outputs(params any) []string { return o.outputs(params) }

// Numbers bounds the random numbers that a run of a Random operator draws.
func (o *Op) Numbers(params any, in, out []Desc) int {
	n := 0
	for _, d := range out {
		n = max(n, d.Shape.Size())
	}
	if o.numbers != nil {
		shapes := make([]dtype.Shape, len(in))
		for i, d := range in {
			shapes[i] = d.Shape
		}
		n = max(n, o.numbers(params, shapes))
	}
	return n
}

// Changes lists the inputs that kernels change in place when training or, with Update, always.
func (o *Op) Changes(params any) []int { return o.changes(params) }

// Resolves reports whether output shapes depend on values of inputs, so that Resolve is needed.
func (o *Op) Resolves() bool { return o.resolve != nil }

// Resolve returns what computes the operator for inputs of the given shapes.
func (o *Op) Resolve(params any, in []dtype.Shape) (Resolution, error) {
	return o.resolve(params, in)
}

// NumVisible returns how many outputs composition sees.
func (o *Op) NumVisible(params any) int { return o.visible(params) }

// InferShape fills in unknown shapes, in both directions; unknown ones may remain. Shapes of which
// no array can be made are errors.
func (o *Op) InferShape(params any, in, out []dtype.Shape) error {
	if err := possible("input", in); err != nil {
		return err
	}
	if err := o.infer(params, in, out); err != nil {
		return err
	}
	if err := possible("input", in); err != nil {
		return err
	}
	return possible("output", out)
}

// possible reports extents below zero and sizes that overflow.
func possible(what string, shapes []dtype.Shape) error {
	const most = 1 << 48
	for i, s := range shapes {
		n := 1
		for _, d := range s {
			switch {
			case d < -1:
				return Errorf("", "%s %d would have the shape %v", what, i, []int(s))
			case d > 0 && n > most/d:
				return Errorf("", "%s %d has the shape %v, which is too large", what, i, s)
			case d > 0:
				n *= d
			}
		}
	}
	return nil
}

// InferType fills in unknown element types, in both directions.
func (o *Op) InferType(params any, in, out []dtype.Type) error {
	return o.inferType(params, in, out)
}

// HasGrad reports whether the operator is differentiable.
func (o *Op) HasGrad() bool { return o.grad != nil }

// camel turns a snake_case or leading-underscore name into an exported Go name.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}
