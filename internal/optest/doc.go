// Package optest checks operators: their results, their inference and their gradients.
//
// A case is one application of an operator. Run executes it in every way that, by the operator's
// declaration, gives the same results:
//
//	optest.Run(t, prim.Square.Op, optest.Case{
//		In:   []op.Tensor{op.TensorOf([]float32{1, -2, 3})},
//		Want: []op.Tensor{op.TensorOf([]float32{1, 4, 9})},
//	})
//
// For each case it checks:
//
//   - the reference kernel gives the wanted outputs from inputs of known shape;
//   - inference is consistent: with parts of the shapes left out it never contradicts the full
//     shapes, never fails, and a second pass changes nothing; the same for element types;
//   - outputs written over inputs, as Inplace allows, are equal; outputs computed alone are equal;
//     inputs listed in Ignores are not read;
//   - kernels of faster tiers agree with the reference within the tolerance;
//   - the gradient, built as nodes and interpreted with reference kernels, agrees with central
//     differences in float64, or with the values of WantGrad for Heads, if they are given.
//
// Eval interprets any graph with reference kernels, node by node. It is slow and simple, so that
// executors can be compared with it.
//
// Operators whose gradient is no derivative (losses, BlockGrad, straight-through estimators) set
// NoDiff and give WantGrad. Inputs should not include points where the function is not
// differentiable.
package optest
