package ndarray

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"gomx/dtype"
	"gomx/op"
)

// Function is a differentiable function written in Go with arrays, like MXNet's autograd.Function.
// It serves computations that no operator has, or that need another gradient than the operator's.
// An operator declared with package op also works in symbols; a Function does not.
type Function struct {
	Name string // used in errors; "Function" if empty

	// Forward computes the outputs. Its inputs are not on the tape.
	Forward func(in []*Array) (out []*Array)

	// Backward computes the gradients of the inputs from the gradients of the outputs; nil means
	// zero. Forward may keep more values for it in variables that both share, if the program makes
	// a Function for each Apply. It is called during [Backward] and must not call Backward on the
	// same tape. For second derivatives it is recorded as a function of its arguments alone.
	Backward func(in, out, outGrad []*Array) (inGrad []*Array)
}

// functionParams are the parameters of the operators that stand for a Function in a graph.
type functionParams struct {
	Inputs  int `op:"inputs,required" min:"1" doc:"number of inputs"`
	Outputs int `op:"outputs,required" min:"1" doc:"number of outputs"`
}

// A recorded computation that is no operator is an ordinary node of the recorded graph, but its
// kernels are Go functions that its step holds.
var (
	functionNode = op.Declare[functionParams]("_CustomFunction")
	functionGrad = op.Declare[functionParams]("_backward_CustomFunction")
)

func init() {
	functionNode.Define(op.Spec[functionParams]{
		Traits:  op.Traits{Hidden: true},
		Inputs:  func(p functionParams) []op.Input { return numbered("input", p.Inputs) },
		Outputs: func(p functionParams) []string { return names(numbered("output", p.Outputs)) },
		Infer:   anyShape,
		Grad: func(g *op.Grad, p functionParams) []op.Entry {
			var in []op.Entry
			for i := range p.Outputs {
				in = append(in, g.Head(i))
			}
			in = append(in, g.Node.In...)
			for i := range p.Outputs {
				in = append(in, g.Out(i))
			}
			return g.Each(functionGrad.Node(p, in...))
		},
		Ref: onTapeOnly,
	})
	functionGrad.Define(op.Spec[functionParams]{
		Traits: op.Traits{Hidden: true,
			NoGrad: "it is a function in Go, whose operations are recorded themselves"},
		Inputs: func(p functionParams) []op.Input {
			return numbered("input", p.Inputs+2*p.Outputs)
		},
		Outputs: func(p functionParams) []string { return names(numbered("output", p.Inputs)) },
		Infer:   anyShape,
		Ref:     onTapeOnly,
	})
}

// anyShape infers nothing: the Go functions return arrays with shapes.
func anyShape(functionParams, []dtype.Shape, []dtype.Shape) error { return nil }

func onTapeOnly(functionParams, *op.Call) error {
	return errors.New("a function in Go runs on a tape only")
}

// maxArrays bounds the number of inputs and of outputs of a function, also in files.
const maxArrays = 1 << 12

// numbered returns n inputs with one name and numbers.
func numbered(name string, n int) []op.Input {
	list := make([]op.Input, max(0, min(n, 4*maxArrays)))
	for i := range list {
		list[i].Name = fmt.Sprintf("%s%d", name, i)
	}
	return list
}

func names(list []op.Input) []string {
	out := make([]string, len(list))
	for i, in := range list {
		out[i] = in.Name
	}
	return out
}

// Apply calls Forward and records the call if a tape watches one of the inputs. It panics with
// *op.Error on misuse.
func (f Function) Apply(in ...*Array) []*Array {
	iv := invocation{op: functionNode.Op, in: in}
	for i, a := range in {
		if err := iv.join(a, i); err != nil {
			panic(blame(err, f.name()))
		}
	}
	if iv.tape != nil && iv.tape.tracing != nil {
		return f.trace(iv.tape.tracing, in)
	}
	detached := make([]*Array, len(in))
	for i, a := range in {
		detached[i] = a.Detach()
	}
	results := f.checked(in, f.Forward(detached))
	out := make([]*Array, len(results))
	for i, a := range results {
		if a.trace.tape != nil {
			panic(misuse(f.name(), "", "output %d of Forward is on a tape, want an array "+
				"computed from the inputs", i))
		}
		out[i] = a.Detach() // Backward may keep a itself
	}
	if iv.tape != nil {
		Record(f, in, out)
	}
	return out
}

// checked panics unless a function of inputs in can have the outputs out.
func (f Function) checked(in, out []*Array) []*Array {
	if n := min(len(in), len(out)); n == 0 || max(len(in), len(out)) > maxArrays {
		panic(misuse(f.name(), "", "%d inputs and %d outputs, want 1 to %d of both", len(in),
			len(out), maxArrays))
	}
	for i, a := range out {
		if a == nil {
			panic(misuse(f.name(), "", "output %d of Forward is nil", i))
		}
	}
	return out
}

// String returns the function's name for errors.
func (f Function) String() string { return f.name() }

// name returns the function's name for errors.
func (f Function) name() string {
	if f.Name == "" {
		return "Function"
	}
	return f.Name
}

// Gradients calls Backward.
func (f Function) Gradients(c *GradientCall) ([]*Array, error) {
	grads := f.Backward(c.In, c.Out, c.OutGrad)
	if len(grads) != len(c.In) {
		return nil, op.Errorf("", "Backward returned %d gradients for %d inputs", len(grads),
			len(c.In))
	}
	return grads, nil
}

// Release does nothing: a function holds no memory of its own.
func (f Function) Release() {}

