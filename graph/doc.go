// Package graph holds the passes on graphs of op.Node, shared by symbols and by the tape.
//
// A pass is one file and one function. Gradient extends a graph by its derivative; Index numbers
// the nodes and entries of a graph so that later passes use slices instead of maps; InferShapes
// and InferTypes fill in what is known of every entry; Store decides which entries share memory
// in place, so that package memplan can lay out the rest.
//
// Inference lists the passes that make a graph which only infers faster, in their order and with
// their reasons: batch norms are folded into the weights of the convolutions before them, sums and
// rectifiers become part of convolutions and dense layers, and convolutions with windows of 3x3
// are asked to use Winograd's algorithm where enough of the work allows it. Run applies them and
// tells what each changed:
//
//	outs, report := graph.Run(graph.Inference(), outs, graph.FactsOf(g, shapes, types))
//
// Passes of this kind rewrite: they copy what changes and leave the nodes given to them alone.
//
// Graphs are plain values: entries refer to nodes, nodes to their inputs. What is not reachable
// from the outputs does not exist, so removing dead code means indexing the graph again.
//
// All functions are pure: they do not change the nodes they are given and may be called from any
// goroutine.
package graph
