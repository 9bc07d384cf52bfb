package ps_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

var (
	schedules = flag.Int("schedules", 150,
		"how many seeded schedules the simulation runs; the full number is 20000")
	firstSeed = flag.Uint64("seed", 1, "seed of the first schedule")
	verbose   = flag.Bool("messages", false, "log every message of the simulation")
)

// choose makes up a run from a seed.
func choose(rng *rand.Rand) simConfig {
	c := simConfig{
		servers: 2 + rng.IntN(2), workers: 2 + rng.IntN(3), replicas: 2,
		staleness: worker.Unbounded,
		slice:     1 << 10,
		window:    64, load: workload{steps: 4 + rng.IntN(8), keys: 1 + rng.IntN(3), slices: 1 +
			rng.IntN(2), fused: rng.IntN(2) == 0},
	}
	c.shards = c.servers * (1 + rng.IntN(2))
	if rng.IntN(8) == 0 {
		c.replicas = 1
	}
	switch rng.IntN(8) {
	case 0, 1:
		c.load.kind = rounds
	case 2, 3:
		c.load.kind, c.load.mom, c.updater = rounds, true, newMomentum
	case 4:
		c.load.kind = single
		if rng.IntN(2) == 0 {
			c.staleness = rng.IntN(3)
		}
	case 5:
		c.load.kind, c.staleness = tables, rng.IntN(4)-1
	case 6:
		c.load.kind, c.updater, c.policy = counting, newAdder, ps.Shrink
	case 7:
		c.load.kind, c.updater, c.backups = counting, newAdder, 1
	}
	if rng.IntN(2) == 0 {
		c.credit = 1500
	}
	c.think = 3 * ps.Second
	c.slice = uint64(4 * c.load.elems(c.workers))
	if c.load.kind == rounds && rng.IntN(4) == 0 {
		c.load.snap = 1 + rng.IntN(c.load.steps)
	}
	c.load.hasty = c.load.kind != tables && rng.IntN(4) == 0
	c.load.apart = c.load.kind == rounds && rng.IntN(4) == 0
	if c.load.kind != tables && rng.IntN(3) == 0 {
		c.load.sparse, c.load.fused = true, false
	}
	return c
}

// others returns all places.
func (s *sim) all() []*process {
	return append(append([]*process{s.sched}, s.server...), s.worker...)
}

// weather sets how the network behaves, and makes trouble until a time.
func (s *sim) weather(until ps.Time) {
	s.single = s.rng.IntN(2) == 0
	switch s.rng.IntN(4) {
	case 0:
		s.loss, s.twice, s.order, s.slow = 0.02, 0.05, false, 5*ps.Millisecond
	case 1:
		s.twice, s.order, s.slow = 0.02, false, 20*ps.Millisecond
	case 2:
		s.loss = 0.01
	}
	at := ps.Time(0)
	for {
		at += ps.Time(s.rng.Int64N(int64(4 * ps.Second)))
		if at > until {
			return
		}
		s.after(at, s.trouble)
		if s.rng.IntN(4) == 0 { // two at once, or the second while the first is being mended
			s.after(at+ps.Time(s.rng.Int64N(int64(ps.Second)))*ps.Time(s.rng.IntN(2)), s.trouble)
		}
	}
}

// moment makes trouble now and then where a program does something that it does once: it begins,
// ends, or asks for a snapshot.
func (s *sim) moment() {
	if s.now < s.until && s.rng.IntN(12) == 0 {
		for range 1 + s.rng.IntN(2) {
			s.after(ps.Time(s.rng.Int64N(int64(20*ps.Millisecond))), s.trouble)
		}
	}
}

