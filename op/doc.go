// Package op is the one registry of operators and the graph they form.
//
// An operator is declared once, in op/<family>/<stem>.go: its parameters as a tagged struct
// (ParamSpec), its inputs and outputs, inference of shapes and element types in both directions,
// its gradient as nodes, hints for the memory planner, its documentation, and the reference
// kernel, a plain Go loop that is both definition and oracle:
//
//	type SwishParams struct {
//		Beta op.Opt[float64] `op:"beta" default:"1" doc:"slope of the gate"`
//	}
//
//	var Swish = op.Declare[SwishParams]("swish")
//
//	func init() {
//		Swish.Define(op.Spec[SwishParams]{
//			Traits: op.Traits{Doc: "Swish computes x·sigmoid(βx) element by element."},
//			Infer:  op.SameShape[SwishParams],
//			Grad:   swishGrad,
//			Ref:    swish,
//		})
//	}
//
// Declaring and defining are separate because a gradient often names its own operator. Faster
// kernels are attached by Handle.Kernel in <stem>_cpu.go and <stem>_cuda.go. Everything else is
// derived: imperative and symbolic functions, the tape, inference, JSON, docs/ops.md.
//
// # Parameters
//
// A parameter left at its zero value takes its default. Where zero is legal and differs from the
// default the field is an Opt. Attribute strings as MXNet writes them are parsed by ParseParams
// and written by FormatParams; operators always see normalized parameters.
//
// # Kernels
//
// A kernel is prepared for operands of known description, then run: Prepare chooses algorithms,
// layouts and the number of threads, so that running allocates nothing and gives the same bits
// each time.
//
// # Graph
//
// A Node is a variable or an operator applied to entries, an Entry is one output of a node.
// Gradient asks an operator for the gradients of its inputs as further nodes; package graph does
// the same for whole graphs.
//
// # Errors
//
// Functions return *Error that names the operator, the argument, the value found and the value
// wanted. Operators are immutable once every init has run, so all functions here may be called from
// any goroutine.
package op
