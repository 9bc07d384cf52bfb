package op

import (
	"gomx/device"
	"gomx/dtype"
)

// Role is the purpose of an input. Symbolic functions take Data positionally and create the
// others as variables named after the node unless they are given.
type Role uint8

// The roles of inputs.
const (
	Data  Role = iota
	Param      // learned: weight, bias, gamma
	Label      // target of a loss
	State      // state carried from step to step, as of an RNN
	Aux        // auxiliary state: changed by the operator, never by an optimizer
)

// Input describes one input of an operator.
type Input struct {
	Name string // MXNet's argument name; a variable made for it is called <node>_<Name>
	Role Role
	// initializer a created variable asks for (its __init__ attribute), empty for the default by
	// name
	Init string
}

// NoParams is the parameter struct of operators without parameters.
type NoParams struct{}

// Spec defines an operator with parameters P in one place: its constant facts, which are the
// embedded Traits, and its functions. Functions left nil have the stated default. They get
// normalized parameters: defaults filled in, bounds checked. They must be pure and safe for
// concurrent use.
type Spec[P any] struct {
	Traits

	// Inputs lists the inputs; nil: one Data input called data.
	Inputs func(p P) []Input
	// Outputs lists the outputs; nil: one called output.
	Outputs func(p P) []string
	// Visible is the number of outputs that composition sees, from the first on; nil: all.
	Visible func(p P) int

	// Check reports parameters that contradict each other or their graphs; nil: none do. It is
	// called once the graphs are known, before any function below.
	Check func(p P) error
	// Changes lists the inputs that Traits.Mutates would list where they depend on parameters;
	// nil: Traits.Mutates.
	Changes func(p P) []int

	// Infer fills in unknown shapes of inputs and outputs in both directions; it is called until
	// nothing changes and must accept nil (unknown) everywhere. Required.
	Infer func(p P, in, out []dtype.Shape) error
	// InferType does the same for element types; nil: all inputs and outputs have one type.
	InferType func(p P, in, out []dtype.Type) error

	// Resolve is for operators whose output shapes depend on the values of an input. Imperative
	// functions call it, with the shapes of the inputs, and run the resolution in place of the
	// operator; graphs cannot contain such operators. Nil: output shapes do not depend on values.
	Resolve func(p P, in []dtype.Shape) (Resolution, error)

	// Grad returns the gradient of every input as entries of new nodes; the zero Entry means no
	// gradient. See Grad. Nil needs NoGrad.
	Grad func(g *Grad, p P) []Entry

	// FLOPs counts the floating-point operations of one run from known shapes, a multiplication
	// with an addition as two. Nil: one for each element of output 0, none where Moves or Identity
	// is set.
	FLOPs func(p P, in, out []dtype.Shape) int64

	// Neutral reports whether output 0 equals input 0 wherever both have one shape and type, and
	// gradients pass unchanged; nil: it does not.
	Neutral func(p P) bool
	// Fill returns the number that all elements of output 0 are; nil: there is none.
	Fill func(p P) float64
	// Draws reports whether a Random operator draws numbers. Those may not be merged or folded.
	// Nil: all Random operators do.
	Draws func(p P) bool
	// Numbers counts the random numbers that a run of a Random operator draws from inputs of the
	// given shapes. Nil: at most as many as the largest output has elements.
	Numbers func(p P, in []dtype.Shape) int

	// Storage returns the storage types of the outputs for inputs of given storage types, if Sparse
	// serves them; ok is false where it does not: then the inputs are made dense. Nil: Sparse
	// serves none.
	Storage func(p P, in []Storage) (out []Storage, ok bool)
	// Sparse is the kernel for calls with a sparse input or output. It runs on hosts.
	Sparse func(p P, c *Call) error
	// GradStorage returns the storage types that the gradients of the inputs have, from those of
	// the inputs and of the gradients that flow into the outputs. Nil: all are dense.
	GradStorage func(p P, in, heads []Storage) []Storage

	// PrecisionOf is Precision where it depends on parameters; nil: Precision.
	PrecisionOf func(p P) Precision
	// Product returns the class of a Narrow operator from the known shapes of its inputs; nil:
	// device.OtherProducts.
	Product func(p P, in []dtype.Shape) device.Product

	// Ref is the reference kernel: the plain Go loop that defines the operator and is the oracle
	// of every other kernel. It serves all dtypes that the operator supports. Required.
	Ref func(p P, c *Call) error
}

// Resolution computes an operator whose output shapes depend on values: by another operator, one
// input of which is made of the values of the input in its place.
type Resolution struct {
	Op      *Op
	Params  any
	Reads   int                   // number of the input whose values decide
	Replace func(t Tensor) Tensor // returns the input that takes its place, from and in memory of the host
}

// shape-inference building blocks

// SameShape infers that all inputs and outputs have one shape.
func SameShape[P any](_ P, in, out []dtype.Shape) error {
	var shape dtype.Shape
	for i, s := range append(append([]dtype.Shape{}, in...), out...) {
		m, ok := shape.Merge(s)
		if !ok {
			return Errorf("", "shapes differ: %v and %v (of %s %d)", shape, s, inOrOut(i, len(in)),
				i%max(len(in), 1))
		}
		shape = m
	}
	for i := range in {
		in[i] = shape.Clone()
	}
	for i := range out {
		out[i] = shape.Clone()
	}
	return nil
}

// SameType infers that all inputs and outputs have one element type.
func SameType[P any](_ P, in, out []dtype.Type) error {
	t := dtype.Unknown
	for _, list := range [][]dtype.Type{in, out} {
		for _, u := range list {
			if u != dtype.Unknown && t != dtype.Unknown && u != t {
				return Errorf("", "element types differ: %v and %v", t, u)
			}
			if u != dtype.Unknown {
				t = u
			}
		}
	}
	for i := range in {
		in[i] = t
	}
	for i := range out {
		out[i] = t
	}
	return nil
}

// FloatType infers that all inputs and outputs have one floating-point type.
func FloatType[P any](p P, in, out []dtype.Type) error {
	if err := SameType(p, in, out); err != nil {
		return err
	}
	for _, list := range [][]dtype.Type{in, out} {
		for _, t := range list {
			if t != dtype.Unknown && !t.IsFloat() {
				return Errorf("", "element type %v, want a floating-point type", t)
			}
		}
	}
	return nil
}

// Same makes two shapes equal; arg is to blame when they contradict.
func Same(arg string, a, b *dtype.Shape) error {
	if err := Require(arg, b, *a); err != nil {
		return err
	}
	*a = b.Clone()
	return nil
}

// Require merges want into *s, the shape of argument arg, or reports both.
func Require(arg string, s *dtype.Shape, want dtype.Shape) error {
	m, ok := s.Merge(want)
	if !ok {
		return Errorf(arg, "shape %v, want %v", *s, want)
	}
	*s = m
	return nil
}

func inOrOut(i, inputs int) string {
	if i < inputs {
		return "input"
	}
	return "output"
}