// trouble does one random thing.
func (s *sim) trouble() {
	if s.calm {
		return
	}
	srv := s.server[s.rng.IntN(len(s.server))]
	wrk := s.worker[s.rng.IntN(len(s.worker))]
	pause := ps.Time(s.rng.Int64N(int64(6 * ps.Second)))
	back := ps.Time(s.rng.Int64N(int64(5 * ps.Second)))
	switch s.rng.IntN(19) {
	case 17, 18:
		s.takeOver(s.rng.IntN(handovers))
	case 9, 10, 11:
		s.swap()
	case 12:
		s.pause(s.sched, ps.Time(s.rng.Int64N(int64(s.stall))))
	case 13:
		all := s.all()
		s.pause(all[s.rng.IntN(len(all))], ps.Time(s.rng.Int64N(int64(s.stall))))
	case 14:
		s.note("the disk is slow for %.1f s", float64(2*pause)/1e9)
		s.slowDisk = 10 * ps.Second
		s.after(2*pause, func() { s.slowDisk = 0 })
	case 15: // a server dies while the scheduler stands still
		if s.spare(srv) && s.sched.m != nil {
			s.pause(s.sched, ps.Time(s.rng.Int64N(int64(s.stall))))
			s.note("kill %s", srv.node)
			s.killAndBoot(srv, ps.Time(s.rng.Int64N(int64(s.stall))))
		}
	case 16: // a connection breaks; a process that lives makes another one
		all := append(s.all()[1:], srv)
		p := all[s.rng.IntN(len(all))]
		if s.now >= p.pausedU {
			s.note("hang up %s", p.node)
			s.hung[p.node] = s.now + ps.Time(s.rng.Int64N(int64(2*ps.Second)))
		}
	case 0, 1:
		if s.spare(srv) {
			s.note("kill %s", srv.node)
			s.killAndBoot(srv, back)
		}
	case 2:
		s.pause(srv, pause)
	case 3:
		s.note("kill %s", wrk.node)
		s.killAndBoot(wrk, back)
	case 4:
		s.pause(wrk, pause)
	case 5:
		s.note("kill the scheduler")
		s.killAndBoot(s.sched, back)
	case 6:
		s.crash = 1 + s.rng.IntN(2)
		s.note("the scheduler will die at its next view, %d", s.crash)
		s.after(back+6*ps.Second, func() {
			s.crash = 0
			if s.sched.m == nil {
				s.boot(s.sched)
			}
		})
	default:
		s.partition(pause)
	}
}

// pause stops a process for a while. It is not well again before the others have heard of it. One
// whose connection has broken makes another one before, and is heard of: both at once look like a
// death.
func (s *sim) pause(p *process, d ps.Time) {
	if again := s.hung[p.node] + ps.Second; s.hung[p.node] > 0 && again > s.now {
		s.after(again-s.now, func() {
			if !s.calm {
				s.pause(p, d)
			}
		})
		return
	}
	s.note("pause %s for %.1f s", p.node, float64(d)/1e9)
	p.pausedU = max(p.pausedU, s.now+d)
	s.ill[p.node] = max(s.ill[p.node], p.pausedU+ps.Second)
}

// swap lets the copies of a shard change places, and perhaps makes trouble for one of them, or for
// the scheduler, before they know.
func (s *sim) swap() {
	sched, ok := s.sched.m.(*sched.Scheduler)
	shard := s.rng.IntN(s.cfg.shards)
	if !ok || s.now < s.sched.pausedU || !sched.Swap(s.now, shard) {
		return
	}
	s.swaps++
	s.note("swap shard %d", shard)
	s.drain(s.sched)
	if s.sched.m == nil || len(s.disk.Shards) == 0 || s.rng.IntN(2) == 0 {
		return
	}
	place := s.disk.Shards[shard]
	one := s.server[[...]wire.Replica{place.Primary, place.Backup}[s.rng.IntN(2)].Server]
	pause, back := ps.Time(s.rng.Int64N(int64(6*ps.Second))),
		ps.Time(s.rng.Int64N(int64(5*ps.Second)))
	s.after(ps.Time(s.rng.Int64N(int64(4*s.slow))), func() {
		switch s.rng.IntN(4) {
		case 0, 1:
			if !s.calm && s.spare(one) {
				s.note("kill %s", one.node)
				s.killAndBoot(one, back)
			}
		case 2:
			s.pause(one, pause)
		case 3:
			s.note("kill the scheduler")
			s.killAndBoot(s.sched, back)
		}
	})
}

