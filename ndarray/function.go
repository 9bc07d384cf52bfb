package ndarray

import (
	"errors"
	"fmt"
	"math"

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

// Arccos returns, element by element, the arccosine.
func (a *Array) Arccos() *Array { return unary(prim.Arccos, a) }

// Arccosh returns, element by element, the inverse hyperbolic cosine.
func (a *Array) Arccosh() *Array { return unary(prim.Arccosh, a) }

// Arcsin returns, element by element, the arcsine.
func (a *Array) Arcsin() *Array { return unary(prim.Arcsin, a) }

// Arcsinh returns, element by element, the inverse hyperbolic sine.
func (a *Array) Arcsinh() *Array { return unary(prim.Arcsinh, a) }

// Arctan returns, element by element, the arctangent.
func (a *Array) Arctan() *Array { return unary(prim.Arctan, a) }

// Arctanh returns, element by element, the inverse hyperbolic tangent.
func (a *Array) Arctanh() *Array { return unary(prim.Arctanh, a) }

// Cbrt returns, element by element, the cube root.
func (a *Array) Cbrt() *Array { return unary(prim.Cbrt, a) }

// Ceil returns, element by element, the least integer not below the element.
func (a *Array) Ceil() *Array { return unary(prim.Ceil, a) }

// Cos returns, element by element, the cosine.
func (a *Array) Cos() *Array { return unary(prim.Cos, a) }

// Cosh returns, element by element, the hyperbolic cosine.
func (a *Array) Cosh() *Array { return unary(prim.Cosh, a) }

// Degrees converts radians to degrees, element by element.
func (a *Array) Degrees() *Array { return unary(prim.Degrees, a) }

// Expm1 returns, element by element, the exponential minus one.
func (a *Array) Expm1() *Array { return unary(prim.Expm1, a) }

// Fix returns, element by element, the nearest integer towards zero.
func (a *Array) Fix() *Array { return unary(prim.Fix, a) }

// Floor returns, element by element, the greatest integer not above the element.
func (a *Array) Floor() *Array { return unary(prim.Floor, a) }

// Log10 returns, element by element, the logarithm to base 10.
func (a *Array) Log10() *Array { return unary(prim.Log10, a) }

// Log1p returns, element by element, the logarithm of one plus the element.
func (a *Array) Log1p() *Array { return unary(prim.Log1p, a) }

// Log2 returns, element by element, the logarithm to base 2.
func (a *Array) Log2() *Array { return unary(prim.Log2, a) }

// Radians converts degrees to radians, element by element.
func (a *Array) Radians() *Array { return unary(prim.Radians, a) }

// Rcbrt returns, element by element, the reciprocal of the cube root.
func (a *Array) Rcbrt() *Array { return unary(prim.Rcbrt, a) }

// Reciprocal returns, element by element, the reciprocal.
func (a *Array) Reciprocal() *Array { return unary(prim.Reciprocal, a) }

// Rint returns, element by element, the nearest integer; halves are rounded down.
func (a *Array) Rint() *Array { return unary(prim.Rint, a) }

// Round returns, element by element, the nearest integer; halves are rounded away from zero.
func (a *Array) Round() *Array { return unary(prim.Round, a) }

// Rsqrt returns, element by element, the reciprocal of the square root.
func (a *Array) Rsqrt() *Array { return unary(prim.Rsqrt, a) }

// Sin returns, element by element, the sine.
func (a *Array) Sin() *Array { return unary(prim.Sin, a) }

// Sinh returns, element by element, the hyperbolic sine.
func (a *Array) Sinh() *Array { return unary(prim.Sinh, a) }

// Tan returns, element by element, the tangent.
func (a *Array) Tan() *Array { return unary(prim.Tan, a) }

// Trunc returns, element by element, the nearest integer towards zero.
func (a *Array) Trunc() *Array { return unary(prim.Trunc, a) }

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
