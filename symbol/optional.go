package symbol

import "gomx/op"

// Opt is an optional parameter, such as P of [DropoutParams]: a parameter whose zero value is legal
// and differs from its default, or which may have no value at all. The zero Opt means the default.
// [Some] sets one, [None] says that there is no value.
type Opt[T any] = op.Opt[T]

// Some returns an optional parameter with a value:
//
//	sym.DropoutParams{P: sym.Some(0.2)}
//
// Constants without a point are integers: write sym.Some(1.0) for a parameter of type float64.
func Some[T any](v T) Opt[T] { return op.Some(v) }

// None returns an optional parameter without a value, MXNet's None, where the default is a value:
//
//	sym.SortParams{Axis: sym.None[int]()}
func None[T any]() Opt[T] { return op.None[T]() }
