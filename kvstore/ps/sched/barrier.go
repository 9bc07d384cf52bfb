package sched

import "gomx/kvstore/wire"

// A barrier is passed when all workers that count have called it, or are beyond it.
//
// A process that takes over a place runs the program of its predecessor again, but for the steps
// that are committed. So it repeats the calls that were made before the first step, makes no call
// between the steps that it leaves out, and may or may not repeat the calls between the last of
// these steps and its own first one, as the program has it. The scheduler keeps how many barriers a
// place has passed before its first step, and at the last one (wire.Calls), and tells calls that
// are repeated, which end at once, from new ones. A worker that has begun its own first step has
// left behind the calls of others at the step before.

// entered is a worker's call for the barrier that is not passed.
type entered struct {
	incarnation uint32 // of the process that called; another one has not
	call        uint64
	step        uint64 // steps begun when it called
}

// barriers counts the calls of workers for the barrier that is not passed.
type barriers struct {
	*desk
	*members
	entered []entered // by rank of the worker
}

// entry returns the call of a worker. Places may have been added since the job began.
func (bs *barriers) entry(rank uint16) *entered {
	for int(rank) >= len(bs.entered) {
		bs.entered = append(bs.entered, entered{})
	}
	return &bs.entered[rank]
}

// in reports whether the process in a worker's place has called the barrier that is not passed.
func (bs *barriers) in(m *wire.Member) bool {
	e := bs.entry(m.Node.Rank)
	return e.incarnation == m.Incarnation && m.Incarnation != 0 && e.call == m.Calls.Done+1
}

// barrier notes that a worker calls a barrier, or tells it that its call has ended.
func (bs *barriers) barrier(me *wire.Member, m *wire.Message) {
	if me.Node.Role != wire.Worker || me.Left {
		return
	}
	call := m.BarrierCall()
	if told := bs.told.Member(me.Node); told != nil && told.Incarnation == me.Incarnation &&
		call.Number <= told.Calls.Done {
		bs.endBarrier(told)
		return
	}
	switch {
	case call.Number != me.Calls.Done+1:
		return // it has ended, which is being made durable, or makes no sense
	case bs.in(me):
		bs.tellWaiting(me.Node, m, bs.blameBarrier())
		return
	}
	if c := &me.Calls; c.First == 0 && c.Here == 0 {
		c.Begin = call.Before // durable with the first barrier
	}
	if call.Begun == call.Before && call.Number <= repeated(&me.Calls, call.Before) {
		me.Calls.Done, bs.changed = call.Number, true
		return
	}
	*bs.entry(me.Node.Rank) = entered{incarnation: me.Incarnation, call: call.Number,
		step: call.Begun}
}

// repeated returns how many calls of a process that has not begun a step of its own repeat calls of
// its predecessor, which has ended so many steps.
func repeated(c *wire.Calls, steps uint64) uint64 {
	if steps > c.Begin && c.Step == steps {
		return c.First + c.Here
	}
	return c.First
}

// endBarrier tells a worker how many of its calls have ended. It names the incarnation: a successor
// counts its calls from 1 again.
func (bs *barriers) endBarrier(w *wire.Member) {
	m := bs.message(wire.TypeBarrierDone)
	m.Target = w.Incarnation
	m.SetBarrierCalls(w.Calls.Done)
	bs.send(w.Node, m)
}

// passBarriers lets workers pass the barrier when all that count have called it. They hear of it
// when it is durable.
func (bs *barriers) passBarriers() {
	calls := 0
	for i := range bs.view.Workers {
		if bs.in(&bs.view.Workers[i]) {
			calls++
		}
		if bs.awaits(i) {
			return
		}
	}
	if calls == 0 {
		return
	}
	bs.view.Barrier++
	bs.changed = true
	for i := range bs.view.Workers {
		switch w := &bs.view.Workers[i]; {
		case bs.in(w):
			w.Calls.Done++
			pass(&w.Calls, bs.entered[i].step)
			bs.entered[i] = entered{}
		// nobody has waited for it, and nobody will be there when it calls
		case !w.Left && !bs.counts(w):
			pass(&w.Calls, bs.beats[w.Node].Clock)
		}
	}
}

// pass counts a barrier that a worker has passed when it had begun so many steps. The counts tell
// the calls that a successor repeats from new ones (repeated).
func pass(c *wire.Calls, step uint64) {
	if step <= c.Begin {
		c.First++
		return
	}
	if c.Step != step {
		c.Step, c.Here = step, 0
	}
	c.Here++
}

// awaits reports whether the barrier which is not passed waits for a worker.
func (bs *barriers) awaits(rank int) bool {
	m := &bs.view.Workers[rank]
	return bs.counts(m) && !bs.in(m) && !bs.beyond(m)
}

// beyond reports whether a worker that took over a place has begun a step of its own, and all calls
// for the barrier were made before that step.
func (bs *barriers) beyond(m *wire.Member) bool {
	h := bs.beats[m.Node]
	if h.Start == 0 || h.Clock <= h.Start {
		return false
	}
	for i := range bs.view.Workers {
		if bs.in(&bs.view.Workers[i]) && bs.entered[i].step > h.Start {
			return false
		}
	}
	return true
}

// blameBarrier returns the first worker that has not entered the barrier which is not passed.
func (bs *barriers) blameBarrier() wire.Node {
	for i := range bs.view.Workers {
		if bs.awaits(i) {
			return bs.view.Workers[i].Node
		}
	}
	return wire.Node{}
}
