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
//	collector  the snapshot that is being made
//	placement  where the copies of shards live; swaps, which spread primaries
//
// # Views
//
// All decisions are in one record, the view (wire.View). A decision changes the view in memory; the
// end of the reaction hands a copy to the driver, which makes it durable; then every node is told.
// So no node acts on a decision that a crash of the scheduler could take back.
package sched
