// Package onnx reads models in ONNX's format and makes symbols and parameters of them.
//
//	m, err := onnx.Load("model.onnx", onnx.Shapes(map[string]dtype.Shape{"x": {1, 3, 224, 224}}))
//	outs, err := m.Symbol.Eval(device.CPU(), m.Values(map[string]*nd.Array{"x": picture}))
//
// # Shapes
//
// A gomx graph made from an ONNX model is made for one shape of every input. Extents that the
// model leaves open are given with [Shapes]. Everything that follows from shapes, initializers and
// values given with [Values] is computed at import: the small graphs of Shape, Gather, Concat and
// Slice by which exporters compute shapes disappear, and an If with a known condition becomes the
// branch that is taken. The computation uses gomx's own operators.
//
// ONNX's scalars, of rank zero, become arrays of shape (1). [Model.Outputs] has ONNX's shapes.
//
// # Operators
//
// A table by operator, in one file per family, says how a node becomes operators of gomx in each
// version of the operator set; opsets 7 to 23 are read, and of 1 to 6 the operators that have not
// changed. A model that uses operators outside of the table gives an error that names all of them,
// with a node and the opset. [Operators] lists the table; docs/onnx.md lists the cases of ONNX's
// own tests that do not pass, with reasons.
//
// # Files
//
// Files are hostile: sizes are checked before memory is taken, and external data is read from the
// folder of the model only. Results of computations at import are bounded too: larger ones stay in
// the graph and are computed when it runs.
package onnx
