// Package oracle compares operators with the real MXNet, call by call.
//
// Generate draws a call of an operator: attributes from its declared parameters, shapes and element
// types that its inference accepts, with extents of zero and one, values, repeated inputs, views,
// outputs that are given, and requests for gradients. A call runs in a graph, forward and backward,
// or imperatively. Run computes it here; a Peer, a Python process that imports MXNet, computes it
// there. Compare says how the answers differ, and Shrink makes the call smaller while they do.
//
// The test of this package checks the generator by itself. With -mxnet PYTHON it compares; every
// difference is printed with the seed and operator that repeat it. Differences that are known, with
// their reasons, are in testdata/known.txt. make oracle MXNET=PYTHON runs all operators.
package oracle