func (s *sim) note(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf("%.2fs ", float64(s.now)/1e9)+fmt.Sprintf(format,
		args...))
	if s.logf != nil {
		s.logf("%.3f FAULT %s", float64(s.now)/1e9, fmt.Sprintf(format, args...))
	}
}

func (s *sim) killAndBoot(p *process, back ps.Time) {
	if p.m == nil || p.prog != nil && p.prog.finished && s.cfg.load.kind == counting {
		return // a worker that has left does not come back
	}
	s.kill(p)
	gen := p.gen
	s.after(back, func() {
		if p.gen == gen {
			s.boot(p)
		}
	})
}

// spare reports whether a server may die without the last copy of a shard dying with it.
func (s *sim) spare(p *process) bool {
	srv, ok := p.m.(*server.Server)
	if !ok || s.disk == nil || len(s.disk.Shards) == 0 {
		return false
	}
	for _, o := range s.server {
		// Two faults at once may cost the last copy: a server may die when the others are well.
		if o != p && (o.pausedU > s.now || s.ill[o.node] > s.now ||
			!s.disk.Servers[o.node.Rank].Alive) {
			return false
		}
	}
	me := wire.Replica{Server: p.node.Rank, Incarnation: srv.Incarnation()}
	if m := s.disk.Servers[p.node.Rank]; m.Nonce == p.nonce {
		me.Incarnation = m.Incarnation // which it may not have heard of yet
	}
	for _, sh := range s.disk.Shards {
		other := sh.Primary
		switch me {
		case sh.Primary:
			if other = sh.Backup; !sh.InSync {
				return false
			}
		case sh.Backup:
		default:
			continue
		}
		// A third copy may have taken the backup's place in a view that is not on the disk yet.
		if !s.lives(other) || sh.Third != (wire.Replica{}) && !s.lives(sh.Third) {
			return false
		}
	}
	return true
}

// lives reports whether the process of a copy lives.
func (s *sim) lives(r wire.Replica) bool {
	o, ok := s.server[r.Server].m.(*server.Server)
	return ok && o.Incarnation() == r.Incarnation
}

// partition cuts links for a while, some of them in one direction only.
func (s *sim) partition(d ps.Time) {
	nodes := s.all()
	a := nodes[s.rng.IntN(len(nodes))].node
	oneWay := s.rng.IntN(3) == 0
	only := s.rng.IntN(2) == 0
	b := nodes[s.rng.IntN(len(nodes))].node
	s.note("cut %s from %s (all: %v, one way: %v) for %.1f s", a, b, !only, oneWay, float64(d)/1e9)
	var cut [][2]wire.Node
	for _, n := range nodes {
		if n.node == a || only && n.node != b {
			continue
		}
		cut = append(cut, [2]wire.Node{a, n.node})
		if !oneWay {
			cut = append(cut, [2]wire.Node{n.node, a})
		}
	}
	for _, l := range cut {
		s.cut[l] = true
		for _, n := range l {
			s.ill[n] = max(s.ill[n], s.now+d+3*ps.Second)
		}
	}
	s.after(d, func() {
		for _, l := range cut {
			delete(s.cut, l)
		}
	})
}

// heal ends all trouble.
func (s *sim) heal() {
	s.loss, s.twice, s.crash, s.slowDisk = 0, 0, 0, 0
	clear(s.cut)
	clear(s.hung)
	s.settleOffice()
	for _, p := range s.all() {
		p.pausedU = min(p.pausedU, s.now)
		if p.m == nil {
			s.boot(p)
		}
	}
}

