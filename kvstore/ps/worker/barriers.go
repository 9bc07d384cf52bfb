package worker

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// barriers is a worker's part in barriers. The scheduler tells calls apart by their numbers: a
// repeated message is no second call, and a call that ran out of time is continued by the next one.
type barriers struct {
	*agent
	*calls
	*progress
	barrier *call // nil: none is under way
	// number of the last call, counted from 1 by this process
	called uint64
	// calls that have ended; passed <= called <= passed+1
	passed   uint64
	calledAt uint64  // steps begun when the last call was made
	repeatAt ps.Time // when the scheduler is asked again
}

// enter begins the call that Worker.Barrier makes. A call whose predecessor ran out of time has its
// number: the program waits for the same barrier once more.
func (ba *barriers) enter(now ps.Time, deadline ps.Time) (uint64, error) {
	if err := ba.usable("barrier", ps.NoKey); err != nil {
		return 0, err
	}
	if ba.barrier != nil {
		return 0, usage("barrier", ps.NoKey, "the one before has not ended")
	}
	c := ba.newCall(now, "barrier", ps.NoKey, deadline)
	c.single = single{place: &ba.barrier, peer: node.Scheduler}
	c.left = 1
	if ba.called == ba.passed {
		ba.called, ba.calledAt = ba.passed+1, ba.position()
	}
	ba.barrier = c
	ba.sendBarrier()
	return c.id, nil
}

// sendBarrier tells the scheduler of the call. It says how many steps had begun when the call was
// made, not now: the scheduler tells repeated calls of a successor from new ones by the step.
func (ba *barriers) sendBarrier() {
	m := ba.me.Message(wire.TypeBarrier)
	m.SetBarrierCall(wire.BarrierCall{Number: ba.called, Begun: ba.calledAt, Before: ba.started})
	ba.repeatAt = ba.now + ba.me.Timing.Resend
	ba.me.Send(node.Scheduler, m, nil)
}

// barrierDone notes how many calls have ended. The call may have run out of time before: the
// barrier is passed all the same.
func (ba *barriers) barrierDone(n uint64) {
	if n < ba.called {
		return
	}
	ba.passed = ba.called
	if c := ba.barrier; c != nil {
		c.left = 0
		ba.end(c, nil)
	}
}

// repeatBarrier asks the scheduler again when it is time.
func (ba *barriers) repeatBarrier() {
	if ba.barrier != nil && ba.now >= ba.repeatAt {
		ba.sendBarrier()
	}
}
