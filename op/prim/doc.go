// Package prim declares the operators that gradients are made of: elementwise arithmetic and
// functions, comparisons, reductions and broadcasting, products, softmax, and everything that
// only moves or makes elements (reshape, transpose, concat, slice, zeros, arange).
//
// The operators are package variables, typed handles that gradients of this and higher packages
// apply to graph entries:
//
//	dx := prim.ElemwiseMul.Apply(op.NoParams{}, dy, prim.Cos.Apply(op.NoParams{}, x))
//
// # Elementwise families
//
// The unary functions are one table (unary.go), the binary ones another (binary.go), which
// declares each function twice: for operands of one shape (elemwise_add, _maximum) and for
// operands that broadcast (broadcast_add, broadcast_maximum). Functions of an array and a number
// are the third (scalar.go). A row holds the name, the documentation, the function and its
// gradient as nodes. Comparisons give zeros and ones in the type of their operands.
//
// # Precision
//
// Reference kernels compute in float64 and round once, for every floating-point type; integers
// are computed as int64 and wrap around. Integer division by zero gives zero. See package
// gomx/op/loop for conversions.
//
// # Shapes
//
// As in MXNet before NumPy semantics, reductions of all axes give shape (1,). Negative axes count
// from the end. During inference unknown extents are -1 and unknown shapes nil; zero-size arrays
// are legal.
//
// # Gradients
//
// Most gradients are compositions of operators declared here, so they can be differentiated again.
// A few hidden operators exist because a composition would be slow or would need to know shapes:
// _sum_like sums the elements that broadcasting repeated, _expand_reduced undoes a reduction,
// _backward_dot, _backward_softmax and their kin do one step in one kernel; they have gradients
// themselves. Operators whose derivative is zero almost everywhere (floor, comparisons, argmax) let
// no gradient flow; a caller that asks for it gets zeros.
package prim
