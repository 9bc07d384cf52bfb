// Package index declares the operators that look elements up by index, and those that find indices:
// Embedding, one_hot, take, pick, gather_nd and scatter_nd; argmax, sort, argsort and topk.
//
// Index operands may have any element type; floating-point indices, MXNet's habit, are cut off.
// Most operators have a parameter for indices out of range (clip or wrap); the others
// return an error that names the index.
//
//	row := index.Embedding.Apply(index.EmbeddingParams{InputDim: 1000, OutputDim: 64}, ids, weight)
//
// Found indices have type float32 unless the operator has a dtype parameter, so they are exact up
// to 2²⁴ only.
//
// # Ties and NaN
//
// Among equal elements the first one counts: argmax returns the lowest index, sorting is stable in
// both directions. NaN is larger than everything in argmax and smaller than everything in argmin;
// sorting puts it last in ascending and first in descending order.
//
// # Gradients
//
// The gradient of looking up is adding into zeros: hidden operators named as in MXNet
// (_backward_Embedding, _backward_take, _backward_pick, _backward_gather_nd). Elements that were
// looked up several times get the sum, taken in the order of the indices, so results repeat.
package index
