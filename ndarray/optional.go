package ndarray

import "gomx/op"

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