// simulate runs one schedule.
func simulate(seed uint64, logf func(string, ...any)) *sim {
	rng := rand.New(rand.NewPCG(seed, 2))
	s := newSim(seed, choose(rng))
	s.logf = logf
	trouble, limit := 15*ps.Second, 150*ps.Second
	if rng.IntN(4) == 0 { // long stalls
		s.stall, s.wait = 60*ps.Second, 200*ps.Second
		trouble, limit = 40*ps.Second, 400*ps.Second
	}
	s.until = trouble
	s.after(trouble+s.stall+2*ps.Second, s.heal)
	s.weather(trouble)
	if rng.IntN(16) == 0 {
		s.wait = 300 * ps.Second // calls do not run out of time before
		s.after(ps.Time(rng.Int64N(int64(trouble))), s.desert)
	}
	if ended := s.run(limit); s.alone {
		s.verifyDeserted()
		return s
	} else if !ended {
		if len(s.errs) == 0 {
			s.fail("I7: the programs did not end: %s", s.where())
		}
		return s
	}
	s.calm = true
	s.heal()
	s.rest = s.now + 25*ps.Second // a view may be on its way to a disk that was slow
	s.run(s.now + 50*ps.Second)
	s.verify()
	return s
}

func (s *sim) where() string {
	out := ""
	for _, p := range s.worker {
		out += fmt.Sprintf("\n%s phase %d step %d dead %v alive %v:", p.node, p.prog.phase,
			p.prog.step, p.prog.dead, p.m != nil)
		for _, c := range p.prog.pending {
			out += fmt.Sprintf(" %s %d;", c.op, c.key)
		}
		if w, ok := p.m.(*worker.Worker); ok {
			out += fmt.Sprintf(" %+v", w.Stats())
		}
	}
	for _, p := range s.server {
		if srv, ok := p.m.(*server.Server); ok {
			out += fmt.Sprintf("\n%s/%d %+v", p.node, srv.Incarnation(), srv.Stats())
		}
	}
	return out + fmt.Sprintf("\n%+v", s.disk)
}

// verify checks what must hold when everything has come to rest.
func (s *sim) verify() {
	s.verifyCopies()
	s.verifyBalance()
	s.verifySpread()
	s.verifyMemory()
	switch s.cfg.load.kind {
	case rounds:
		s.verifyRounds()
	case single, counting:
		s.verifyCounts()
	case tables:
		s.verifyTables()
	}
}

// verifyTables checks I1 and I9 for rows: every step of every worker counts once.
func (s *sim) verifyTables() {
	for row := range 12 {
		b, _ := s.slice(0, row%s.cfg.shards)
		got := b[row/s.cfg.shards*4*s.cfg.workers*s.cfg.load.slots():]
		for r := range s.cfg.workers {
			for step := 1; step <= s.cfg.load.steps; step++ {
				want := float32(0)
				for _, x := range rowsOf(r, step) {
					if int(x) == row {
						want = 1
					}
				}
				if v := getFloat(got, r*s.cfg.load.slots()+step-1); v != want {
					s.fail("I1: step %d of worker %d counts %v times in row %d, want %v", step, r,
						v, row, want)
				}
			}
		}
	}
}

// verifyCopies checks I4.
func (s *sim) verifyCopies() {
	for i, sh := range s.disk.Shards {
		p, ok := s.server[sh.Primary.Server].m.(*server.Server)
		if !ok {
			s.fail("shard %d has no primary", i)
			continue
		}
		if s.cfg.replicas < 2 {
			continue
		}
		if sched, ok := s.sched.m.(*sched.Scheduler); ok && sched.Done() && !sh.InSync {
			continue // a job that is over lets nobody in
		}
		if !sh.InSync {
			s.fail("shard %d has no second copy again: %+v", i, sh)
			continue
		}
		b := s.server[sh.Backup.Server].m.(*server.Server)
		pi, psum, _ := p.Checksum(uint32(i))
		bi, bsum, ok := b.Checksum(uint32(i))
		if !ok || pi != bi || psum != bsum {
			s.fail("I4: shard %d: primary at %d with %#x, backup at %d with %#x (%v)", i, pi, psum,
				bi, bsum, ok)
		}
	}
}

