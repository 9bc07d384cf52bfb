// Package gorgonia lets gomx and Gorgonia work together: on one memory, and on one model, which
// Gorgonia declares and gomx trains.
//
// # Tensors
//
// Lend hands an Array out as a tensor.Dense that shares its memory. While the tensor is lent, the
// engine treats it as an operation that updates the array: everything pushed later waits until it
// is given back.
//
//	d, back, err := gorgonia.Lend(ctx, a)
//	tensor.Add(d, d, tensor.UseUnsafe()) // writes into a
//	back()
//
// FromDense copies a tensor, a view or a transpose too, into a new Array.
//
// # Models
//
// FromGraph converts the nodes of an ExprGraph to a Symbol and takes the values of the inputs
// along:
//
//	net, weights, err := gorgonia.FromGraph(loss)
//	mod := module.New(net, module.Data("x"), module.Labels("y"))
//	err = mod.SetParams(weights, nil)
//	err = mod.Fit(ctx, samples, module.Optimize(optimizer.SGD{LR: 0.1, Common: optimizer.Common{Rescale: 1}}), …)
//	trained, _ := mod.Params()
//	err = gorgonia.ToGraph(ctx, trained, loss) // back to the nodes
//
// Inputs keep their names, and need names of their own. Those with values are in weights:
// parameters, and data that was set by Let, which SetParams passes over with module.AllowExtra. The
// loss of a Gorgonia model is usually a mean, so the gradient must not be divided by the size of
// the batch again: that is what Rescale says above. Weight decay follows MXNet's rule and reaches
// parameters whose names end in _weight only.
//
// What is converted: matrix, vector and batched products with transpositions, bias and other
// broadcasts, elementwise functions, arithmetic and comparisons that return numbers, sum, mean and
// max over axes, softmax and its logarithm, reshape, transpose, slice, concat, convolution, max and
// global average pooling, dropout, constants. Idioms become one operator each: the six nodes of
// Conv2d a Convolution, x ⊙ (x ≥ 0) a rectifier, a sum divided by extents a mean, and the nodes of
// a broadcast disappear in the operator that uses it. Scalars have shape (1). Where axis 0 counts
// the samples all the way, the symbol can be bound to other batch sizes than the graph's.
//
// Anything else is an error that names the node and its operation. Batch normalization is such a
// case, and average pooling, which in Gorgonia divides by the width of the image.
//
// Results are Gorgonia's with two exceptions: the gradient of a rectifier at zero is 0, where
// Gorgonia has 1, and where Gorgonia is wrong (TestUnsound has the list) ours are right.
//
// Operations of Gorgonia are known by their texts, which may change: the conversion belongs to
// version 0.9.18, and TestOperationTexts shows what another version has changed.
//
// # Module
//
// The package is a Go module of its own, so that programs that do not use Gorgonia do not carry its
// dependencies. Programs that do must keep the version of assume-no-moving-gc in go.mod, or they
// end when they start. The tests use Gorgonia as an independent oracle of values and gradients.
package gorgonia
