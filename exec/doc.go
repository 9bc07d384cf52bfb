// Package exec runs compiled graphs: it binds a graph to arrays, gives programs of package compile
// their memory, and pushes segments of them onto an engine.
//
// # Binding
//
// [Bind] infers all shapes, allocates arguments, gradients and auxiliary states, and returns an
// [Executor]. The graph is compiled at the first use of a mode, training or inference. Then
// Forward and Backward only push segments: in steady state that allocates nothing on the Go heap.
//
// An executor runs on the engine of its arrays; arrays of two engines in one bind are an error.
// Package symbol has the functions that users call, with names in the place of nodes.
//
// # Memory
//
// An arena is the planned memory of one or more executors, which use it one run after the other. It
// has a block on each device. A run holds the blocks that it began with, so an arena may grow while
// runs are under way.
//
// A form is another form of parameters, folded or blocked, that is kept between runs and made anew
// after a parameter has been written. Executors that share an arena share forms, and replicas share
// the whole program.
//
// # Order
//
// A program's segments order themselves by tokens: each segment overwrites its own variable and
// reads the variables of the segments that it needs. A run overwrites the token of the arena at its
// beginning, and all its segments read that token; so runs in one arena come one after the other.
//
// # Concurrency
//
// An executor belongs to one goroutine at a time. The arrays and addresses of a program's calls
// belong to the engine's operations, in the order of the arena's token.
package exec
