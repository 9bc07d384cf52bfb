// Package graph holds the passes on graphs of op.Node, shared by symbols and by the tape.
//
// A pass is one file and one function. Gradient extends a graph by its derivative; Index numbers
// the nodes and entries of a graph so that later passes use slices instead of maps; InferShapes
// and InferTypes fill in what is known of every entry; AssignStorage decides which entries share memory
// in place, so that package memplan can lay out the rest.
//
// # Rewriting
//
// Passes lists the passes that rewrite a graph into one that is equal and faster, in their order and with
// their reasons. They run in stages: on the graph as it was composed, where what is removed needs no
// gradient either; on graphs that only infer, or that are trained, where layers are fused; and on the whole
// graph, where constants are folded, equal nodes are shared and pointwise operators become chains.
// Run applies passes and tells what each changed, node by node:
//
//	passes := graph.Select(nil, graph.Composed, graph.Inferring)
//	outs, report := graph.Run(passes, outs, graph.FactsOf(g, shapes, types))
//
// A pass that is not Loose leaves every value as it is, but for the sign of zeros; the others change the order of
// sums or round once instead of twice. Rewriting passes copy what changes and leave the nodes given to them alone.
// Outputs stay distinct, so that each can be written to an array of its own.
//
// Streams numbers the nodes that draw random numbers before anything is rewritten: what they draw does not depend on
// passes.
//
// # Graphs
//
// Graphs are plain values: entries refer to nodes, nodes to their inputs. What is not reachable
// from the outputs does not exist, so removing dead code means indexing the graph again; cutting the edges
// that only ask for a shape is what remains to be done.
//
// All functions are pure: they do not change the nodes they are given and may be called from any
// goroutine.
package graph
