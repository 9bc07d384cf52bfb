package ndarray

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
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
		Record(f, in, 0, out)
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
		squares[i] = sumOfSquares(a) // push all before waiting for the first
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

// sumOfSquares returns the sum of the squares of all elements. Sparse arrays are not made dense.
func sumOfSquares(a *Array) *Array {
	d := a.Detach()
	defer d.Close()
	if a.Storage() != op.Dense {
		norm := Norm(d, NormParams{})
		defer norm.Close()
		return norm.Square()
	}
	s := d.Square()
	defer s.Close()
	return s.Sum()
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

	own []*Array // see Own
}

// Own gives an array that Gradients made, and nothing else refers to, to the tape: it is closed as
// soon as the tape has read it. It returns the array.
func (c *GradientCall) Own(a *Array) *Array {
	c.own = append(c.own, a)
	return a
}

// oneser is a Differentiable that keeps arrays of ones like its outputs, which nobody writes. They
// are the gradients that flow in where Backward is given none.
type oneser interface {
	Ones(output int) (*Array, error)
}

// Record puts the results of a computation on the tape of its inputs, if they are on one. Backward
// then asks d for the gradients. The last held inputs are known to lie in different memory, as
// parameters do. The arrays of out are new; they join the scope of the inputs.
func Record(d Differentiable, in []*Array, held int, out []*Array) {
	iv := newInvocation(functionNode.Op, nil, nil)
	defer iv.release()
	iv.in = in
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
	iv.record(functionPlan(len(in), len(out)), out)
	if s := out[0].trace.step; s != nil {
		s.by, s.node.Name, s.alone = d, d.String(), s.onLeaves(held)
		runtime.AddCleanup(s, Differentiable.Release, d)
	}
}

// functionPlans caches the plans of recorded computations by the numbers of inputs and outputs.
var functionPlans sync.Map

// functionPlan returns the plan of a recorded computation.
func functionPlan(in, out int) *plan {
	key := [2]int{in, out}
	if p, ok := functionPlans.Load(key); ok {
		return p.(*plan)
	}
	p, _ := functionPlans.LoadOrStore(key, &plan{op: functionNode.Op,
		params: functionParams{Inputs: in, Outputs: out}, inputs: numbered("input", in),
		updates: make([]bool, in), ignored: make([]bool, in), in: make([]op.Desc, in),
		out: make([]op.Desc, out)})
	return p.(*plan)
}

