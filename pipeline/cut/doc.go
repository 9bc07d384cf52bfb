// Package cut divides a composed graph among the stages of a pipeline. It is pure: it knows graphs,
// and neither arrays nor processes.
//
//	at, err := cut.ByGroups(outs, map[string]int{"encoder": 0, "decoder": 1}, 2)
//	plan, err := cut.Cut(outs, at, 2, learned)
//
// # Stages
//
// Stages form a line. An operator runs in the stage that the placement gives it, and reads values
// of its own stage and of earlier ones. ByGroups makes the placement from the groups of nodes,
// Balance from costs.
//
// A parameter belongs to the first stage that reads it; later stages that read it get it as they
// get any other value. A variable without a gradient, such as the data, exists in every stage that
// reads it. A state belongs to the operator that changes it.
//
// # Transfers
//
// A value that later stages read goes from stage to stage along its readers: the stage that
// computes it sends it to the first reader, which sends it to the next. Gradients come back the
// same way, and each reader adds its own terms to the gradient that it gets from the next one. The
// terms are therefore added in the order in which one graph adds them, which is the reverse of the
// order of the readers; see graph.Gradient. Stages also keep the number of each random stream, so
// they draw the numbers of the whole graph.
package cut
