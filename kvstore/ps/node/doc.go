// Package node is the common ground of the protocol's machines: the place of a process in the job,
// its view of the job, and the limits on which servers and workers agree.
//
//	me := node.NewMember(node.Identity{Self: self, Job: job, Nonce: nonce, Size: workers}, timing)
//	me.Dispatch = machine.dispatch // takes in one message
//	...
//	me.Wake(now)                   // begins a reaction
//	if me.Ours(from, message) {
//		err = me.Unpack(message)   // calls Dispatch
//	}
//
// A process draws a nonce, says hello with it, and has its place when a view names the nonce. The
// view gives it an incarnation, a number that no other process of the job has. Messages carry the
// incarnation of their sender, so that nodes tell a process from its predecessor in the same place.
//
// The types here are for the machines of packages sched, server and worker. Each belongs to one
// machine, and like the machine to one goroutine at a time.
package node