// onLeaves reports whether a recorded computation depends on attached gradients alone, and on each
// only once. The last held of its inputs are different.
func (s *step) onLeaves(held int) bool {
	for i, p := range s.parents {
		if p.step != nil {
			return false
		}
		for _, q := range s.parents[i+1:] {
			if i < len(s.parents)-held && p.leaf != nil && p.leaf == q.leaf {
				return false
			}
		}
	}
	return true
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

// lone returns the recorded computation of which all heads are results, if it depends on attached
// gradients alone: its gradients need no graph. Otherwise it returns nil.
func lone(heads []*Array) *step {
	var s *step
	for i, h := range heads {
		if h == nil || h.leaf.Load() != nil || h.trace.step == nil || !h.trace.step.alone ||
			i > 0 && h.trace.step != s {
			return nil
		}
		s = h.trace.step
	}
	return s
}

// differentiate is Backward for the results of one recorded computation.
func (s *step) differentiate(heads, grads []*Array, retain bool) error {
	tape := heads[0].trace.tape
	tape.mu.Lock()
	defer tape.mu.Unlock()
	if s.freed {
		return blame(errFreed(), s.by.String())
	}
	n, m := len(s.in), len(s.out)
	arrays := make([]*Array, 2*n+2*m)
	c := &GradientCall{In: arrays[:n:n], Into: arrays[n : 2*n : 2*n],
		Out: arrays[2*n : 2*n+m : 2*n+m], OutGrad: arrays[2*n+m:], Wanted: make([]bool, n)}
	for i := range s.in {
		v := &s.in[i]
		if v.overwritten() {
			return blame(op.Errorf(s.plan.inputs[i].Name, "%s", v.complaint()), s.by.String())
		}
		c.In[i] = v.array
		if l := s.parents[i].leaf; l != nil {
			if c.Wanted[i] = true; l.req == GradWrite {
				c.Into[i] = l.grad
			}
		}
	}
	for i := range s.out {
		c.Out[i] = s.out[i].array
	}
	if err := c.flow(s.by, heads, grads); err != nil {
		return blame(err, "Backward")
	}
	list, err := c.ask(s.by)
	if err != nil {
		return blame(err, s.by.String())
	}
	for i, g := range list {
		if l := s.parents[i].leaf; l != nil {
			if err := l.store(g, c.Into[i]); err != nil {
				return blame(err, s.by.String())
			}
		}
	}
	for _, a := range c.own {
		a.Close()
	}
	if !retain {
		s.free()
	}
	return nil
}

// ask calls Gradients and checks the result.
func (c *GradientCall) ask(d Differentiable) ([]*Array, error) {
	grads, err := d.Gradients(c)
	if err != nil {
		return nil, err
	}
	for i, g := range grads {
		if a := c.In[i]; g != nil && (!g.shape.Equal(a.shape) || g.dtype != a.dtype) {
			return nil, op.Errorf("", "Backward returned %v %v as gradient of input %d, want %v %v",
				g.dtype, g.shape, i, a.dtype, a.shape)
		}
	}
	return grads, nil
}

// flow fills in the gradients that flow into the outputs. own lists the arrays that it has made.
func (c *GradientCall) flow(d Differentiable, heads, grads []*Array) error {
	if err := checkHeads(heads, grads); err != nil {
		return err
	}
	for k, h := range heads {
		to := &c.OutGrad[h.trace.index]
		var g *Array
		var err error
		if k < len(grads) && grads[k] != nil {
			g = c.keep(grads[k].Detach())
		} else if o, ok := d.(oneser); ok {
			if g, err = o.Ones(h.trace.index); err != nil {
				return err
			}
		} else if g, err = c.full(h, 1); err != nil {
			return err
		}
		if *to != nil { // an output may be a head twice
			g = c.keep(apply1(prim.ElemwiseAdd.Op, nil, *to, g))
		}
		*to = g
	}
	for i, a := range c.Out {
		if c.OutGrad[i] == nil {
			g, err := c.full(a, 0)
			if err != nil {
				return err
			}
			c.OutGrad[i] = g
		}
	}
	return nil
}

// keep adds an array to those that are closed after the call.
func (c *GradientCall) keep(a *Array) *Array {
	c.own = append(c.own, a)
	return a
}

// full makes an array like another one, of equal elements.
func (c *GradientCall) full(like *Array, v float64) (*Array, error) {
	a, err := newArray(like.chunk.eng, like.chunk.dev, like.dtype, like.shape, "")
	if err != nil {
		return nil, err
	}
	fill(a, v)
	return c.keep(a), nil
}

// store stores a gradient, which has been computed into array into unless that is nil; a nil
// gradient is zero.
func (l *leaf) store(g, into *Array) error {
	l.fresh.Store(true)
	switch {
	case g == nil && l.req == GradWrite:
		fill(l.grad, 0)
	case g == nil || g == into:
	case l.req == GradWrite:
		copyArray(l.grad, g)
	default:
		return InvokeInto(prim.ElemwiseAdd.Op, nil, []*Array{l.grad, g.Detach()}, []*Array{l.grad})
	}
	return nil
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
	grads, err := c.ask(s.by)
	if err != nil {
		return op.WithOp(err, s.by.String(), "", "")
	}
	for i, g := range grads {
		a := c.In[i]
		switch {
		case g == nil:
			out[i] = Zeros(a.shape, On(a.chunk.dev), As(a.dtype), Using(a.chunk.eng))
		default:
			out[i] = g.alias("Backward")
			out[i].trace = g.trace
		}
		if to := c.Into[i]; to != nil && to != g {
			copyArray(to, out[i])
		}
	}
	for _, a := range c.own {
		a.Close()
	}
	return nil
}
