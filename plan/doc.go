// Package plan predicts speed, memory and traffic of distributed training, and finds the best
// configuration of a job on given machines.
//
//	net, err := plan.Describe(symbol, plan.Training{Shapes: shapes, Threads: 1})
//	p, err := plan.Predict(net, host, plan.Job{Store: "dist_sync", Workers: 3, Servers: 1,
//		Machines: plan.Machines{Count: 1, Cores: 2}})
//	fmt.Println(p.Throughput, p.Limit)
//
// # The work of a step
//
// A [Network] is the work of one worker in a step, taken from the compiled program: its segments in
// order with their dependencies and costs, the keys that it shares with other workers, and the
// memory that it needs. Keys are cut into slices, and slices are placed on servers, by the
// functions that the store itself uses.
//
// # The machine
//
// A [Host] has the results of a calibration: the processor time of a message and of its bytes on
// either side, for each way on which messages travel, and the memory of processes. A [Compute] has
// the times of the segments of one network. Package plan/measure takes both.
//
// # The simulation
//
// [Predict] simulates a few steps in virtual time. Processes of one machine share its cores: if
// more threads want to run than there are cores, all run more slowly. A segment starts when the
// segments before it have ended and the parameters that it reads have arrived. A key is pushed when
// the last segment that uses it has ended. Its slices wait for credit, the most urgent first, take
// processor time of the sender, pass the link, and take processor time of the server. When a round
// is complete, the server updates the value and sends it to all workers. docs/plan.md explains the
// model with its limits.
//
// Everything in this package is pure: the same arguments give the same prediction.
package plan
