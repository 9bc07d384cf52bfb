package autograd

import (
	nd "gomx/ndarray"
	"gomx/op"
)

// Tape records operations so that Backward can differentiate them; see the package documentation.
type Tape = nd.Tape

// Train returns a tape under which operators behave as in training.
func Train() *Tape { return nd.NewTape(true) }

// Predict returns a tape under which operators behave as in inference, for gradients of a model
// that is not being trained.
func Predict() *Tape { return nd.NewTape(false) }

// Function is a differentiable function in Go: two closures on arrays, one that computes outputs
// and one that computes gradients.
//
//   - Name string: name in errors
//   - Forward func(in []*Array) (out []*Array): computes the outputs from arrays without tape
//   - Backward func(in, out, outGrad []*Array) (inGrad []*Array): computes the gradients of the
//     inputs; nil means zero
//
// Its method Apply(in ...*Array) []*Array calls it.
type Function = nd.Function

// Option changes what Backward and Grad do.
type Option func(*options)

type options struct {
	retain bool
	graph  bool
	grads  []*nd.Array
}

func collect(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	return o
}

// Retain keeps the values that the tape saved, for another Backward.
func Retain() Option { return func(o *options) { o.retain = true } }

// CreateGraph makes Grad record how it computes the gradients: they are on the tape of the heads
// and can be differentiated in turn, by Grad or Backward, as long as the operators in them have
// gradients. It keeps the values that the tape saved, as Retain does. Backward returns an error
// with it, because Backward stores gradients in existing arrays.
func CreateGraph() Option { return func(o *options) { o.graph = true } }

// HeadGrads sets the gradients that flow into the heads, in the order of the heads. A nil, or a
// missing gradient at the end, means ones.
func HeadGrads(grads ...*nd.Array) Option { return func(o *options) { o.grads = grads } }

// Backward computes the gradients of the sum of the heads and stores them in the attached gradients
// of the arrays that the heads were computed from. Misuse is returned as *op.Error; a failure while
// gradients are computed is returned by the wait for them.
func Backward(heads []*nd.Array, opts ...Option) error {
	o := collect(opts)
	if o.graph {
		return &op.Error{Op: "Backward", Arg: "CreateGraph",
			Msg: "attached gradients cannot be recorded, want Grad", Site: op.CallSite()}
	}
	return nd.Backward(heads, o.grads, o.retain)
}

// Grad returns the gradients of the sum of the heads with respect to arrays on their tape or
// with an attached gradient, as new arrays. Attached gradients stay as they are. An array that the
// heads do not depend on gets zeros.
func Grad(heads, wrt []*nd.Array, opts ...Option) ([]*nd.Array, error) {
	o := collect(opts)
	if o.graph {
		return nd.GradientGraph(heads, o.grads, wrt)
	}
	return nd.Gradients(heads, o.grads, wrt, o.retain)
}
