package ps

import (
	"fmt"

	"gomx/kvstore/wire"
)

// agent is the common ground of all parts of a worker: its place in the job, its settings and its
// figures.
type agent struct {
	me     member
	cfg    WorkerConfig
	now    Time
	stats  WorkerStats
	joined bool
	lost   error // shards are lost; nil: none is
}

// newAgent returns the agent of a worker whose configuration is complete.
func newAgent(c WorkerConfig) *agent {
	id := identity{self: wire.Node{Role: wire.Worker, Rank: c.Rank}, job: c.Job, nonce: c.Nonce,
		size: c.Workers, addr: c.Addr}
	return &agent{me: newMember(id, c.Timing), cfg: c}
}

// loose reports whether rounds may close without this worker: then it does not repeat the rounds
// that it missed.
func (ag *agent) loose() bool { return ag.cfg.Policy == Shrink || ag.cfg.Backups > 0 }

// err is Worker.Err.
func (ag *agent) err() error {
	switch {
	case ag.me.fenced:
		return ErrFenced
	case ag.lost != nil:
		return ag.lost
	case ag.me.alone:
		return ag.me.silent()
	}
	return nil
}

// usable reports why no call can be made.
func (ag *agent) usable(op string, key uint32) error {
	var err error
	switch {
	case ag.err() != nil:
		err = ag.err()
	case ag.me.left:
		err = ErrClosed
	case !ag.joined:
		err = fmt.Errorf("%w: the worker has not joined", ErrUsage)
	default:
		return nil
	}
	return &Error{Op: op, Key: key, Err: err}
}
