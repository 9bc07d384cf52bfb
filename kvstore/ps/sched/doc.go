// Package sched is the scheduler of a job: it gives processes their places, decides where every
// shard lives, lets workers pass barriers, and collects snapshots. Nothing else depends on it:
// values and gradients flow while it is away.
//
//	s, err := sched.New(sched.Config{Job: job, Servers: 2, Workers: 4, Replicas: 2})
//	s.Handle(now, from, message)      // or s.Tick(now), every 5 ms or so
//	out := s.Out()
//	... make out.View durable and call s.Persisted, send out.Sends, write out.Manifest ...
//	out.Reset()
//
// A scheduler that is given the last durable view goes on where the one before it stopped.
//
// # Parts
//
// A Scheduler is put together of parts; each is a type in a file of its name or near it, and uses
// the ones above it:
//
//	desk       common ground: settings, the view as it is decided and as it is durable
//	members    which process has which place, and which are there
//	guests     processes without a rank, which are promised one
//	barriers   calls for the barrier that is not passed
//	groups     the workers that rounds wait for
//	collector  the snapshot that is being made
//	placement  where the copies of shards live; swaps, which spread primaries
//
// # Views
//
// All decisions are in one record, the view (wire.View). A decision changes the view in memory; the
// end of the reaction hands a copy to the driver, which makes it durable; then every node is told.
// So no node acts on a decision that a crash of the scheduler could take back.
//
// # Workers that come and go
//
// Rounds wait for the workers of the group (wire.Group). A process with a rank that nobody has gets
// a place and waits (wire.Member.Waits) until all workers of the group have called for a change
// (wire.TypeRegroup): they do so between the same two rounds, when all their pushes are committed.
// The view that changes the group lets in the workers that wait, and lets go the workers that are
// to leave (wire.Member.Leaves) or want to. It is the answer to the calls, which are repeated until
// it has come: so a scheduler that dies forgets the calls and loses nothing.
//
// A worker that is told to leave and dies before it has left is let go at once. That is the one
// case in which a round may close with other workers on one shard than on another.
//
// # Servers that come and go
//
// A server that is new, or comes back, gets backups of the ones that have more copies; a server
// that is to leave gives its copies away. Both are moves of single copies (spread.go), and each is
// a change of the view by which no shard has fewer copies than before. Primaries follow by swaps.
package sched
