package autograd

import nd "gomx/ndarray"

// Tape records operations so that Backward can differentiate them; see the package documentation.
type Tape = nd.Tape

// Train returns a tape under which operators behave as in training.
func Train() *Tape { return nd.NewTape(true) }

// Predict returns a tape under which operators behave as in prediction, for gradients of a model
// that is not being trained.
func Predict() *Tape { return nd.NewTape(false) }

// Option changes what Backward and Grad do.
type Option func(*options)

type options struct {
	retain bool
	grads  []*nd.Array
}

func collect(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	return o
}

// Retain keeps what the tape holds, for another Backward.
func Retain() Option { return func(o *options) { o.retain = true } }

// HeadGrads gives the gradients that flow into the heads, in their order; nil, and what is left
// out, stands for ones.
func HeadGrads(grads ...*nd.Array) Option { return func(o *options) { o.grads = grads } }

// Backward computes the gradients of the sum of the heads and stores them in the attached
// gradients of the arrays that the heads were computed from. Misuse is returned as *op.Error;
// what fails while gradients are computed arrives at those who wait for them.
func Backward(heads []*nd.Array, opts ...Option) error {
	o := collect(opts)
	return nd.Backward(heads, o.grads, o.retain)
}

// Grad returns the gradients of the sum of the heads with respect to arrays on their tape or
// with an attached gradient, as new arrays. Attached gradients stay as they are. An array that the
// heads do not depend on gets zeros.
func Grad(heads, wrt []*nd.Array, opts ...Option) ([]*nd.Array, error) {
	o := collect(opts)
	return nd.Gradients(heads, o.grads, wrt, o.retain)
}
