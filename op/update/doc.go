// Package update defines the operators with which optimizers change weights.
//
// An update operator reads a weight and its gradient and returns the new weight. States (momentum,
// moments) are inputs that it changes in place. Imperative functions write the new weight over
// the old one, as the output may share memory with the weight:
//
//	nd.SGDMomUpdate(weight, grad, mom, nd.SGDMomUpdateParams{LR: 0.1, Momentum: 0.9})
//
// Names, attributes and formulas agree with MXNet 1.9.1, each given in the documentation of its
// operator. Common attributes are lr, wd (weight decay), rescale_grad, by which the gradient is
// multiplied first, and clip_gradient, which limits every element; where weight decay is added
// to the gradient, operators differ in whether that happens before or after clipping, as they do
// in MXNet.
//
// # Mixed precision
//
// Operators called mp_* take weights and gradients of low precision and keep an exact copy of the
// weight in float32 as their last state. They apply the same rule as their namesakes.
//
// # Many at once
//
// Operators called multi_* update several weights in one call: operands are interleaved (weight,
// gradient, states, then the next weight) and lists give a learning rate and weight decay for each.
// With preloaded_* these lists are arrays.
//
// # How they are built
//
// A rule is a function of one element of each operand. Everything else, the loops, conversions and
// the mixed-precision variant, is derived from it.
package update
