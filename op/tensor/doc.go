// Package tensor declares operators on arrays that gradients of other operators are not made of:
// running sums, diagonals, histograms, the Khatri-Rao product, the hard sigmoid.
//
// It stands beside op/index and op/random and builds on op/prim:
//
//	y := tensor.CumSum.Apply(tensor.CumSumParams{Axis: op.Some(0)}, x)
package tensor
