// Package export writes symbols and their parameters as models in ONNX's format.
//
//	m, err := checkpoint.Load("resnet-50", 0)
//	err = export.Save("resnet.onnx", m, export.Inputs{"data": {1, 3, 224, 224}})
//
// The method Model of a Module gives such a model; a Gluon network writes one by Export.
//
// # Form
//
// Models use operator set 18 and no operators outside of ONNX's main domain. Shapes and element
// types come from the inputs that the caller gives; gomx's inference over the symbol finds all
// others. Variables without a parameter become inputs of the model, unless no operator reads them,
// such as the labels of loss layers. Outputs have the names that the symbol gives them.
//
// A model is exported as it infers. With [Training], batch norms take the statistics of the batch
// and dropouts drop; each batch norm then adds its new averages to the outputs of the model, under
// the names of the states and "_new".
//
// The same model gives the same bytes. Parameters go to a second file when the model is larger than
// protobuf allows, or with [External].
//
// # Operators
//
// A table by operator, with a file per family, says which nodes an operator of gomx becomes. Rules
// see the parameters, and the shapes and types of the inputs; they write nodes with the functions
// of a call, which keep track of shapes and types. A symbol with operators that ONNX cannot express
// gives one error that names all of them with the reasons.
package export
