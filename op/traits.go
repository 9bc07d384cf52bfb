package op

// Traits are the facts about an operator that do not depend on its parameters. The zero value of
// each field is the common case. Slices are never changed after Define.
type Traits struct {
	// Doc explains the operator: first line short, then the mathematics, shapes, MXNet's name if
	// it differs. Required unless Hidden.
	Doc string
	// Aliases are other names that symbol files use.
	Aliases []string
	// Legacy are the aliases that MXNet has as operators of their own: files that have one are
	// written back with it.
	Legacy []string
	// GoName is the name of the generated functions; empty: CamelCase of the name.
	GoName string
	// Hidden operators (gradients, helpers of passes) get no generated functions.
	Hidden bool
	// Variadic operators take any number of Data inputs; their count fills the auto parameter.
	Variadic bool
	// Multi makes the generated functions return a slice of outputs.
	Multi bool

	// NoGrad says why the operator has no gradient.
	NoGrad string
	// Once says why the gradient cannot be differentiated in turn; it becomes part of the
	// documentation. Empty: it can.
	Once string

	// Inplace lists pairs {input, output} that may share memory when the input is not needed
	// afterwards: the kernels read an element before they write it.
	Inplace [][2]int
	// Identity operators only pass data on: input 0 and output 0 may share memory even when other
	// nodes read the input.
	Identity bool
	// Mutates lists inputs that the kernel changes in place when training (auxiliary states) or,
	// with Update, always.
	Mutates []int
	// Update marks optimizer kernels: they change the inputs in Mutates always, and where Inplace
	// pairs input 0 with output 0 imperative functions write the new weight into the old one.
	Update bool
	// Ignores lists inputs of which only the shape is read.
	Ignores []int
	// Gathers lists inputs of which only selected elements are read, at most as many as the outputs
	// hold.
	Gathers []int
	// Moves says that the operator places elements of its inputs, or constants, in its outputs and
	// computes none: it has no FLOPs.
	Moves bool
	// Precision says in which type mixed precision lets the operator compute; see also
	// Spec.PrecisionOf.
	Precision Precision
	// Kind groups operators in pictures and tables.
	Kind Kind
	// Head marks losses that make their own gradient and ignore the gradients of their outputs.
	Head bool
	// Commutes says that the two inputs may be exchanged without changing a bit of the result.
	Commutes bool
	// Broadcasts says that inputs of extents one, or with fewer axes, repeat.
	Broadcasts bool
	// Idempotent functions have no effect on their own results.
	Idempotent bool
	// Reshapes says that the operator changes nothing but the shape of input 0.
	Reshapes bool
	// Scalar are the operators that compute the same with a number, their parameter scalar, in the
	// place of input 1 and of input 0; nil where there are none.
	Scalar [2]*Op
	// Derived operators compute another form of parameters, such as folded weights: when all their
	// inputs are variables, executors keep the result until one of these changes.
	Derived bool
	// Layouts says that kernels look at the layouts of operands. Executors give plain arrays only
	// to all other operators.
	Layouts bool
	// Keeps says that the last output serves the operator's own gradient alone, which looks at its
	// layout: kernels choose its layout where Args.Free allows it.
	Keeps bool
	// Pointwise operators treat the elements of operands of one shape alike, wherever they lie.
	// They work on any layout that all operands share.
	Pointwise bool
	// Waits says that kernels wait for calls on other devices: on hosts they run on goroutines of
	// their own.
	Waits bool
	// Random operators get a Seed at every run. Spec.Draws says when they draw numbers.
	Random bool
}
