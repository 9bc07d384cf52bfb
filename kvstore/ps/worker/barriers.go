package worker

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// barriers is a worker's part in barriers.
type barriers struct {
	*agent
	*calls
	*progress
	barrier  *call   // nil: none is under way
	called   uint64  // calls for barriers
	passed   uint64  // of them, how many have ended
	calledAt uint64  // steps begun at the last of them
	repeatAt ps.Time // when the scheduler is asked again
}

// enter begins the call that Worker.Barrier makes.
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
	// otherwise the call before ran out of time: this one goes on with it
	if ba.called == ba.passed {
		ba.called, ba.calledAt = ba.passed+1, ba.position()
	}
	ba.barrier = c
	ba.sendBarrier()
	return c.id, nil
}

func (ba *barriers) sendBarrier() {
	m := ba.me.Message(wire.TypeBarrier)
	m.SetBarrierCall(wire.BarrierCall{Number: ba.called, Begun: ba.calledAt, Before: ba.started})
	ba.repeatAt = ba.now + ba.me.Timing.Resend
	ba.me.Send(node.Scheduler, m, nil)
}

// barrierDone notes how many calls have ended.
func (ba *barriers) barrierDone(n uint64) {
	if n < ba.called {
		return
	}
	ba.passed = ba.called
	if c := ba.barrier; c != nil {
		ba.barrier = nil
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
