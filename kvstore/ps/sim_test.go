package ps_test

import (
	"bytes"
	"container/heap"
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

// The simulation runs a whole job in virtual time: every delivery, tick and fault is an event in
// one queue, and one seed decides everything.

const job = 0x6a6f62

// machine is what the simulation drives: a scheduler, server or worker.
type machine interface {
	Handle(now ps.Time, from wire.Node, m *wire.Message)
	Tick(now ps.Time)
	Out() *ps.Outbox
}

// process is a place in the job and the machine that holds it now.
type process struct {
	node    wire.Node
	m       machine
	gen     int // counts machines
	nonce   uint64
	pausedU ps.Time
	backlog []*delivery
	lent    []*delivery // messages on their way that refer to the machine's memory
	owners  int         // payloads that the machine keeps
	prog    *program    // of a worker
	deaf    bool        // a scheduler that is cut off
}

// delivery is a message on its way.
type delivery struct {
	from, to wire.Node
	target   *process // of a message to the scheduler: the one that the sender knows
	header   []byte
	payload  []byte // what the sender lent or a copy
	sum      uint32 // of the payload when it was sent
	lent     *ps.Loan
	gen      int // of the sender, whose buffer it is
	twin     bool
	lost     bool // with its connection
}

// event is something that happens at a time.
type event struct {
	at  ps.Time
	seq int
	do  func()
}

type eventQueue []event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *eventQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// sim is one run.
type sim struct {
	rng      *rand.Rand
	seed     uint64
	now      ps.Time
	queue    eventQueue
	seq      int
	sched    *process
	server   []*process
	worker   []*process
	cut      map[[2]wire.Node]bool
	last     map[[2]wire.Node]ps.Time // of ordered links
	loss     float64
	twice    float64
	single   bool // batches are sent in pieces
	order    bool // links keep the order of messages
	slow     ps.Time
	disk     *wire.View
	slowDisk ps.Time // how long a write may take, 0: a moment
	crash    int     // 1: the scheduler dies before its next view is durable, 2: after
	cfg      simConfig
	nonces   uint64
	leads    map[[2]uint64]wire.Replica // (shard, epoch) to who committed
	tops     map[[3]uint64]uint64
	logf     func(string, ...any)
	faults   []string
	errs     []string
	saves    map[string][]byte
	manif    *wire.Manifest
	steps    int
	swaps    int
	recalls  int                   // connections that were dropped
	late     int                   // pushes and pulls whose deadline has passed
	ill      map[wire.Node]ps.Time // until when a node may have been cut off
	calm     bool                  // no more trouble
	rest     ps.Time               // when a run that is over has come to rest
	wait     ps.Time               // deadline of calls: no single fault lasts so long
	stall    ps.Time               // how long a process may stand still
	until    ps.Time               // when trouble ends
	alone    bool                  // the scheduler is gone for good
	ends     map[wire.Node]error   // why machines have given up then
	hung     map[wire.Node]ps.Time // until when a node has no connection to the scheduler
	office
}

// simConfig is what a run is about.
type simConfig struct {
	servers, workers, shards, replicas int
	policy                             ps.Policy
	staleness                          int
	backups                            int
	window                             int
	credit                             int
	slice                              uint64
	updater                            func(uint32) server.Updater
	load                               workload
	think                              ps.Time // how long workers compute, at most
	restore                            map[uint32][]byte
}

func newSim(seed uint64, cfg simConfig) *sim {
	s := &sim{
		rng: rand.New(rand.NewPCG(seed, 1)), seed: seed, cfg: cfg, cut: map[[2]wire.Node]bool{},
		ill: map[wire.Node]ps.Time{}, last: map[[2]wire.Node]ps.Time{},
		order: true, slow: ps.Millisecond, wait: 60 * ps.Second, stall: 6 * ps.Second,
		ends: map[wire.Node]error{}, hung: map[wire.Node]ps.Time{},
		leads: map[[2]uint64]wire.Replica{}, tops: map[[3]uint64]uint64{},
		saves: map[string][]byte{},
	}
	s.boss = map[wire.Node]*process{}
	s.sched = &process{node: wire.Node{Role: wire.Scheduler}}
	s.boot(s.sched)
	for i := range cfg.servers {
		p := &process{node: wire.Node{Role: wire.Server, Rank: uint16(i)}}
		s.server = append(s.server, p)
		s.boot(p)
	}
	for i := range cfg.workers {
		p := &process{node: wire.Node{Role: wire.Worker, Rank: uint16(i)}, prog: &program{sim: s,
			rank: i, load: cfg.load, stop: cfg.load.steps}}
		s.worker = append(s.worker, p)
		s.boot(p)
	}
	return s
}

func (s *sim) fail(format string, args ...any) {
	if len(s.errs) < 20 {
		s.errs = append(s.errs, fmt.Sprintf("%.3fs: ", float64(s.now)/1e9)+fmt.Sprintf(format,
			args...))
	}
}

// boot starts a new machine in a place.
func (s *sim) boot(p *process) {
	if p == s.sched && s.alone || s.rival(p) {
		return // it is gone for good
	}
	s.boss[p.node] = s.sched
	p.gen++
	s.nonces++
	p.nonce = s.nonces
	p.pausedU, p.backlog, p.lent, p.owners = 0, nil, nil, 0
	delete(s.hung, p.node)
	var err error
	switch p.node.Role {
	case wire.Scheduler:
		s.term++
		p.m, err = sched.New(sched.Config{
			Term: s.term, Job: job, Servers: s.cfg.servers, Workers: s.cfg.workers,
			Shards:   s.cfg.shards,
			Replicas: s.cfg.replicas,
			Policy:   s.cfg.policy, View: s.disk,
		})
	case wire.Server:
		p.m, err = server.New(server.Config{
			Job: job, Rank: p.node.Rank, Nonce: s.nonces, Workers: s.cfg.workers,
			Policy: s.cfg.policy, Backups: s.cfg.backups,
			Window: s.cfg.window, Credit: s.cfg.credit, CheckEvery: 4, Updater: s.cfg.updater,
			Restore: func(shard uint32) *wire.Source {
				if s.cfg.restore[shard] == nil {
					return nil
				}
				return wire.SourceOf(s.cfg.restore[shard])
			},
		})
	case wire.Worker:
		var w *worker.Worker
		w, err = worker.New(worker.Config{
			Job: job, Rank: p.node.Rank, Nonce: s.nonces, Workers: s.cfg.workers,
			Policy: s.cfg.policy, Staleness: s.cfg.staleness, Backups: s.cfg.backups,
			Window: s.cfg.window, Credit: s.cfg.credit, SliceSize: s.cfg.slice,
		})
		p.m = w
		if err == nil {
			p.prog.start(w)
		}
	}
	if err != nil {
		panic(err)
	}
	gen := p.gen
	s.after(ps.Time(s.rng.Int64N(int64(20*ps.Millisecond))), func() { s.tick(p, gen) })
}

// kill ends a machine. What it lent to the network goes with it.
func (s *sim) kill(p *process) {
	p.m = nil
	p.gen++
	list := p.backlog
	p.backlog = nil
	for _, d := range list {
		s.giveBack(d)
	}
}

func (s *sim) after(d ps.Time, do func()) {
	s.seq++
	heap.Push(&s.queue, event{s.now + d, s.seq, do})
}

const tickEvery = 50 * ps.Millisecond

func (s *sim) tick(p *process, gen int) {
	if p.gen != gen || p.m == nil {
		return
	}
	s.after(tickEvery, func() { s.tick(p, gen) })
	if s.now < p.pausedU {
		return
	}
	if len(p.backlog) > 0 {
		list := p.backlog
		p.backlog = nil
		for _, d := range list {
			s.deliver(d)
			if p.gen != gen {
				return
			}
		}
	}
	p.m.Tick(s.now)
	s.drain(p)
}

func (s *sim) find(n wire.Node) *process {
	switch {
	case n.Role == wire.Scheduler:
		return s.sched
	case n.Role == wire.Server && int(n.Rank) < len(s.server):
		return s.server[n.Rank]
	case n.Role == wire.Worker && int(n.Rank) < len(s.worker):
		return s.worker[n.Rank]
	}
	return nil
}

// drain carries out what a machine wants done.
func (s *sim) drain(p *process) {
	for rounds := 0; p.m != nil; rounds++ {
		if p.prog != nil {
			p.prog.run()
		}
		out := p.m.Out()
		if out.Empty() {
			return
		}
		if rounds > 1000 {
			s.fail("%s never comes to rest", p.node)
			return
		}
		if out.View != nil {
			s.write(p, out.View)
		}
		if out.Manifest != nil {
			s.record(p, out.Manifest)
		}
		if out.Fatal != nil && s.rival(p) {
			s.kill(p)
			return
		}
		if out.Fatal != nil {
			s.ends[p.node] = out.Fatal
		}
		if out.Fatal != nil && !s.alone {
			s.fail("%s gives up: %v", p.node, out.Fatal)
		}
		for i := range out.Sends {
			s.split(p, &out.Sends[i])
		}
		for _, n := range out.Recall {
			s.recalls++
			s.recall(p, n)
		}
		saves := append([]ps.Save(nil), out.Saves...)
		for _, e := range out.Events {
			if s.logf != nil {
				s.logf("%.3f %s: event %d %s shard %d epoch %d %s", float64(s.now)/1e9, p.node,
					e.Kind, e.Node, e.Shard, e.Epoch, e.Text)
			}
			switch e.Kind {
			case ps.EventDiverged, ps.EventLost, ps.EventRefused, ps.EventViewFailed:
				if s.rival(p) {
					continue // it may believe anything
				}
				s.fail("%s reports event %d about %s shard %d: %s", p.node, e.Kind, e.Node, e.Shard,
					e.Text)
			}
		}
		done := append([]ps.Done(nil), out.Done...)
		out.Reset()
		for _, d := range done {
			p.prog.ended(d)
		}
		for i := range saves {
			name := fmt.Sprintf("shard-%d of %s/%d in epoch %d, try %d", saves[i].Shard, p.node, p.gen,
				saves[i].Epoch, saves[i].Try)
			s.saves[name] = saves[i].Data
			s.save(p, &saves[i], name)
		}
		s.observe(p)
		if w, ok := p.m.(*worker.Worker); ok {
			if err := w.Audit(); err != nil {
				s.fail("%s: %v", p.node, err)
			}
		}
	}
}

// save writes a part of a snapshot, piece by piece while other things happen.
func (s *sim) save(p *process, x *ps.Save, name string) {
	srv, gen := p.m.(*server.Server), p.gen
	piece, err := x.Rest()
	switch {
	case err != nil:
		srv.SaveFailed(x)
	case len(piece) == 0:
		srv.Saved(x, name)
	default:
		s.saves[name] = append(s.saves[name], piece...)
		s.after(s.diskTakes(), func() {
			if p.gen == gen && p.m != nil {
				s.whenAwake(p, func() { s.save(p, x, name) })
			}
		})
	}
}

// diskTakes is how long a write takes: a moment, or long while the disk is slow.
func (s *sim) diskTakes() ps.Time {
	if s.slowDisk > 0 {
		return ps.Time(s.rng.Int64N(int64(s.slowDisk)))
	}
	return ps.Time(s.rng.Int64N(int64(5 * ps.Millisecond)))
}

// write makes a scheduler's view durable, unless the scheduler dies before.
func (s *sim) write(p *process, v *wire.View) {
	gen := p.gen
	s.after(s.diskTakes(), func() {
		if p.gen != gen || p.m == nil || s.rival(p) {
			return // the store refuses a rival, which learns it later
		}
		if s.crash == 1 {
			s.crash = 0
			s.kill(p)
			return
		}
		s.checkView(v)
		s.disk = v
		if s.crash == 2 {
			s.crash = 0
			s.kill(p)
			return
		}
		s.whenAwake(p, func() { p.m.(*sched.Scheduler).Persisted(s.now, v.Number) })
	})
}

// record makes a snapshot's manifest durable.
func (s *sim) record(p *process, m *wire.Manifest) {
	gen := p.gen
	s.after(s.diskTakes(), func() {
		if p.gen != gen || p.m == nil {
			return
		}
		if !s.rival(p) {
			s.manif = m
		}
		s.whenAwake(p, func() { p.m.(*sched.Scheduler).Recorded(s.now, m.Clock, nil) })
	})
}

// whenAwake does something with a process's machine when the process does not stand still.
func (s *sim) whenAwake(p *process, do func()) {
	gen := p.gen
	if s.now >= p.pausedU {
		do()
		s.drain(p)
		return
	}
	s.after(tickEvery, func() {
		if p.gen == gen && p.m != nil {
			s.whenAwake(p, do)
		}
	})
}

// checkView checks I14 and the order of epochs on what becomes durable.
func (s *sim) checkView(v *wire.View) {
	if s.disk == nil {
		return
	}
	if v.Number <= s.disk.Number {
		s.fail("view %d follows view %d", v.Number, s.disk.Number)
	}
	for i := range s.disk.Shards {
		a, b := s.disk.Shards[i], v.Shards[i]
		if b.Epoch < a.Epoch || b.Primary != a.Primary && b.Epoch == a.Epoch {
			s.fail("shard %d: epoch %d of %v follows %d of %v", i, b.Epoch, b.Primary, a.Epoch,
				a.Primary)
		}
		if b.Primary == a.Primary {
			continue
		}
		// It may have come in sync, or taken the place of the backup, while the view before was being
		// written.
		srv, ok := s.server[b.Primary.Server].m.(*server.Server)
		whole := true
		if ok && srv.Incarnation() == b.Primary.Incarnation { // otherwise nobody can tell any more
			_, follows := srv.Follows(i)
			whole = a.InSync && b.Primary == a.Backup || follows
		}
		if b.Primary != a.Backup && b.Primary != a.Third || !whole {
			s.fail("shard %d: %v is promoted, which was not in sync", i, b.Primary)
		}
	}
}

// observe checks I3: at most one server commits to a shard in an epoch, and commits only grow.
func (s *sim) observe(p *process) {
	srv, ok := p.m.(*server.Server)
	if !ok {
		return
	}
	me := wire.Replica{Server: p.node.Rank, Incarnation: srv.Incarnation()}
	for i := range s.cfg.shards {
		epoch, commit, ok := srv.Leads(i)
		if !ok {
			continue
		}
		key := [3]uint64{uint64(i), epoch, uint64(me.Server)<<32 | uint64(me.Incarnation)}
		before, seen := s.tops[key]
		s.tops[key] = commit
		if !seen {
			continue
		}
		if commit < before {
			s.fail("%s takes back commits of shard %d", p.node, i)
		}
		if commit > before {
			who := [2]uint64{uint64(i), epoch}
			if other, taken := s.leads[who]; taken && other != me {
				s.fail("I3: %v and %v both commit to shard %d in epoch %d", other, me, i, epoch)
			}
			s.leads[who] = me
		}
	}
}

// split sends the items of a batch one by one in runs without batches.
func (s *sim) split(p *process, x *ps.Send) {
	if x.Msg.Type != wire.TypeBatch || !s.single {
		s.transmit(p, x)
		return
	}
	items := x.Msg.Items()
	for {
		one := ps.Send{To: x.To}
		ok, err := items.Next(&one.Msg)
		if err != nil {
			s.fail("%s sends a batch that cannot be read: %v", p.node, err)
		}
		if !ok {
			return
		}
		s.transmit(p, &one)
	}
}

// transmit puts a message on its way, perhaps twice, perhaps not at all.
func (s *sim) transmit(p *process, x *ps.Send) {
	if x.Msg.From != p.node {
		s.fail("%s sends as %s", p.node, x.Msg.From)
	}
	d := &delivery{from: p.node, to: x.To, header: x.Msg.AppendHeader(nil), payload: x.Msg.Payload,
		lent: x.Hold, gen: p.gen}
	if x.Hold == nil {
		d.payload = bytes.Clone(x.Msg.Payload)
	}
	d.sum = wire.Checksum(d.payload)
	if d.to == s.sched.node {
		d.target = s.boss[p.node]
	}
	lossy := s.rng.Float64() < s.loss
	if p.deaf || d.target != nil && d.target.deaf {
		s.giveBack(d)
		return
	}
	if s.unconnected(p, d) {
		s.giveBack(d)
		return
	}
	if s.cut[[2]wire.Node{p.node, x.To}] || lossy {
		s.giveBack(d)
		return
	}
	delay := ps.Time(s.rng.Int64N(int64(s.slow))) + 50*ps.Millisecond/1000
	if s.rng.IntN(100) == 0 {
		delay *= 20
	}
	at := s.now + delay + s.lateOfRivals(p)
	if s.between(p, d) {
		late, arrives := s.fate()
		if !arrives {
			s.giveBack(d)
			return
		}
		at += late
	}
	if link := [2]wire.Node{p.node, x.To}; s.order && !s.rival(p) {
		at = max(at, s.last[link])
		s.last[link] = at
	}
	if d.lent != nil {
		p.lent = append(p.lent, d)
	}
	s.after(at-s.now, func() { s.deliver(d) })
	if s.rng.Float64() < s.twice {
		t := *d
		t.twin, t.lent, t.payload = true, nil, bytes.Clone(d.payload)
		s.after(at-s.now+ps.Time(s.rng.Int64N(int64(50*s.slow))), func() { s.deliver(&t) })
	}
}

// unconnected reports whether a message cannot be sent for want of a connection between a process
// and the scheduler, which is told: one that is dead has none.
func (s *sim) unconnected(from *process, d *delivery) bool {
	sched, ok := from.m.(*sched.Scheduler)
	if p := s.find(d.to); ok && p != nil &&
		(p.m == nil || s.hung[d.to] > s.now || s.boss[d.to] != from && s.rng.IntN(2) == 0) {
		sched.Unreachable(d.to)
		return true
	}
	return d.to == s.sched.node && s.hung[d.from] > s.now
}

// recallTakes is how long it takes at most until a connection that is dropped reads no memory any
// more.
const recallTakes = 200 * ps.Millisecond

// recall drops a process's connection to a node, which takes a moment: what is on its way may just
// arrive.
func (s *sim) recall(p *process, to wire.Node) {
	for _, d := range p.lent {
		if d.to != to || d.lost {
			continue
		}
		gen := p.gen
		s.after(ps.Time(s.rng.Int64N(int64(recallTakes))), func() {
			if d.lent == nil || d.lost || p.gen != gen {
				return
			}
			d.lost = true
			s.giveBack(d)
			s.drain(p)
		})
	}
}

// giveBack returns a lent buffer to its machine.
func (s *sim) giveBack(d *delivery) {
	if d.lent == nil {
		return
	}
	p := s.find(d.from)
	if p.m == nil || p.gen != d.gen {
		return
	}
	p.lent = slices.DeleteFunc(p.lent, func(x *delivery) bool { return x == d })
	defer func() { d.lent = nil }()
	switch m := p.m.(type) {
	case *server.Server:
		m.Release(d.lent)
	case *worker.Worker:
		m.Release(d.lent)
	}
}

func (s *sim) deliver(d *delivery) {
	if d.lost {
		return
	}
	p := s.find(d.to)
	if d.target != nil {
		p = d.target
	}
	if p == nil || p.m == nil {
		s.giveBack(d)
		return
	}
	if s.now < p.pausedU {
		p.backlog = append(p.backlog, d)
		return
	}
	sender := s.find(d.from)
	if d.lent != nil && sender.gen == d.gen && wire.Checksum(d.payload) != d.sum {
		s.fail("the payload of a message from %s changed on the way", d.from)
	}
	var m wire.Message
	if err := wire.Decode(d.header, bytes.Clone(d.payload), &m); err != nil {
		s.fail("%s to %s: %v", d.from, d.to, err)
	} else {
		if s.logf != nil && m.Type != wire.TypeHeartbeat && m.Type != wire.TypeView {
			s.logf("%.3f -> %s: %s", float64(s.now)/1e9, p.node, &m)
			items := m.Items()
			var it wire.Message
			for m.Type == wire.TypeBatch {
				if ok, _ := items.Next(&it); !ok {
					break
				}
				s.logf("        %s", &it)
			}
		}
		if s.rng.IntN(4) == 0 {
			p.owners++
			m.Owner = &owner{s, p.node, p.gen}
		}
		p.m.Handle(s.now, d.from, &m)
		if m.Owner != nil {
			m.Owner.Release() // nobody took it
		}
	}
	s.giveBack(d)
	s.drain(p)
}

// owner stands for a transport's memory.
type owner struct {
	sim  *sim
	node wire.Node
	gen  int
}

func (o *owner) Release() {
	if o.sim == nil {
		panic("a payload is released twice")
	}
	if o.sim.find(o.node).gen == o.gen {
		o.sim.find(o.node).owners--
	}
	o.sim = nil
}

// run lets events happen until every program is done, or time is up.
func (s *sim) run(limit ps.Time) bool {
	for len(s.queue) > 0 {
		e := heap.Pop(&s.queue).(event)
		s.now = e.at
		s.steps++
		if s.now > limit || len(s.errs) > 10 {
			return false
		}
		e.do()
		if s.calm && s.rest > 0 && s.now > s.rest {
			return true
		}
		if !s.calm && s.steps%16 == 0 && s.finished() {
			return true
		}
	}
	return false
}

func (s *sim) finished() bool {
	for _, p := range s.worker {
		if !p.prog.finished {
			return false
		}
	}
	return true
}

func (s *sim) report(t *testing.T) {
	t.Helper()
	if len(s.errs) == 0 {
		return
	}
	c := s.cfg
	t.Errorf("seed %d, %d servers, %d workers, %d shards, %d copies, policy %s, staleness %d, "+
		"%d backup workers, %+v\nfaults: %v",
		s.seed, c.servers, c.workers, c.shards, c.replicas, c.policy, c.staleness, c.backups,
		c.load, s.faults)
	for _, e := range s.errs {
		t.Log(e)
	}
}
