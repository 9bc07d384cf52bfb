// Package control holds the operators of MXNet's control flow: loops over rows (Foreach), loops
// with a condition (WhileLoop) and choices (Cond). Their parameters hold graphs: the body of a
// loop, the branches of a choice.
//
// # Running
//
// The kernel of a loop runs one body for all steps, in one scratch memory. Rows are read and
// written where they lie in the arrays, and states change between two buffers, so the memory of a
// loop does not depend on the number of its steps. A kernel gets its bodies from op.Args.Ready: an
// executor compiles them once, with their memory planned in the scratch memory of the kernel.
// Without Ready the reference kernel interprets them node by node; that is the definition, and the
// oracle of the tests.
//
// # Gradients
//
// The gradient of a loop is a loop over the same steps from the last to the first. Its states are
// the gradients of the states, and sums of the gradients of inputs that are the same in all steps.
// It reads values of the forward steps: hidden outputs of the forward node hold one row for each
// step of every value that the body's gradient reads. Outputs that nobody reads are not computed,
// so inference saves nothing. The gradient is a loop like others and has a gradient in turn. The
// gradient of a choice is a choice between the gradients of its branches, by the saved condition.
//
// # Building
//
// NewForeach, NewWhileLoop and NewCond make nodes from entries that a program has recorded while it
// computed the body. They know neither symbols nor arrays, so every recorder of op.Node can
// use them.
package control
