// Package optest checks operators: what they compute, what they infer and how they differentiate.
//
// A case is one application of an operator. Run executes it in every way that the operator's
// declaration promises to be equal:
//
//	optest.Run(t, prim.Square.Op, optest.Case{
//		In:   []op.Tensor{op.TensorOf([]float32{1, -2, 3})},
//		Want: []op.Tensor{op.TensorOf([]float32{1, 4, 9})},
//	})
//
// For each case it checks that
//
//   - the reference kernel gives the wanted outputs (those listed) from inputs of known shape;
//   - inference agrees with itself: from the full shapes with parts left out it never contradicts
//     them, never fails, and a second pass changes nothing; the same for element types;
//   - outputs written over inputs, as Inplace allows, are equal; so are outputs computed alone,
//     and inputs listed in Ignores are not read;
//   - kernels of faster tiers agree with the reference within the tolerance;
//   - the gradient, built as nodes and interpreted with reference kernels, agrees with central
//     differences in float64; or, where Heads and WantGrad are given, with those values.
//
// Eval interprets any graph with reference kernels, node by node. It is slow and plain: the
// oracle for executors.
//
// Operators whose gradient is no derivative (losses, BlockGrad, straight-through estimators) set
// NoDiff and give WantGrad. Points where the function has a kink should be kept out of the inputs.
package optest
