// Package compile turns a graph into a program: steps with prepared kernels, segments of steps that
// an engine runs as one operation, and a plan of the memory between them.
//
// It is pure. It sees graphs, descriptions of arrays and options, and it returns plain data. It
// allocates no array, starts no operation and keeps no reference to an executor; package exec does
// all of that with the programs that it gets from here.
//
// # Stages
//
// One table, [Stages], lists all steps of the way in their order. Each row says why it exists, and
// names the rows that must run before and after it; a test checks that the order keeps these
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
