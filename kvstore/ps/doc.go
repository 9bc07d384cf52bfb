// Package ps is the parameter server's protocol: how a scheduler, a server and a worker react to
// messages, and to time that passes. This package is the vocabulary of the protocol; the machines
// are below it:
//
//	ps/sched   Scheduler: decides which processes are in the job and where shards live
//	ps/server  Server: holds shards, adds pushes up, keeps copies equal
//	ps/worker  Worker: pushes and pulls, and makes up for lost messages
//	ps/node    common to servers and workers: a place in the job
//
// The three machines are pure. They have no clock, no socket, no lock and no goroutine: the driver
// of a machine tells it the time, hands it messages, and carries out the work in its Outbox. One
// goroutine at a time uses a machine.
//
//	server.Handle(now, from, message)      // or server.Tick(now), every 5 ms or so
//	out := server.Out()
//	... make out.View durable, send out.Sends, write out.Saves, report out.Done ...
//	out.Reset()
//
// So a test runs whole jobs in virtual time, with every fault at every moment.
//
// # Keys
//
// A key is an array that is cut into slices; every slice lives on a shard, every shard on a primary
// server and, with two replicas, on a backup. A key has rounds, or its pushes are direct:
//
//   - In a round every worker pushes once. The sum, always taken in the order of the ranks,
//     replaces the value or goes to the optimizer. Rounds are the clock of a key; a pull sees the
//     result of the puller's last round.
//   - Direct pushes are applied as they come. Pulls see the puller's own pushes, and pushes of
//     others as far as the staleness says.
//   - A sparse key has rows that exist from the first push to them on. A Table is a sparse key with
//     direct pushes that are added: a worker pushes its deltas once in a step, when Clock ends it.
//
// # A push
//
// A worker gives a push a sequence per shard when it leaves for the first time, and keeps it
// through all retries. The primary takes pushes in the order of their sequences, adds them up, and
// appends the result to the shard's log: one entry for a round. The entry goes to the backup; when
// the backup has it the primary applies it, answers pulls and acknowledges the pushes. Both copies
// apply the same entries in the same order with the same arithmetic, compare checksums, and keep
// which sequences are in the log, so that a push counts once whichever messages are repeated, and
// whichever copy leads.
//
// Credit for bytes on their way returns when they are received, not when they are committed:
// workers that push in different orders never wait for each other. The window of sequences, which
// is also the memory of copies, bounds the pushes that are not committed.
//
// # Copies
//
// The scheduler's View says where shards live. It is durable before any other process hears of it.
// Every change of a shard's primary, and every loss of a backup, raises the shard's epoch; messages
// of another epoch are refused. A backup is promoted only when the view calls it in sync, and a
// primary commits alone only when the view says that no backup may be promoted: so at most one
// server commits in an epoch, without clocks or leases. A new backup gets the state entry by entry
// between the entries of the log, while training goes on.
//
// When a server that died has its copies again, the scheduler gives it primaries until it leads as
// many shards as others: it lets the copies of one shard after the other change places. Both hold
// the state all the time. The old primary keeps the entries of its log that are not committed; the
// first entry of the new one's log tells it how many of them count. Until the scheduler knows that
// it has them nothing new is committed without either, and whichever dies, the other goes on.
//
// # Workers that die, or are slow
//
// Under Wait, rounds wait for a process that takes over the rank: Join tells it how far its
// predecessor was (Resumed), pushes that it repeats are recognized, and pulls return the values of
// that step meanwhile. The result is the undisturbed run's, bit for bit. Servers keep one version
// beside the last for that: so a push of a round leaves when the worker's pushes of the round
// before are committed, for every other key. Under Shrink rounds close without the dead. With
// backup workers they close when all but so many have contributed; later pushes are Late, and count
// nowhere. A worker that has fallen behind calls Skip.
//
// # Time
//
// Any process may stand still while its clock goes on. Silence counts only while its observer is
// awake, and anew when the observer has stood still; a copy is given up only when the server with
// the other one has named, in a heartbeat, the view by which its server was given up. A process
// that has heard nothing of the scheduler for Timing.Patience ends with ErrNoScheduler.
//
// # Deadlines and memory
//
// Every call of a worker ends by its deadline, with an Error that names the node that was waited
// for: ErrTimeout, ErrFenced, ErrLost, ErrRejected. A node that cannot answer a repeated message
// yet names the node that it waits for itself: so the Error names the one that has not done its
// part, and a call that takes long says so in an event. A push that runs out of time goes on with a
// copy of its values, because its sequence cannot be taken back. The memory that a call was given
// is the caller's again when the call ends, however it does: where a transport still reads it then,
// for a peer that takes nothing in, the connection is dropped first (Outbox.Recall). Servers refuse
// keys of which they could not hold a round of every worker. Pushing and pulling allocate nothing
// once buffers are warm.
package ps
