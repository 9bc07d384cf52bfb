// Package ps is the parameter server's protocol: what a scheduler, a server and a worker do when a message comes or time passes.
//
// Scheduler, Server and Worker are pure state machines. They have no clock, no socket, no lock and no goroutine: who drives one of
// them says what time it is, hands it messages, and carries out what it finds in the Outbox. One goroutine at a time uses a machine.
//
//	server.Handle(now, from, message)      // or server.Tick(now), every few milliseconds
//	out := server.Out()
//	... make out.View durable, send out.Sends, write out.Saves, report out.Done ...
//	out.Reset()
//
// That is what lets a test run whole jobs in virtual time, with every fault at every moment.
//
// # Keys
//
// A key is an array that is cut into slices; every slice lives on a shard, every shard on a primary server and, with two replicas, on
// a backup. A key has rounds, or its pushes are direct:
//
//   - In a round every worker pushes once. The sum, always taken in the order of the ranks, replaces the value or goes to the
//     optimizer. Rounds are the clock of a key; a pull sees the result of the puller's last round.
//   - Direct pushes are applied as they come. Pulls see the puller's own pushes, and those of others as far as the staleness says.
//   - A Table is read row by row; what is added in a step is applied as a whole when the worker's Clock ends the step.
//
// # A push
//
// A worker gives a push a sequence per shard when it leaves for the first time, and keeps it through all retries. The primary takes
// pushes in the order of their sequences, adds them up, and appends what comes of it to the shard's log: one entry for a round. The
// entry goes to the backup; when that has it the primary applies it, answers pulls and acknowledges the pushes. Both copies apply the
// same entries in the same order with the same arithmetic, compare checksums, and keep which sequences are in the log, so that a push
// counts once whatever is repeated, and whoever is primary.
//
// Credit for bytes on their way returns when they are received, not when they are committed: workers that push in different orders
// never wait for each other. What may be uncommitted is bounded by the window of sequences, which is also what copies remember.
//
// # Who serves
//
// The scheduler's View says where shards live. It is durable before anybody hears of it. Every change of a shard's primary, and every
// loss of a backup, raises the shard's epoch; messages of another epoch are refused. A backup is promoted only when the view calls
// it in sync, and a primary commits alone only when the view says that nobody may be promoted: so at most one server commits in an
// epoch, without clocks or leases. A new backup gets the state entry by entry between the entries of the log, while training goes on.
//
// When a server that died has its copies again, the scheduler gives it primaries until it leads as many shards as others: it lets
// the copies of one shard after the other change places. Both hold the state all the time. The old primary keeps the entries of its
// log that are not committed; the first entry of the new one's log tells it how many of them count. Until the scheduler knows that it
// has them nothing new is committed without either, and whichever dies, the other goes on.
//
// # Workers that die, or are slow
//
// Under Wait, rounds wait for a process that takes over the rank: Join tells it how far its predecessor was (Resumed), what it pushes
// again is recognized, and what it pulls meanwhile is as it was. The result is that of the undisturbed run, bit for bit. Under Shrink
// rounds close without the dead. With backup workers they close when all but so many have contributed; later pushes are Late, and
// count nowhere. A worker that has fallen behind calls Skip.
//
// # Time
//
// Any process may stand still while its clock goes on. Silence counts only while who listens is awake, and anew when it has stood still;
// a copy is given up only when the server with the other one has named, in a heartbeat, the view by which its server was given up.
// Who has heard nothing of the scheduler for Timing.Patience ends with ErrNoScheduler.
//
// # Deadlines and memory
//
// Every call of a worker ends by its deadline, with an Error that says who was waited for: ErrTimeout, ErrFenced, ErrLost,
// ErrRejected. Whoever cannot answer a repeated message yet says whom it waits for itself: the Error names who has not done its part,
// and a call that takes long says so in an event. A push that runs out of time goes on with a copy of its values, because its
// sequence cannot be taken back. The memory that a call was given is the caller's again when the call ends, however it does: where a
// transport still reads it then, for a peer that takes nothing in, the connection is dropped first (Outbox.Recall). Servers refuse keys of which they could not hold a round of every worker. Pushing and pulling
// allocate nothing once buffers are warm.
package ps
