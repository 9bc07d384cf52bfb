// Package compile turns a graph into a program: steps with prepared kernels, segments of steps that
// an engine runs as one operation, and a plan of the memory between them.
//
// It is pure. It sees graphs, descriptions of arrays and options, and it returns plain data. It
// allocates no array, starts no operation and keeps no reference to an executor; package exec does
// all of that with the programs that it gets from here.
//
// # Stages
//
// One table, in table.go, lists all steps of the way in their order. Each row says why it exists,
// and names the rows that must run before and after it; a test checks that the order keeps these
// constraints. A [Unit] goes from stage to stage. It holds the outputs, the gradients and the
// facts: shapes and types that inference has found. Facts stay valid through all stages. A stage
// that makes nodes leaves their facts behind, so a graph is inferred once before the first stage,
// and a second time only where a gradient needs more than its inputs say.
//
// The stages fall into three groups. The first rewrites graphs into graphs (package graph does the
// work), adds the gradient, and trades time for memory. The second numbers the graph and prepares
// kernels, which choose the layouts of blocked arrays. The third divides the steps into segments,
// plans the memory, and finds the earlier segments that each segment waits for.
//
// # Contract of a stage
//
// A stage relies on the rows that its After lists and on the rows whose Before names it, and on
// nothing else about the order. It may rely on distinct outputs, on facts of every entry, and on
// nodes that nobody else changes. It guarantees the same again: a pass copies the nodes that it
// changes, so the composed graph, which other programs share, stays as it was. The comment above
// each row of the table says the rest: the condition that the stage adds to the graph, and its
// source.
//
// Passes that are not marked loose leave every bit of every result as it is. So random graphs can
// be compared with and without any selection of passes, and a wrong one is found by leaving it out.
//
// To add a pass, write one function of type graph.Pass in package graph and one row in table.go;
// the tests of the table, of the random graphs and of the golden programs then cover it.
//
// # Programs
//
// A [Program] is immutable and knows no array. Its slots name the arrays outside of the planned
// memory: arguments, states, gradients, outputs, head gradients, and kept forms of parameters. An
// executor gives each slot an array, and each room of the plan a block of memory.
//
//	facts, err := compile.Infer(outs, compile.Given{Shapes: shapes})
//	p, err := compile.Compile(compile.Source{Outputs: outs, Args: args, Facts: facts.Facts()},
//		compile.Options{Target: compile.Target{Tier: device.MaxTier(), Threads: device.Cores()}})
//	p.WriteText(os.Stdout)
//
// # Memory of a program
//
// A value lies in one of three places. Values that the caller sees, and states, lie in slots.
// Values between steps lie in rooms: a room is the part of the arena on one device, and a value has
// an offset in it. Kept forms of parameters lie in slots too, because they outlive a run. A value
// of which no step reads more than the shape lies nowhere.
//
// Several entries may share one place: an operator that works in place writes over its input, and
// one that only changes a shape renames it. Package graph decides that (AssignStorage); the entry
// that the others live in is their root, and only roots have slots and buffers.
//
// # Graphs inside operators
//
// The body of a loop is a graph inside the parameters of an operator. When the kernel of the loop
// is prepared, it asks for its body, which is compiled once into a [Body]: a program with the same
// stages, whose inputs and outputs are slots without arrays. The arena of that program is scratch
// memory of the outer step, so that the outer plan covers it and all steps of the loop use it.
// [Target].Runner makes a body ready to run; package exec gives it.
//
// # Order of a program
//
// Steps are in the order of the graph. One segment runs its steps one after the other. Two segments
// may run at the same time unless one needs the other: Needs lists the segments that compute its
// inputs, and those whose bytes it overwrites. An executor adds the order that slots demand, from
// Uses, and the order from run to run: a program says nothing about two runs.
//
// Segments are cut so that communication and computation overlap. The gradient of the last layer is
// complete at the end of a segment, before the first layer's backward part runs; and a segment
// begins at the first step that reads a weight, so it alone waits for the update of the weight.
//
// # Invariants
//
// With the build tag invariants every program is checked before Compile returns it:
//
//  1. Facts agree with an inference from scratch.
//  2. Every operand of a step that runs lies in a slot or in a room, inside its bounds.
//  3. A step reads only bytes that an earlier step has written or a slot holds from the start.
//  4. While a value is alive, no other value is written to its bytes.
//  5. Segments cover all steps in order, and wait only for earlier segments.
//  6. A step that uses bytes or a slot after another runs in the same segment or in one that waits
//     for it.
package compile
