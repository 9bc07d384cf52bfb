// Package flow is the protocol of a pipeline: the order in which a stage works, which messages its
// work waits for, how many bytes may be on their way, and how long a stage waits. It is pure: it
// has no clock, no goroutine and no network. Its Machine is driven by package pipeline, and by
// tests in virtual time.
//
//	m := flow.New(flow.Config{Stage: 1, Stages: 3, Micros: 8, Links: links})
//	m.Begin(now, 0)
//	for !m.Done() {
//		if a, ok := m.Ready(); ok {
//			…                         // runs a
//			m.Ran(now, a)
//		}
//		for _, t := range m.Sends() { … }
//		…                             // m.Arrived, m.Returned, m.Heard as messages come
//		err := m.Tick(now)
//	}
//
// # The order of work
//
// Each step of training has a number of micro-batches. Stage s of S begins with S-1-s forward
// parts, then alternates one forward part and one backward part, and ends with the backward parts
// that are left (PipeDream, Harlap et al., 2018; 1F1B). At most S-s micro-batches have gone forward
// and not backward at any time, so stage s keeps the values of so many. Backward parts come in the
// order of the micro-batches, from 0 on: gradients are added in this order.
//
// # Bytes on their way
//
// A stage sends a tensor to another one while the bytes on their way there are below a window. They
// come back as credit when the receiver has used the tensor. The results of one action for one
// stage travel together. As many of them as the stages are apart may be on their way even where
// they are larger than the window. A stage begins no work while a result of its last work waits for
// credit.
//
// # Stages that stand still
//
// Every stage tells all others from time to time which stage it waits for. A stage that has waited
// too long follows these reports: the stage to blame is the last one of the chain, which waits for
// nobody, or has been silent. Time in which the process of a stage itself stood still counts for
// nothing.
package flow
