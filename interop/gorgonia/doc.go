// Package gorgonia connects gomx and Gorgonia: they share the memory of arrays, and gomx trains
// models that Gorgonia declares.
//
// # Tensors
//
// Lend returns an Array as a tensor.Dense that shares its memory. While the tensor is lent, the
// engine treats it as an operation that updates the array: operations pushed later wait until it is
// given back.
//
//	d, back, err := gorgonia.Lend(ctx, a)
//	tensor.Add(d, d, tensor.UseUnsafe()) // writes into a
//	back()
//
// FromDense copies a tensor, which may be a view or a transpose, into a new Array.
//
// # Models
//
// FromGraph converts the nodes of an ExprGraph to a Symbol and copies the values of the inputs:
//
//	net, weights, err := gorgonia.FromGraph(loss)
//	mod := module.New(net, module.Data("x"), module.Labels("y"))
//	err = mod.SetParams(weights, nil)
//	sgd := optimizer.SGD{LR: 0.1, Common: optimizer.Common{Rescale: 1}}
//	err = mod.Fit(ctx, samples, module.Optimize(sgd), …)
//	trained, _ := mod.Params()
//	err = gorgonia.ToGraph(ctx, trained, loss) // back to the nodes
//
// Inputs keep their names, which must be unique. weights has the inputs with values: parameters,
// and data that Let has set, which SetParams ignores with module.AllowExtra. The loss of a Gorgonia
// model is usually a mean, so the gradient must not be divided by the size of the batch again;
// therefore Rescale is 1 above. Weight decay follows MXNet's rule and applies to parameters whose
// names end in _weight only.
//
// These operations can be converted: matrix, vector and batched products with transpositions, bias
// and other broadcasts, elementwise functions, arithmetic and comparisons that return numbers, sum,
// mean and max over axes, softmax and its logarithm, reshape, transpose, slice, concat,
// convolution, max and global average pooling, dropout, constants. Each idiom becomes one operator:
// the six nodes of Conv2d become a Convolution, x ⊙ (x ≥ 0) a rectifier, a sum divided by extents a
// mean; the nodes of a broadcast become part of the operator that uses it. Scalars have shape (1).
// If axis 0 counts samples in all nodes, the symbol can be bound to other batch sizes than the
// graph's.
//
// For any other operation FromGraph returns an error that names the node and its operation: for
// example for batch normalization, and for average pooling, which in Gorgonia divides by the width
// of the image.
//
// Results equal Gorgonia's with two exceptions: the gradient of a rectifier at zero is 0, while
// Gorgonia has 1, and results are correct where Gorgonia's are wrong (TestUnsound has the list).
//
// The conversion recognizes operations of Gorgonia by their texts, which may change: it supports
// version 0.9.18, and TestOperationTexts shows the changes of another version.
//
// # Module
//
// The package is a separate Go module, so that programs that do not use Gorgonia do not have its
// dependencies. Programs that use it must keep the version of assume-no-moving-gc in go.mod,
// otherwise they end at the start. The tests compare values and gradients with Gorgonia's.
package gorgonia
