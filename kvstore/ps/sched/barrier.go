package sched

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

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

// in reports whether the process in a worker's place has called the barrier that is not passed.
func (s *Scheduler) in(m *wire.Member) bool {
	e := &s.entered[m.Node.Rank]
	return e.incarnation == m.Incarnation && m.Incarnation != 0 && e.call == m.Calls.Done+1
}

// barrier notes that a worker calls a barrier, or tells it that its call has ended.
func (s *Scheduler) barrier(me *wire.Member, m *wire.Message) {
	if me.Node.Role != wire.Worker || me.Left {
		return
	}
	call := m.BarrierCall()
	if told := s.told.Member(me.Node); told.Incarnation == me.Incarnation &&
		call.Number <= told.Calls.Done {
		s.endBarrier(told)
		return
	}
	switch {
	case call.Number != me.Calls.Done+1:
		return // it has ended, which is being made durable, or makes no sense
	case s.in(me):
		s.passBarriers()
		if s.in(me) {
			s.tellWaiting(me.Node, m, s.blameBarrier())
		}
		return
	}
	if c := &me.Calls; c.First == 0 && c.Here == 0 {
		c.Begin = call.Before // durable with the first barrier
	}
	if call.Begun == call.Before && call.Number <= repeated(&me.Calls, call.Before) {
		me.Calls.Done, s.changed = call.Number, true
		return
	}
	s.entered[me.Node.Rank] = entered{incarnation: me.Incarnation, call: call.Number,
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

// endBarrier tells a worker how many of its calls have ended.
func (s *Scheduler) endBarrier(w *wire.Member) {
	m := s.message(wire.TypeBarrierDone)
	m.Target = w.Incarnation
	m.SetBarrierCalls(w.Calls.Done)
	s.send(w.Node, m)
}

// passBarriers lets workers pass the barrier when all that count have called it. They hear of it
// when it is durable.
func (s *Scheduler) passBarriers() {
	calls := 0
	for i := range s.view.Workers {
		if s.in(&s.view.Workers[i]) {
			calls++
		}
		if s.awaits(i) {
			return
		}
	}
	if calls == 0 {
		return
	}
	s.view.Barrier++
	s.changed = true
	for i := range s.view.Workers {
		switch w := &s.view.Workers[i]; {
		case s.in(w):
			w.Calls.Done++
			pass(&w.Calls, s.entered[i].step)
			s.entered[i] = entered{}
		// nobody has waited for it, and nobody will be there when it calls
		case !w.Left && !s.counts(w):
			pass(&w.Calls, s.beats[w.Node].Clock)
		}
	}
}

// pass counts a barrier that a worker has passed when it had begun so many steps.
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
func (s *Scheduler) awaits(rank int) bool {
	m := &s.view.Workers[rank]
	return s.counts(m) && !s.in(m) && !s.beyond(m)
}

// beyond reports whether a worker that took over a place has begun a step of its own, and all calls
// for the barrier were made before that step.
func (s *Scheduler) beyond(m *wire.Member) bool {
	h := s.beats[m.Node]
	if h.Start == 0 || h.Clock <= h.Start {
		return false
	}
	for i := range s.view.Workers {
		if s.in(&s.view.Workers[i]) && s.entered[i].step > h.Start {
			return false
		}
	}
	return true
}

// counts reports whether others wait for a worker.
func (s *Scheduler) counts(m *wire.Member) bool {
	return !m.Left && (m.Alive || s.cfg.Policy != ps.Shrink)
}

// blameBarrier returns the first worker that has not entered the barrier which is not passed.
func (s *Scheduler) blameBarrier() wire.Node {
	for i := range s.view.Workers {
		if s.awaits(i) {
			return s.view.Workers[i].Node
		}
	}
	return wire.Node{}
}