// verifyBalance checks that primaries are spread as evenly as the copies allow.
func (s *sim) verifyBalance() {
	if sched, ok := s.sched.m.(*sched.Scheduler); !ok || sched.Done() || s.cfg.replicas < 2 {
		return
	}
	shards, n := make([]pairOf, len(s.disk.Shards)), make([]int, s.cfg.servers)
	for i, sh := range s.disk.Shards {
		if !sh.InSync {
			return
		}
		shards[i] = pairOf{int(sh.Primary.Server), int(sh.Backup.Server)}
		n[sh.Primary.Server]++
	}
	if most, least := bestSpread(s.cfg.servers, shards); slices.Max(n) != most ||
		slices.Min(n) != least {
		s.fail("servers lead %v shards at rest, want between %d and %d", n, least, most)
	}
}

// verifySpread checks that no server has two copies more than another one that could take one of
// its backups: a server that has come back gets copies.
func (s *sim) verifySpread() {
	if sched, ok := s.sched.m.(*sched.Scheduler); !ok || sched.Done() || s.cfg.replicas < 2 {
		return
	}
	n := make([]int, len(s.server))
	for _, sh := range s.disk.Shards {
		if !sh.InSync || !sh.Third.IsZero() {
			return
		}
		n[sh.Primary.Server]++
		n[sh.Backup.Server]++
	}
	for i, sh := range s.disk.Shards {
		for r, p := range s.server {
			if p.m != nil && !s.disk.Servers[r].Left && r != int(sh.Primary.Server) &&
				n[sh.Backup.Server] > n[r]+1 {
				s.fail("server %d has %d copies, server %d %d, and the backup of shard %d does "+
					"not move",
					sh.Backup.Server, n[sh.Backup.Server], r, n[r], i)
				return
			}
		}
	}
}

// verifyMemory checks I12: nothing is held when nothing goes on.
func (s *sim) verifyMemory() {
	for _, p := range s.server {
		if st := p.m.(*server.Server).Stats(); st.LogLength != 0 || st.Parked != 0 || st.Held != 0 {
			s.fail("I12: %s at rest: %+v", p.node, st)
		}
		if p.owners != 0 {
			s.fail("I12: %s keeps %d payloads at rest", p.node, p.owners)
		}
	}
	for _, p := range s.worker {
		w := p.m.(*worker.Worker)
		if st := w.Stats(); st.Flying != 0 || st.Calls > 1 || w.Lent() != 0 {
			s.fail("I12: %s at rest: %+v, %d lent", p.node, st, w.Lent())
		}
	}
}

// value returns a part of a key as primaries have it.
func (s *sim) value(key, part int) ([]byte, uint64) {
	if s.cfg.load.sparse {
		b, version := s.whole(key)
		size := 4 * s.cfg.load.elems(s.cfg.workers)
		return b[part*size : (part+1)*size], version
	}
	return s.slice(key, part)
}

// slice returns a key's slice as its primary has it.
func (s *sim) slice(key, slice int) ([]byte, uint64) {
	id := ps.ID{Key: uint32(key), Slice: uint16(slice)}
	sh := s.disk.Shards[ps.ShardOf(id, s.cfg.shards)]
	if srv, ok := s.server[sh.Primary.Server].m.(*server.Server); ok {
		if v, version, ok := srv.Value(id); ok {
			return v, version
		}
	}
	s.fail("key %d slice %d is nowhere", key, slice)
	return make([]byte, 4*s.cfg.load.elems(s.cfg.workers)), 0
}

