// Package server is the server of a job: it holds shards as primary or backup, adds up pushes,
// applies them to values, and answers pulls.
//
//	s, err := server.New(server.Config{Job: job, Rank: rank, Nonce: nonce, Workers: 4})
//	s.Handle(now, from, message)      // or s.Tick(now), every 5 ms or so
//	out := s.Out()
//	... send out.Sends, write out.Saves and call s.Saved ...
//	out.Reset()
//
// A store injects a ps.Arithmetic, which adds encoded gradients, and an Updater, which changes
// values by an optimizer. All copies of a shard must compute the same bits.
//
// # Parts
//
// A Server holds a copy of each of its shards, which is put together of parts; each is a type in a
// file of its name, and uses the ones above it:
//
//	host       common ground of copies: place in the job, settings, figures
//	replica    the replicated state, changed by log entries alone
//	journal    the log of a primary, its backup, and commits
//	follower   a backup, which applies the log of the primary
//	ledger     receipts and acknowledgements that are due to workers
//	pulls      pulls, and the ones that wait
//	questions  other messages that cannot be answered yet
//	creation   new entries and optimizers
//	admission  new incarnations of workers
//	rounds     sums
//	intake     pushes
//	snapshots  parts of snapshots
//
// # Numbers
//
//	incarnation  of a process: no other process of the job has it; a successor has a higher one
//	epoch        of a shard: rises with every change of its primary and every loss of a backup
//	index        of a log entry: copies that have applied the same index are equal
//	sequence     of a push, by worker and shard, from 1 on for every incarnation
//	clock        of a push, by place and slice: a successor repeats it under another sequence
//	version      of a value: the last round in it; of a key without rounds the changes
//
// # Messages
//
//	from the scheduler  View: Server.adoptShards; Snapshot: snapshots
//	from workers        Push, PushPull, Probe: intake; Pull: pulls;
//	                    Init, Optimizer: creation; AskCursor: admission
//	from servers        Replicate: follower; Replicated: journal
//
// A message of a worker counts if it names the shard's epoch and its sender's incarnation is the
// one in the view. A server that sees a later epoch or incarnation asks for the view, and keeps the
// messages that it cannot judge yet (Server.early); it refuses earlier ones, so that their senders
// ask.
//
// # Outcomes
//
// A push ends in one of three ways, which its acknowledgement says. Applied: it is in the value.
// Known: an earlier process in the place has made it, and it was in the value before. Late: its
// round was closed without it, and it counts nowhere. All three are in the log, so that a worker
// that asks again hears the same, whichever server leads by then.
//
// # A round
//
// A push comes in and is checked against the sequence of its worker (intake). It is added to the
// sum of its round in the order of the ranks (rounds). When all workers that count have contributed
// the sum becomes an entry of the log (journal) and goes to the backup (follower). When the backup
// has it the sum becomes the value, by way of the optimizer if there is one (replica); pulls that
// waited are answered (pulls), and the pushes acknowledged (ledger).
//
// # Roles
//
// A view names the primary and the backup of a shard. A server takes over a role when it adopts the
// view, and never by itself. A backup that is promoted has everything that was committed; workers
// repeat the rest. A copy that is made anew gets the state inside the log, one entry of the shard
// at a time, while training goes on.
//
// # Members that come and go
//
// A round waits for the workers of the group in the server's view. Workers name the number of their
// group in every message, and a server that knows an earlier group takes nothing in before it has
// the view: so no shard begins a round with the workers of the round before. A worker with a new
// rank is let in by an entry of the log, at which all copies make room for its pushes
// (replica.grow).
//
// A third copy of a shard is made like a backup, while the backup stays in sync. When it has the
// state it counts like the backup: nothing is committed that one of the three lacks, until a view
// puts it in the backup's place.
//
// # Memory
//
// Values, sums and pushes that wait are in buffers of one size per slice (buffer.go). A message
// refers to the buffer that it carries; a buffer that a message still refers to is never written.
// Pushes that wait for a lower rank stay where the transport received them, if it lends them out
// (wire.Owner). Config.Memory bounds the sum of all that keys may ever need: a key that does not
// fit is refused when it is created.
//
// # Sparse keys
//
// A sparse key has a slice on every shard, with the rows of the matrix whose numbers modulo the
// shards are the slice's (package rows). Its entry has no value and no buffers: pushes, sums and
// the values of pulls are lists of rows, in memory of the log entry or of the message.
//
//	a round   pushes are merged in the order of the ranks, as soon as the lower ranks are there;
//	          a worker without rows pushes an empty list, because rounds count pushes
//	a change  makes the rows that do not exist, keeps their values of before where the key has
//	          rounds, and lets the optimizer work on these rows and their states (UpdateRows)
//	a pull    reads rows as they are, or as they were before the last round; it makes none
//	a sum     of a checkpoint is about the rows that the last change has touched: a comparison of
//	          all rows would cost too much, and a difference shows when a row changes again
//
// A table is a sparse key without rounds to which pushes are added, whatever the optimizer. A
// worker pushes it once in each of its steps, also without rows: so the clocks of the entry are the
// steps of the workers, and a read waits for them as the staleness says. A table that is made later
// begins with the clock of the step in which the workers make it.
//
// The state of a sparse entry is larger than a message. A transfer sends it in pieces, by slots,
// between the entries of the log. Rows that change before they are sent are wrong on the copy, for
// it makes them of their first values; the piece that they are in repairs them. The head of the
// entry comes with every piece, and the values before the last round with the last one. Slots of
// copies differ then, which nothing depends on: messages name rows by number.
//
// A snapshot refers to the values, which are not written while it does, and has all rows of an
// entry as they are at one moment, beside the optimizer's states of each. The driver reads both in
// pieces while it writes the file (ps.Save.Rest), and training goes on: so a snapshot takes no
// memory but for values and rows that change before they are read.
//
// A part of a snapshot is read in the same way (Config.Restore): the head first, then entry by
// entry, the rows of a sparse entry in pieces. Its checksum is at its end, so that a damaged part
// is noticed when some of it has been taken over; the shard is reported as lost then.
//
// The optimizer's states of rows also travel by themselves: to a worker that asks the primary for
// them (Server.RowStates), and back with an optimizer (wire.Spec.Rows), through the log like all
// changes.
//
// The memory of rows is not reserved when a key is created, because nobody knows how many rows will
// be touched: Config.Memory does not bound it. Stats.Memory counts it.
//
// # The log
//
// Only entries of the log change the replicated state. The primary appends an entry, sends it to
// the backup, and applies it when the backup has it; the backup applies it at once. Both apply the
// same entries in the same order, so that copies with the same index are equal to the bit, which
// they check with checksums (Server.Checksum).
package server
