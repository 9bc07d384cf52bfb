package ps_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// A job may have several candidates for its scheduler. sim.sched is the one that leads; sim.disk is
// the store, which takes views of nobody else. Schedulers that led before are rivals: they run on,
// hear nodes that do not know the new leader yet, and send messages, until they learn of it.

// office is the part of a simulation that is about leading.
type office struct {
	term   uint64
	rivals []*process
	boss   map[wire.Node]*process // the scheduler that a node knows
	// fate decides about message number strike between nodes and schedulers; such messages are
	// counted.
	count, strike int
	fate          func() (late ps.Time, arrives bool)
}

// Ways in which the scheduler is lost to which another one is the successor.
const (
	oldDies   = iota // and nobody starts it again
	oldStalls        // it stands still, and goes on as if nothing had happened
	oldIsCut         // no message reaches it, and none of its messages arrives
	oldLives         // it goes on undisturbed, though its lease has ended
	handovers
)

// rival reports whether a process is a scheduler that leads no more.
func (s *sim) rival(p *process) bool { return p.node.Role == wire.Scheduler && p != s.sched }

// between counts the messages between nodes and schedulers and reports whether this is the one
// whose fate is decided.
func (s *sim) between(p *process, d *delivery) bool {
	if s.fate == nil || s.calm || p.node.Role != wire.Scheduler && d.target == nil {
		return false
	}
	s.count++
	return s.count == s.strike
}

// lateOfRivals is the time for which messages of a rival may be on their way in addition: they have
// waited in a queue.
func (s *sim) lateOfRivals(p *process) ps.Time {
	if !s.rival(p) || s.rng.IntN(2) == 0 {
		return 0
	}
	return ps.Time(s.rng.Int64N(int64(2 * ps.Second)))
}

// takeOver lets another candidate lead. Nodes hear of it one by one, and the former leader last.
func (s *sim) takeOver(how int) {
	if s.alone || s.calm {
		return
	}
	old := s.sched
	s.note("another scheduler takes over (way %d)", how)
	s.sched = &process{node: old.node}
	s.crash = 0
	for _, p := range append(slices.Clone(s.server), s.worker...) {
		delay := ps.Time(s.rng.Int64N(int64(500 * ps.Millisecond)))
		if s.rng.IntN(8) == 0 {
			delay *= 6
		}
		next := s.sched
		s.after(delay, func() {
			if s.sched == next {
				s.boss[p.node] = next
			}
		})
	}
	s.boot(s.sched)
	if old.m == nil {
		return
	}
	learns := ps.Time(s.rng.Int64N(int64(8 * ps.Second)))
	switch how {
	case oldDies:
		s.kill(old)
		return
	case oldStalls:
		old.pausedU = s.now + learns/2
	case oldIsCut:
		old.deaf = true
	}
	s.rivals = append(s.rivals, old)
	s.after(learns, func() { s.kill(old) })
}

// settleOffice ends all rivals, and lets every node know the leader.
func (s *sim) settleOffice() {
	for _, p := range s.rivals {
		s.kill(p)
	}
	s.rivals = nil
	for n := range s.boss {
		s.boss[n] = s.sched
	}
}

var everyHandover = flag.Bool("handovers", false,
	"let another scheduler take over at every message of TestHandoverAtEveryMessage")

// TestHandoverAtEveryMessage lets another scheduler take over when one certain message between a
// node and the scheduler leaves, in every way, while that message arrives, is lost, or comes late.
// The job ends with the result of the undisturbed run each time.
func TestHandoverAtEveryMessage(t *testing.T) {
	run := func(strike, how, what int) *sim {
		s := newSim(1, simConfig{servers: 3, workers: 2, replicas: 2, shards: 3, window: 64,
			staleness: worker.Unbounded, slice: 1 << 10, think: 2 * ps.Second,
			load: workload{kind: rounds, steps: 12, keys: 2, slices: 1, snap: 5}})
		s.strike = strike
		s.fate = func() (ps.Time, bool) {
			s.after(0, func() { s.takeOver(how) })
			return []ps.Time{0, 0, 3 * ps.Second}[what], what != 1
		}
		if !s.run(60 * ps.Second) {
			s.fail("I7: the programs did not end: %s", s.where())
			return s
		}
		s.calm = true
		s.heal()
		s.rest = s.now + 25*ps.Second
		s.run(s.now + 50*ps.Second)
		s.verify()
		return s
	}
	last := run(-1, 0, 0).count
	if last < 100 {
		t.Fatalf("%d messages between nodes and the scheduler, want more", last)
	}
	rng := rand.New(rand.NewPCG(*firstSeed, 4))
	tried := 0
	for strike := 1; strike <= last; strike++ {
		for how := range handovers {
			for what := range 3 {
				if !*everyHandover && rng.IntN(40) > 0 {
					continue
				}
				tried++
				if s := run(strike, how, what); len(s.errs) > 0 {
					t.Logf("message %d, way %d, fate %d", strike, how, what)
					s.report(t)
					return
				}
			}
		}
	}
	t.Logf("%d handovers at %d messages, all as in the undisturbed run", tried, last)
}
