// Package mem is a transport within one process. For tests it loses, delays, duplicates and
// reorders messages, and partitions the network.
//
//	n := mem.NewNetwork(seed)
//	n.SetFaults(mem.Faults{Loss: 0.01, MaxDelay: time.Millisecond})
//	server, err := mem.Open(n, transport.Config{Self: node, Incarnation: 1, Handler: handle})
//	n.Partition([]wire.Node{a, b}, []wire.Node{c})
//	n.Heal()
//
// The faults of the k-th message from one node to another depend on the seed, the two nodes and k
// alone, not on the schedule of goroutines, so that a failing run can be repeated as far as its own
// timing allows.
//
// A network without faults gives all guarantees of package transport. Payloads are copied, and the
// memory of a received payload is overwritten after its release, so that tests find receivers that
// keep a payload without taking it.
package mem
