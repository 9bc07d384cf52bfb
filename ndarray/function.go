package ndarray

import (
	"errors"
	"fmt"

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

// A function is an ordinary node of the recorded graph, but its kernels are Go functions that its
// step holds.
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
			return numbered("input",
				p.Inputs+2*p.Outputs)
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
	detached := make([]*Array, len(in))
	for i, a := range in {
		if err := iv.join(a, i); err != nil {
			panic(blame(err, f.name()))
		}
		detached[i] = a.Detach()
	}
	results := f.Forward(detached)
	if n := min(len(in), len(results)); n == 0 || max(len(in), len(results)) > maxArrays {
		panic(misuse(f.name(), "", "%d inputs and %d outputs, want 1 to %d of both", len(in),
			len(results), maxArrays))
	}
	p := &plan{op: functionNode.Op, params: functionParams{Inputs: len(in), Outputs: len(results)},
		inputs: numbered("input", len(in)), updates: make([]bool, len(in)),
		ignored: make([]bool, len(in))}
	out := make([]*Array, len(results))
	for i, a := range results {
		if a == nil || a.trace.tape != nil {
			panic(misuse(f.name(), "", "output %d of Forward is nil or on a tape, want an array "+
				"computed from the inputs", i))
		}
		out[i] = a.Detach() // Backward may keep a itself
		p.out = append(p.out, op.Plain(a.dtype, a.shape))
	}
	for _, a := range in {
		p.in = append(p.in, op.Plain(a.dtype, a.shape))
	}
	if iv.tape == nil {
		return out
	}
	iv.record(p, out)
	if s := out[0].trace.step; s != nil {
		s.fn, s.node.Name = &f, f.name()
	}
	return out
}

// name returns the function's name for errors.
func (f Function) name() string {
	if f.Name == "" {
		return "Function"
	}
	return f.Name
}

// callFunction computes the gradients of the inputs of a function.
func (b *backprop) callFunction(n *op.Node, in, out []*Array) error {
	p := n.Params.(functionParams)
	s := b.forward[n.In[len(in)-1].Node].step
	args := in[p.Outputs : p.Outputs+p.Inputs]
	grads := s.fn.Backward(args, in[p.Outputs+p.Inputs:], in[:p.Outputs])
	if len(grads) != len(args) {
		return op.WithOp(op.Errorf("", "Backward returned %d gradients for %d inputs", len(grads),
			len(args)), s.fn.name(), "", "")
	}
	for i, g := range grads {
		a := args[i]
		if g == nil {
			out[i] = Zeros(a.shape, On(a.chunk.dev), As(a.dtype), Using(a.chunk.eng))
		} else if !g.shape.Equal(a.shape) || g.dtype != a.dtype {
			return op.WithOp(op.Errorf("",
				"Backward returned %v %v as gradient of input %d, want %v %v", g.dtype, g.shape, i,
				a.dtype, a.shape), s.fn.name(), "", "")
		} else {
			out[i] = g.alias("Backward")
			out[i].trace = g.trace
		}
		if to := b.direct[n.Entry(i)]; to != nil {
			copyArray(to, out[i])
		}
	}
	return nil
}
