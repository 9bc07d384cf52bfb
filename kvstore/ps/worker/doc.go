// Package worker is the client of a job: it pushes and pulls keys, reads and changes tables, and
// makes up for messages that get lost and servers that die.
//
//	w, err := worker.New(worker.Config{Job: job, Rank: rank, Nonce: nonce, Workers: 4})
//	id, err := w.Push(now, worker.PushOp{Key: key, Value: gradient, Out: weights})
//	w.Handle(now, from, message)      // or w.Tick(now), every 5 ms or so
//	out := w.Out()
//	... send out.Sends, drop the connections of out.Recall, report out.Done ...
//	out.Reset()
//
// Calls return an identifier at once. A call ends with a ps.Done in the outbox, by its deadline at
// the latest; until then the memory that it was given belongs to the worker.
//
// # Parts
//
// A Worker is put together of parts; each is a type in a file of its name or near it, and uses the
// ones above it:
//
//	agent         common ground: place in the job, settings, figures
//	calls         calls that have not ended, and their parts, one for each shard
//	routes        the way to each shard: sequences, credit, repetitions
//	failing       calls that cannot end well
//	progress      steps that the worker has begun and ended
//	joiner        where the worker starts
//	tables        rows that are read and changed
//	keyset        keys that are pushed and pulled
//	barriers      the barrier that the worker has called
//	snapshotting  the snapshot that the worker has asked for
//
// # A call
//
// A call is cut into parts, one for each slice or shard that it touches. A push gets its sequence
// when it leaves for the first time, and keeps it: it is repeated until a primary has committed it,
// even if its call has failed meanwhile. Other parts carry a name, by which their answer finds
// them; they may be asked twice, and forgotten.
package worker
