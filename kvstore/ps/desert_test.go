package ps_test

import (
	"errors"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// desert ends the scheduler for good, and all other trouble, unless a program has ended: the others
// must give up, soon and with a word about it.
func (s *sim) desert() {
	for _, p := range s.worker {
		if p.prog.finished {
			return
		}
	}
	if s.sched.m == nil || s.disk == nil || len(s.disk.Shards) == 0 {
		return
	}
	s.note("the scheduler dies for good")
	s.alone, s.calm = true, true
	s.kill(s.sched)
	s.heal()
	s.rest = s.now + 120*ps.Second
}

// verifyDeserted checks that every process has given up because of the scheduler, and that every
// push that was acknowledged is there.
func (s *sim) verifyDeserted() {
	for _, p := range append(append([]*process{}, s.server...), s.worker...) {
		err := s.ends[p.node]
		if w, ok := p.m.(*worker.Worker); ok && err == nil && p.prog.finished {
			err = w.Err() // all that it still waits for is to be heard when it says goodbye
		}
		if !errors.Is(err, ps.ErrNoScheduler) {
			s.fail("%s ends with %v within 120 s, want %v", p.node, err, ps.ErrNoScheduler)
		}
	}
	l := s.cfg.load
	if l.kind != single && l.kind != counting {
		return
	}
	for k := range l.keys {
		for sl := range l.slices {
			for r, p := range s.worker {
				for slot := range l.slots() {
					x := p.prog.pushes[[2]int{k, slot}]
					if x != nil && x.ended && x.err == nil && x.outcome == wire.Applied &&
						!s.somewhere(k, sl, r*l.slots()+slot) {
						s.fail("I1: push %d of worker %d to key %d slice %d was acknowledged "+
							"and is on no server", slot, r, k, sl)
					}
				}
			}
		}
	}
}

// somewhere reports whether a copy of a slice in the last durable view has a push, once: a
// scheduler with that view could promote it.
func (s *sim) somewhere(key, slice, slot int) bool {
	id := ps.ID{Key: uint32(key), Slice: uint16(slice)}
	if s.cfg.load.sparse {
		at := slice*s.cfg.load.elems(s.cfg.workers) + slot
		id.Slice = uint16(at / rowElems % s.cfg.shards)
		slot = at/rowElems/s.cfg.shards*rowElems + at%rowElems
	}
	sh := s.disk.Shards[ps.ShardOf(id, s.cfg.shards)]
	for _, r := range []wire.Replica{sh.Primary, sh.Backup} {
		srv, ok := s.server[r.Server].m.(*server.Server)
		if !ok || r.IsZero() || srv.Incarnation() != r.Incarnation {
			continue
		}
		if v, ok := srv.Copy(id); ok && getFloat(v, slot) == 1 {
			return true
		}
	}
	return false
}
