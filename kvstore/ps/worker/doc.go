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
//	keyset        keys that are pushed and pulled, and tables
//	barriers      the barrier that the worker has called
//	snapshotting  the snapshot that the worker has asked for
//	regrouping    the change of the group that the worker has called for
//
// # A call
//
// A call is cut into parts, one for each slice or shard that it touches. A push gets its sequence
// when it leaves for the first time, and keeps it: it is repeated until a primary has committed it,
// even if its call has failed meanwhile. Other parts carry a name, by which their answer finds
// them; they may be asked twice, and forgotten.
//
// # Sequences and credit
//
// Each shard has a sequence of pushes of its own. A push takes the next number when it leaves for
// the first time. The primary takes pushes in in this order only, so that one number, the highest
// received without a gap, tells the worker which pushes have arrived.
//
// Two limits hold pushes back. Credit bounds the bytes that are on their way; it returns when the
// server has received them. The window bounds the pushes that are not committed, for which copies
// of the shard keep a bit each. The credit alone would not do: a round may stay open for long while
// the values of this worker are received. And the window alone would let a worker fill the
// connection with large pushes in front of urgent ones.
//
// # Rounds
//
// At most Config.Ahead rounds of a slice are under way, because servers keep sums for so many. A
// push of the next round waits until the worker's pushes of the round before are committed for all
// other slices (routes.early): so a successor finds on the servers every version that it needs.
//
// # Taking over a place
//
// A process that takes over a place asks every shard how far its predecessor was. A program repeats
// the last step that is not complete; pushes of it that are committed are recognized by their
// clocks, and pulls return the values of that step (wire.FlagExact) until the program has reached
// the point at which its predecessor died.
//
// # Coming and leaving
//
// A process with a new rank waits, in Join, until it is let into the group, and then asks every
// shard how far the keys are: rounds wait for it from the next one on. It tells the shards where it
// starts with keys without rounds and with tables, for which nobody has waited so far. Regroup
// changes the group; the workers of a group must agree on the round after which they call it.
//
// # Staleness
//
// A pull names the lowest version that it accepts, and how many pushes of its own worker the value
// must contain. With rounds both are the last round pushed. Without rounds a pull may be
// Config.Staleness clocks ahead of the slowest worker; the server lets it wait until that is true.
//
// # Sparse keys
//
// A sparse key is pushed and pulled by rows (sparse.go). A push becomes one list of rows for each
// shard, in memory of the worker's own, also where the shard gets no row: every slice counts its
// pushes, and a round waits for all of them. A pull asks only shards that have rows of it; its
// rows are put to their places in the order of the call.
//
// A Table is a view of a sparse key without rounds: it keeps the additions of a step, and pushes
// them when the step ends, to all slices of all tables. So the clock of a table's push is the step,
// and a process that takes over a place is behind the step that all slices have; slices that have
// the next one already get no second push, and additions to their rows are dropped.
//
// Where the staleness has a bound, a worker keeps the rows that it has pulled, each with the clock
// of its answer, and asks for them again
//
//	when their clock is too old for the staleness,
//	when it has pushed them itself, because it does not know what the optimizer makes of a push;
//	to rows of a table it adds its own push,
//	when it has kept too many others.
//
// With rounds nothing is kept: all workers see the rows of one round, which changes with each push.
// Without a bound nothing is kept either, because nothing would say when a row is too old.
//
// A process that takes over a place repeats the pushes and pulls of its step like those of other
// keys: servers know the rows of the round before.
//
// # Memory of callers
//
// Values to push are not copied: messages refer to the caller's memory, and the transport reads it.
// A call that has been given memory ends when its result is there and the memory is free. When a
// call fails while a transport reads its memory the worker copies the values that must still be
// sent, asks the driver to drop the connections that read it, and ends the call when all of it is
// back.
//
// # Errors
//
// A call that makes no sense is refused at once, with ps.ErrUsage. It has changed nothing: the next
// call on its key gets the clock that it would have had, and no part of it is left. Other calls end
// with a ps.Error, which names the call, the key, and the node that was waited for:
//
//	ErrTimeout      the deadline has passed; a push may still be applied, once
//	ErrRejected     a server has refused the call: no memory, another shape, a version gone
//	ErrFenced       another process has the place: the process can only end
//	ErrLost         all copies of a shard are lost: the job can go on from a snapshot only
//	ErrNoScheduler  the scheduler has been silent for Timing.Patience
//	ErrClosed       the worker has left the job
//	ErrOver         the job had ended when the worker wanted to join it
//
// After one of the last four other calls fail with it as well.
package worker
