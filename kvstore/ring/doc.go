// Package ring is the protocol by which the workers of a job add up arrays among themselves,
// without servers. It is a pure state machine, as the machines of package ps are: it has no clock,
// no socket, no lock and no goroutine. Its driver tells it the time, hands it messages, and carries
// out its Outbox.
//
//	g, err := ring.New(ring.Config{Job: job, Rank: rank, Workers: n})
//	g.SetMembers(now, view)                 // of the scheduler, whenever there is a new one
//	id, err := g.Join(now, deadline)        // the first call
//	err = g.Create(key, ring.KeySpec{Total: bytes, DType: dtype.Float32})
//	id, err = g.Push(now, ring.PushOp{Key: key, Value: values, Out: sums})
//	g.Handle(now, from, message)            // or g.Tick(now)
//	out := g.Out()                          // send out.Sends, report out.Done
//
// # A round
//
// In a round of a key every worker contributes an array and gets the sum. Every element is added up
// from rank 0 upward, so the bits do not depend on timing, and are those of the servers of
// dist_sync.
//
// A large key is cut into slices with one owner each. Workers send each slice to its owner, which
// adds it up as contributions come, in the order of the ranks, and sends the sum to all: every
// worker sends and receives twice the bytes of a key times (n-1)/n, as around a ring, but in two
// steps instead of 2(n-1). A small key goes from every worker to every other one, and each adds it
// up itself: one step. Small keys that were created one after the other leave in one message.
//
// Values with a higher priority leave first. So that they can, Config.Window bytes are on their way
// to a worker at most; receipts travel with values in the other direction. A receipt never waits
// for a sum: workers that push keys in different orders do not wait for each other.
//
// # Lost messages, and workers that die
//
// Messages name key, round and slice, so each may come twice. Nothing is acknowledged slice by
// slice. A worker whose round makes no progress asks the others for the slices that it lacks. Each
// sends the sum if it has it, or its contribution.
//
// A process that takes over a place asks in Join how far the others are. All rounds up to Resumed
// are complete everywhere. The process repeats the step after Resumed. If its predecessor has
// contributed to a round, other workers have its sum, or need the contribution once more, which is
// the same bits. Sums that a predecessor has sent to some workers come from these, if they keep
// them (PushOp.Keep).
//
// So sums of the last two rounds must be enough. Three rules see to it:
//
//  1. A worker contributes to a round when its rounds with lower numbers are complete, for all keys.
//  2. When a process takes over a place, sums that are not complete forget the contributions of its
//     predecessor, and wait for its own.
//  3. A worker that knows of the process says so in its messages (Epoch). Nobody adds up its
//     contributions who does not know of the process.
//
// Let R be Resumed. A worker that has answered the process with R contributes to round R+2 after
// its answer. By rule 3 the sums that contain this contribution are added up where the process is
// known, by rule 2 they contain its own contribution, and by rule 1 the process has completed
// round R+1 for all keys then. Until that moment every worker has the sums of round R+1 or has not
// completed it.
//
// # Sums that others read in place
//
// A transport may let workers of the same host read sums where they were added up (Space). Such
// memory is used again for round n+2, when a contribution to that round comes. All workers have
// contributed to round n+1 by then, and read the sums of round n before that. A process without a
// place in the job, which has stood still meanwhile, reads sums of a round that it does not expect;
// it learns from its transport that they are others (wire.Lent), and takes them as lost.
//
// # Groups
//
// In an elastic job (Config.Elastic) the workers of the view's group add up. When the group changes,
// all calls end with ErrRegrouped. Join enters the new group, all workers of which agree on the
// rounds that count; it says why that number is at most one below the rounds of each.
//
// # Deadlines
//
// Every call ends by its deadline, with an Error that names the worker that was waited for and, if
// that one waits for another, the other. The memory that a call was given is the caller's again
// when the call ends: where a transport still reads it, the connection is dropped first
// (Outbox.Recall).
package ring
