// Package mem carries messages within one process, and loses, delays, doubles, reorders or
// partitions them when asked.
//
//	n := mem.NewNetwork(seed)
//	n.SetFaults(mem.Faults{Loss: 0.01, MaxDelay: time.Millisecond})
//	server, err := mem.Open(n, transport.Config{Self: node, Incarnation: 1, Handler: handle})
//	n.Partition([]wire.Node{a, b}, []wire.Node{c})
//	n.Heal()
//
// What happens to the k-th message from one node to another depends on the seed, the two nodes and
// k alone, however the goroutines run, so that a failing run can be repeated as far as its own
// timing allows.
//
// A healthy network keeps every promise of package transport. Payloads are copied, and the memory
// of a received payload is overwritten when its time is over: who keeps one without taking it will
// notice.
package mem
