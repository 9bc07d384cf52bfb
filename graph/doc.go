// Package graph holds the passes on graphs of op.Node, shared by symbols and by the tape.
//
// A pass is one file and one function. Gradient extends a graph by its derivative; Index numbers
// the nodes and entries of a graph so that later passes use slices instead of maps; InferShapes and
// InferTypes infer the shape and the element type of every entry; AssignStorage decides which
// entries share memory in place, so that package memplan can lay out the others.
//
// # Rewriting
//
// A Pass rewrites a graph into one that is equal and faster. Package compile lists the passes in
// their order and with their reasons. Apply runs one and tells its changes, node by node:
//
//	f := graph.FactsOf(g, shapes, types)
//	outs, changes, report, err := graph.Apply(graph.FoldBatchNorm, outs, f)
//
// Facts are the shapes and types of entries. They go from pass to pass and are never inferred
// again: a pass records the entries that it makes, and Complete infers new nodes from their inputs
// alone.
//
// Rewriting passes copy the nodes that change and leave the nodes given to them alone.
// Outputs stay distinct, so that each can be written to an array of its own.
//
// Streams numbers the nodes that draw random numbers before any pass rewrites the graph, so the
// numbers that they draw do not depend on the passes.
//
// # Graphs
//
// Graphs are plain values: entries refer to nodes, nodes to their inputs. A node that cannot be
// reached from the outputs is not part of the graph, so indexing the graph again removes dead code.
// CutShapes cuts the edges along which an operator reads only a shape.
//
// All functions are pure: they do not change the nodes they are given and may be called from any
// goroutine.
package graph
