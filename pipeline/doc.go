// Package pipeline runs the stages of a graph that package cut has divided, one stage in each
// process. Values and gradients go from stage to stage as messages, micro-batch by micro-batch, in
// the order of package flow.
//
//	plan, err := cut.Cut(outs, at, 3, learned)
//	stage, err := pipeline.Bind(pipeline.StageConfig{Plan: plan, Stage: 1, Micros: 8, …})
//	link, err := pipeline.Connect(pipeline.LinkConfig{…})
//	err = link.Step(ctx, flow.OneForwardOneBackward, stage.Train(first, feed))
//
// Package module does all of this for module.Fit.
//
// # A stage
//
// A Stage compiles and binds its own part of the graph only, so it needs memory for its part only:
// its parameters and gradients once, and arrays and planned memory for each micro-batch that may be
// between its forward and its backward part. Gradients of a step are added to the gradient arrays,
// micro-batch 0 first. Moving averages learn from each micro-batch in the same order.
//
// # A link
//
// A Link is the endpoint of a process in its pipeline. It sends the results of actions in slices of
// at most 1 MiB, receives into memory that it keeps for the next steps, and returns credit when an
// action has taken its inputs; see package flow. It never waits longer than its patience: a wait
// ends with a *RankError that names the rank that does not go on. An error of one rank reaches all
// others by a message, so that they end at once and name the same rank.
package pipeline
