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
// # The log
//
// Only entries of the log change the replicated state. The primary appends an entry, sends it to
// the backup, and applies it when the backup has it; the backup applies it at once. Both apply the
// same entries in the same order, so that copies with the same index are equal to the bit, which
// they check with checksums (Server.Checksum).
package server
