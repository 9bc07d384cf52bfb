package worker

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// agent is the common ground of all parts of a worker: its place in the job, its settings and its
// figures. Parts hold a pointer to the one agent of their worker.
type agent struct {
	me     node.Member // place in the job, view, and outbox
	cfg    Config      // complete: zero fields have their defaults
	now    ps.Time     // clock of the driver in this reaction
	stats  Stats       // figures so far; Worker.Stats adds the ones that follow from the state
	joined bool        // the worker knows where it starts: other calls than Join may be made
	lost   error       // shards are lost; nil: none is
	// the job has gone on without this process, which was given up
	leftBehind bool
}

// newAgent returns the agent of a worker whose configuration is complete. It has no place yet.
func newAgent(c Config) *agent {
	id := node.Identity{Self: wire.Node{Role: wire.Worker, Rank: c.Rank}, Job: c.Job,
		Nonce: c.Nonce,
		Size:  c.Workers, Addr: c.Addr}
	return &agent{me: node.NewMember(id, c.Timing), cfg: c}
}

// loose reports whether rounds may close without this worker: then it does not repeat the rounds
// that it missed.
func (ag *agent) loose() bool { return ag.cfg.Policy == ps.Shrink || ag.cfg.Backups > 0 }

// lowest reports whether no worker of a lower rank is in the job: its values of new keys count.
func (ag *agent) lowest() bool {
	for i := range ag.me.View.Workers {
		if m := &ag.me.View.Workers[i]; !m.Left && !m.Waits {
			return m.Node == ag.me.Self
		}
	}
	return false
}

// err is Worker.Err. A place that is taken counts before a shard that is lost: the successor goes
// on where this process would end the job.
func (ag *agent) err() error {
	switch {
	case ag.leftBehind:
		return ps.ErrLeftBehind
	case ag.me.Fenced:
		return ps.ErrFenced
	case ag.lost != nil:
		return ag.lost
	case ag.me.Alone:
		return ag.me.Silent()
	}
	return nil
}

// usable reports why no call can be made, nil if one can. It is asked before anything changes, so
// that a call that is refused has no effect.
func (ag *agent) usable(op string, key uint32) error {
	var err error
	switch {
	case ag.err() != nil:
		err = ag.err()
	case ag.me.Left:
		err = ps.ErrClosed
	case !ag.joined:
		err = fmt.Errorf("%w: the worker has not joined", ps.ErrUsage)
	default:
		return nil
	}
	return &ps.Error{Op: op, Key: key, Err: err}
}