// verifyRounds checks I6 and I8: the result is that of an undisturbed run, bit for bit.
func (s *sim) verifyRounds() {
	l := s.cfg.load
	want := l.expected(s.cfg.workers, l.steps)
	size := 4 * l.elems(s.cfg.workers)
	for k := range l.keys {
		for sl := range l.slices {
			got, version := s.value(k, sl)
			if version != uint64(l.steps) {
				s.fail("key %d slice %d is at version %d, want %d", k, sl, version, l.steps)
			}
			if !bytes.Equal(got, want[k][sl*size:(sl+1)*size]) {
				s.fail("I6: key %d slice %d differs from the undisturbed run", k, sl)
			}
		}
	}
	if s.manif != nil {
		s.verifySnapshot()
	}
}

// verifyCounts checks I1, I2 and I9: acknowledged pushes count once, others at most once.
func (s *sim) verifyCounts() {
	l := s.cfg.load
	for k := range l.keys {
		for sl := range l.slices {
			got, _ := s.value(k, sl)
			for r, p := range s.worker {
				for slot := range l.slots() {
					v := getFloat(got, r*l.slots()+slot)
					x := p.prog.pushes[[2]int{k, slot}]
					switch {
					case v != 0 && v != 1, x == nil && v != 0:
						s.fail("I1: push %d of worker %d to key %d slice %d counts %v times", slot,
							r, k, sl, v)
					case x != nil && x.ended && x.err == nil && x.outcome == wire.Applied && v != 1:
						s.fail("I1: push %d of worker %d to key %d slice %d was acknowledged "+
							"and is lost", slot, r, k, sl)
					case l.kind == single && slot < l.steps && v != 1:
						s.fail("I9: push %d of worker %d to key %d slice %d was skipped", slot, r,
							k, sl)
					}
				}
			}
		}
	}
}

// verifySnapshot checks I10: a job that continues from the snapshot has the state of that clock.
func (s *sim) verifySnapshot() {
	l := s.cfg.load
	cfg := s.cfg
	cfg.restore = map[uint32][]byte{}
	for _, f := range s.manif.Files {
		cfg.restore[f.Shard] = s.saves[f.Name]
		b := s.saves[f.Name]
		if sum := wire.Checksum(b[:len(b)-4]); sum != f.Checksum {
			s.fail("I10: part of shard %d of the snapshot has checksum %#x, the manifest says %#x",
				f.Shard, sum, f.Checksum)
		}
	}
	again := newSim(s.seed+1, cfg)
	for _, p := range again.worker {
		p.prog.stop = l.snap // only to look
	}
	if len(s.manif.Files) != cfg.shards || s.manif.Clock != uint64(l.snap) {
		s.fail("I10: manifest %+v of a snapshot at clock %d", s.manif, l.snap)
	}
	if !again.run(20 * ps.Second) {
		s.fail("I10: a job from a snapshot does not start: %v %s", again.errs, again.where())
		return
	}
	want := l.expected(s.cfg.workers, l.snap)
	for k := range l.keys {
		size := 4 * l.elems(s.cfg.workers)
		for sl := range l.slices {
			got, version := again.value(k, sl)
			if version != uint64(l.snap) || !bytes.Equal(got, want[k][sl*size:(sl+1)*size]) {
				s.fail("I10: key %d slice %d of the snapshot is at version %d, want %d, or differs",
					k, sl, version, l.snap)
			}
		}
	}
	s.errs = append(s.errs, again.errs...)
}

func TestSchedules(t *testing.T) {
	var logf func(string, ...any)
	if *verbose {
		logf = t.Logf
	}
	failed := 0
	for i := range *schedules {
		s := simulate(*firstSeed+uint64(i), logf)
		s.report(t)
		if len(s.errs) > 0 {
			failed++
		}
		if failed == 3 {
			return // more of the same
		}
	}
}
