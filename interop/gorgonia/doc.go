// Package gorgonia lets gomx and Gorgonia work on one memory, and checks one against the other.
//
// Lend hands an Array out as a tensor.Dense without copying: while the tensor is lent the engine
// treats it as an operation that updates the array, so everything pushed later waits until it is
// given back. FromDense copies a tensor into a new Array.
//
//	d, back, err := gorgonia.Lend(ctx, a)
//	tensor.Add(d, d, tensor.UseUnsafe()) // writes into a
//	back()
//
// The package is a module of its own, so that programs that do not use Gorgonia do not carry its
// dependencies. Its tests use Gorgonia as an independent oracle of values and gradients.
package gorgonia