// ClipGlobalNorm scales arrays in place so that the Euclidean norm of all their elements together
// is at most max, and returns the norm that it found. It waits for the values. Like MXNet's
// clip_global_norm it multiplies by max/(norm+1e-8) if this factor is below one. A norm that is not
// finite is an error, and the arrays stay as they are.
func ClipGlobalNorm(arrays []*Array, max float64) (norm float64, err error) {
	if len(arrays) == 0 {
		return 0, fmt.Errorf("ndarray: ClipGlobalNorm: no arrays")
	}
	if !(max > 0) {
		return 0, fmt.Errorf("ndarray: ClipGlobalNorm: max is %v, want a positive number", max)
	}
	squares := make([]*Array, len(arrays))
	for i, a := range arrays {
		squares[i] = a.Detach().Square().Sum() // push all before waiting for the first
	}
	total := 0.0
	for i, s := range squares {
		v, err := s.Float64s()
		s.Close()
		if err != nil {
			return 0, fmt.Errorf("ndarray: ClipGlobalNorm: array %d: %w", i, err)
		}
		total += v[0]
	}
	if norm = math.Sqrt(total); math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, fmt.Errorf("ndarray: ClipGlobalNorm: the norm is %v, want a finite number",
			norm)
	}
	if scale := max / (norm + 1e-8); scale < 1 {
		for _, a := range arrays {
			a.MulScalarInPlace(scale)
		}
	}
	return norm, nil
}

// Differentiable is a computation on arrays that is no operator, with its own way to its gradient.
// Its String is its name in errors.
type Differentiable interface {
	fmt.Stringer

	// Gradients returns the gradients of the inputs, with nil for zero.
	Gradients(c *GradientCall) ([]*Array, error)

	// Release tells that the gradients will not be asked for again. It may be called twice, and from
	// any goroutine. What it belongs to must not refer to the results of the computation.
	Release()
}

// GradientCall is a question for the gradients of the inputs of a computation.
type GradientCall struct {
	In, Out []*Array
	OutGrad []*Array // gradients that flow into the outputs

	// Into has the arrays that gradients are wanted in; nil where any array will do. A gradient may
	// be returned in another array.
	Into   []*Array
	Wanted []bool // inputs whose gradients something reads

	// Record says that the gradients will be differentiated in turn: In and OutGrad are on a tape,
	// and the gradients must be made of them by operations that a tape records.
	Record bool
}

// Record puts the results of a computation on the tape of its inputs, if they are on one. Backward
// then asks d for the gradients. The arrays of out are new; they join the scope of the inputs.
func Record(d Differentiable, in, out []*Array) {
	iv := invocation{op: functionNode.Op, in: in}
	for i, a := range in {
		if err := iv.join(a, i); err != nil {
			panic(blame(err, d.String()))
		}
	}
	if s := scopeOf(in); s != nil {
		for _, a := range out {
			if a.scope == nil {
				a.enter(s)
			}
		}
	}
	if iv.tape == nil {
		return
	}
	p := &plan{op: functionNode.Op, params: functionParams{Inputs: len(in), Outputs: len(out)},
		inputs: numbered("input", len(in)), updates: make([]bool, len(in)),
		ignored: make([]bool, len(in)), in: make([]op.Desc, len(in)),
		out: make([]op.Desc, len(out))}
	for i, a := range in {
		p.in[i] = op.Plain(a.dtype, a.shape)
	}
	for i, a := range out {
		p.out[i] = op.Plain(a.dtype, a.shape)
	}
	iv.record(p, out)
	if s := out[0].trace.step; s != nil {
		s.by, s.node.Name = d, d.String()
		runtime.AddCleanup(s, Differentiable.Release, d)
	}
}

// Recording reports whether a tape would record a computation on arrays: one of them is on a tape,
// and one of them depends on an array with a gradient attached.
func Recording(in ...*Array) bool {
	on, depends := false, false
	for _, a := range in {
		on = on || a.trace.tape != nil
		depends = depends || a.Differentiated()
	}
	return on && depends
}

// Differentiated reports whether Backward would want the gradient of a: a gradient is attached to
// it, or it has been computed from an array that has one.
func (a *Array) Differentiated() bool {
	a.memory("Differentiated")
	return a.trace.step != nil || a.leaf.Load() != nil
}

// call asks a recorded computation for the gradients of its inputs.
func (b *backprop) call(n *op.Node, in, out []*Array) error {
	p := n.Params.(functionParams)
	s := b.forward[n.In[len(in)-1].Node].step
	c := &GradientCall{OutGrad: in[:p.Outputs], In: in[p.Outputs : p.Outputs+p.Inputs],
		Out: in[p.Outputs+p.Inputs:], Into: make([]*Array, p.Inputs),
		Wanted: make([]bool, p.Inputs), Record: b.record}
	for i := range c.Into {
		c.Into[i], c.Wanted[i] = b.direct[n.Entry(i)], b.uses[n.Entry(i)] > 0
	}
	grads, err := s.by.Gradients(c)
	if err != nil {
		return op.WithOp(err, s.by.String(), "", "")
	}
	for i, g := range grads {
		a := c.In[i]
		switch {
		case g == nil:
			out[i] = Zeros(a.shape, On(a.chunk.dev), As(a.dtype), Using(a.chunk.eng))
		case !g.shape.Equal(a.shape) || g.dtype != a.dtype:
			return op.WithOp(op.Errorf("",
				"Backward returned %v %v as gradient of input %d, want %v %v", g.dtype, g.shape, i,
				a.dtype, a.shape), s.by.String(), "", "")
		default:
			out[i] = g.alias("Backward")
			out[i].trace = g.trace
		}
		if to := c.Into[i]; to != nil && to != g {
			copyArray(to, out[i])
		}
	}
	return nil
}
