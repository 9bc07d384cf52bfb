package ndarray

import (
	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/op"
)

// Option sets one property of a new array.
type Option func(*options)

type options struct {
	dev    device.Device
	dtype  dtype.Type
	eng    *engine.Engine
	name   string
	seed   uint64
	seeded bool
}

// On puts the array on a device instead of device.CPU().
func On(d device.Device) Option { return func(o *options) { o.dev = d } }

// As gives the array an element type instead of float32.
func As(t dtype.Type) Option { return func(o *options) { o.dtype = t } }

// Seed makes random values a function of seed and shape alone; without it they come from the stream
// that SetSeed starts.
func Seed(seed uint64) Option {
	return func(o *options) { o.seed, o.seeded = seed, true }
}

// Name names the array in error messages and profiles.
func Name(name string) Option { return func(o *options) { o.name = name } }

// Using runs the operations on the array, and on all arrays computed from it, on engine e instead
// of engine.Default(). One operation cannot use arrays of different engines.
func Using(e *engine.Engine) Option { return func(o *options) { o.eng = e } }

// start returns the place in the random stream that the options ask for, if they do.
func (o *options) start() (at op.Opt[op.Seed]) {
	if o.seeded {
		at = op.Some(op.Seed{Key: o.seed})
	}
	return at
}

// Input is an optional input of an operator and its name; see With.
type Input struct {
	name  string
	array *Array
}

// With returns an input that the operator has only with some parameters, such as the lengths of a
// softmax:
//
//	nd.Softmax(x, nd.SoftmaxParams{UseLength: true}, nd.With("length", lengths))
func With(input string, a *Array) Input { return Input{input, a} }

func collect(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	if o.eng == nil {
		o.eng = engine.Default()
	}
	return o
}

// Opt is an optional parameter, such as P of [DropoutParams]: a parameter whose zero value is legal
// and differs from its default, or which may have no value at all. The zero Opt means the default.
// [Some] returns one with a value, [None] one that has no value.
type Opt[T any] = op.Opt[T]

// Some returns an optional parameter with a value:
//
//	nd.DropoutParams{P: nd.Some(0.2)}
//
// Constants without a point are integers: write nd.Some(1.0) for a parameter of type float64.
func Some[T any](v T) Opt[T] { return op.Some(v) }

// None returns an optional parameter without a value (MXNet's None), for parameters whose default
// is a value:
//
//	nd.SortParams{Axis: nd.None[int]()}
func None[T any]() Opt[T] { return op.None[T]() }
