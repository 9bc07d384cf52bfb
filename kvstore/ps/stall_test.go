package ps_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

var deserted = flag.Int("deserted", 8, "how many runs lose their scheduler for good")

// calmSim is a job in rounds without trouble.
func calmSim(seed uint64, servers, replicas, steps int) *sim {
	load := workload{kind: rounds, steps: steps, keys: 2, slices: 2}
	s := newSim(seed, simConfig{
		servers: servers, workers: 2, shards: servers, replicas: replicas,
		staleness: worker.Unbounded,
		window:    64,
		slice:     uint64(4 * load.elems(2)), think: ps.Second, load: load,
	})
	s.wait = 300 * ps.Second
	return s
}

// finish lets a run end and verifies it.
func (s *sim) finish(t *testing.T) {
	t.Helper()
	if !s.run(s.now+400*ps.Second) && len(s.errs) == 0 {
		s.fail("the programs did not end: %s", s.where())
	}
	if len(s.errs) == 0 {
		s.calm = true
		s.heal()
		s.rest = s.now + 12*ps.Second
		s.run(s.now + 30*ps.Second)
		s.verify()
	}
	s.report(t)
}

// TestADeadServerAndAStalledScheduler kills a server, whose last heartbeats wait with the
// scheduler, which stands still for longer than Dead: the copies of the other one must be the ones
// that go on, whichever of the two died and however long it takes.
func TestADeadServerAndAStalledScheduler(t *testing.T) {
	for seed := range uint64(60) {
		s := calmSim(seed, 2, 2, 60)
		rng := rand.New(rand.NewPCG(seed, 9))
		victim := s.server[rng.IntN(2)]
		s.after(2*ps.Second, func() {
			s.pause(s.sched, ps.Time(4+rng.IntN(56))*ps.Second)
			s.after(ps.Time(rng.Int64N(int64(600*ps.Millisecond))), func() {
				s.note("kill %s", victim.node)
				s.killAndBoot(victim, ps.Time(rng.Int64N(int64(70*ps.Second))))
			})
		})
		s.finish(t)
		if t.Failed() {
			return
		}
	}
}

// TestWhatStandsStillIsWaitedFor stops the scheduler, or all copies of shards, for 90 s: the job
// goes on.
func TestWhatStandsStillIsWaitedFor(t *testing.T) {
	for name, who := range map[string]func(s *sim) []*process{
		"scheduler":         func(s *sim) []*process { return []*process{s.sched} },
		"all servers":       func(s *sim) []*process { return s.server },
		"scheduler, server": func(s *sim) []*process { return []*process{s.sched, s.server[0]} },
		"workers":           func(s *sim) []*process { return s.worker },
	} {
		t.Run(name, func(t *testing.T) {
			s := calmSim(5, 2, 2, 500)
			s.after(3*ps.Second, func() {
				for _, p := range who(s) {
					s.pause(p, 90*ps.Second)
				}
			})
			s.finish(t)
		})
	}
}

// TestTheSchedulerIsGoneForGood kills the scheduler at some moment: every process gives up within
// 120 s, and says why.
func TestTheSchedulerIsGoneForGood(t *testing.T) {
	for seed := range uint64(*deserted) {
		s := calmSim(seed, 2, 2, 600)
		when := ps.Time(rand.New(rand.NewPCG(seed, 4)).Int64N(int64(10 * ps.Second)))
		s.after(when, func() {
			s.alone = true
			s.kill(s.sched)
		})
		s.run(when + 120*ps.Second)
		for _, p := range append(append([]*process{}, s.server...), s.worker...) {
			if err := s.ends[p.node]; !errors.Is(err, ps.ErrNoScheduler) ||
				!strings.Contains(err.Error(), "said nothing for 1") {
				t.Errorf("seed %d: %s ends with %v, want %v", seed, p.node, err, ps.ErrNoScheduler)
			}
		}
		s.report(t)
	}
}

// TestTheLastCopyIsGone kills the only server of some shards, and the two servers of others: calls
// end with an error that names the shards, soon when a successor says that the process is dead, and
// after a while when nobody does.
func TestTheLastCopyIsGone(t *testing.T) {
	for _, c := range []struct {
		name    string
		back    ps.Time
		atMost  ps.Time
		atLeast ps.Time
	}{{"a successor", ps.Second, 30 * ps.Second, 0}, {"silence", 1000 * ps.Second, 110 * ps.Second,
		90 * ps.Second}} {
		n, list := newNet(t, 2, 1, 1, worker.KeySpec{Total: 64}, nil)
		shard := ps.ShardOf(ps.ID{Key: 1}, 2)
		node := wire.Node{Role: wire.Server, Rank: uint16(shard)}
		delete(n.machines, node)
		n.order = append(n.order[:1+shard], n.order[2+shard:]...)
		began := n.now
		push(t, n, list[0], n.now+1000*ps.Second)
		for len(n.done) == 0 && n.now-began < 200*ps.Second {
			if n.machines[node] == nil && n.now-began >= c.back {
				s, err := server.New(server.Config{Job: job, Rank: node.Rank, Nonce: 77,
					Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				n.machines[node], n.order = s, append(n.order, node)
			}
			n.pass(ps.Second)
		}
		took := n.now - began
		if len(n.done) == 0 || !errors.Is(n.done[0].Err, ps.ErrLost) ||
			!strings.Contains(n.done[0].Err.Error(), "numbers "+string(rune('0'+shard))) {
			t.Errorf("%s: got %+v after %.0f s, want %v with shard %d", c.name, n.done,
				float64(took)/1e9, ps.ErrLost, shard)
		}
		if took > c.atMost || took < c.atLeast {
			t.Errorf("%s: it takes %.0f s", c.name, float64(took)/1e9)
		}
	}
}

// TestAPromotedServerDiesAtOnce lets a server stand still until the other one leads all shards
// alone, and kills that one before it commits anything. From its promotion on nobody can know that
// it has acknowledged nothing, so the copies of the first, which is back, are not taken for the
// truth: calls end with an error that names the shards.
func TestAPromotedServerDiesAtOnce(t *testing.T) {
	n, list := newNet(t, 2, 1, 2, worker.KeySpec{Total: 64}, nil)
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return from == leader ||
			to == leader
	}
	for list[0].View().Shards[0].Primary.Server == 0 {
		n.pass(10 * ps.Millisecond)
	}
	n.lose = nil
	s, err := server.New(server.Config{Job: job, Rank: follower.Rank, Nonce: 77, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	n.machines[follower] = s
	push(t, n, list[0], n.now+1000*ps.Second)
	n.pass(30 * ps.Second)
	if len(n.done) != 1 || !errors.Is(n.done[0].Err, ps.ErrLost) ||
		!strings.Contains(n.done[0].Err.Error(), "2 of 2, numbers 0, 1") {
		t.Errorf("got %+v, want %v with shards 0 and 1", n.done, ps.ErrLost)
	}
}

// lone is a scheduler of two servers and one worker that is driven by hand: view N of both servers'
// shards is durable.
type lone struct {
	s   *sched.Scheduler
	now ps.Time
}

func newLone(t *testing.T) *lone {
	t.Helper()
	b := newBalanced(t, 2, []pairOf{{0, 1}, {1, 0}})
	l := &lone{s: b.s}
	l.pass(2*ps.Second, 0, 1)
	return l
}

// beat lets a server say that it knows a view.
func (l *lone) beat(server int, view uint64) {
	member := l.s.View().Servers[server]
	m := heartbeat(view)
	m.From, m.Incarnation = member.Node, member.Incarnation
	l.s.Handle(l.now, member.Node, &m)
	durable(l.s, l.now)
}

// pass lets time pass, in which some servers are heard of.
func (l *lone) pass(d ps.Time, servers ...int) {
	for end := l.now + d; l.now < end; {
		l.now += 100 * ps.Millisecond
		for _, i := range servers {
			l.beat(i, l.s.View().Number)
		}
		l.s.Tick(l.now)
		durable(l.s, l.now)
	}
}

// TestNothingIsGivenUpWithoutAConfirmation wants copies of a silent server to be kept until the
// other one has named the view by which it was given up: heartbeats of old, of either, change
// nothing.
func TestNothingIsGivenUpWithoutAConfirmation(t *testing.T) {
	l := newLone(t)
	before := l.s.View().Number
	l.now += 30 * ps.Second // it stands still
	l.s.Tick(l.now)
	durable(l.s, l.now)
	if !l.s.View().Servers[0].Alive || !l.s.View().Servers[1].Alive {
		t.Fatal("the first tick after a stall gives servers up")
	}
	for range 60 { // heartbeats of server 0 that waited in a queue
		l.now += 100 * ps.Millisecond
		l.beat(0, before)
		l.s.Tick(l.now)
		durable(l.s, l.now)
	}
	v := l.s.View()
	if v.Servers[1].Alive {
		t.Fatal("server 1 is not given up")
	}
	for i, sh := range v.Shards {
		if sh.Backup.IsZero() || sh.Epoch != 1 {
			t.Errorf("shard %d loses a copy for the sake of a server that does not know why: %+v",
				i, sh)
		}
	}
	l.beat(1, before)
	if l.s.View().Servers[1].Alive {
		t.Error("a heartbeat of old brings a server back")
	}
	l.beat(0, l.s.View().Number)
	for i, sh := range l.s.View().Shards {
		if sh.Primary.Server != 0 || sh.Lost {
			t.Errorf("shard %d is not led by the server that confirmed: %+v", i, sh)
		}
	}
}

// TestSlowDiskKeepsShards lets a promotion be written for long: nobody has heard of it when the
// promoted server turns out to be dead and the other one comes back, which has everything.
func TestSlowDiskKeepsShards(t *testing.T) {
	l := newLone(t)
	l.pass(4*ps.Second, 0) // server 1 is given up, and dropped from all shards
	l = newLone(t)
	for l.s.View().Servers[1].Alive {
		l.now += 100 * ps.Millisecond
		l.beat(0, l.s.View().Number)
		l.s.Tick(l.now)
		if l.s.View().Servers[1].Alive {
			durable(l.s, l.now)
		}
	}
	// Server 0 confirms: the view without server 1's copies is being written.
	m := heartbeat(l.s.View().Number)
	m.From, m.Incarnation = l.s.View().Servers[0].Node, 2
	l.s.Handle(l.now, m.From, &m)
	slow := l.s.Out().View
	if slow == nil || slow.Shards[1].Primary.Server != 0 {
		t.Fatalf("no view is written that promotes server 0: %+v", slow)
	}
	l.s.Out().Reset()
	back := heartbeat(l.s.View().Number)
	back.From, back.Incarnation = l.s.View().Servers[1].Node, 3
	for range 20 {
		l.now += 100 * ps.Millisecond
		l.s.Handle(l.now, back.From, &back)
		l.s.Tick(l.now)
		l.s.Out().Reset()
	}
	hello := wire.Hello{Nonce: 99, Rank: 0}
	l.s.Handle(l.now, m.From, &wire.Message{Type: wire.TypeHello, Job: job, From: m.From,
		Payload: hello.Append(nil)})
	l.s.Out().Reset()
	l.s.Persisted(l.now, slow.Number)
	if l.s.View().Number == slow.Number {
		t.Error("a view is told that gives server 1 up, when server 1 has been called back")
	}
	durable(l.s, l.now)
	for i, sh := range l.s.View().Shards {
		if sh.Lost || sh.Primary.Server != 1 {
			t.Errorf("shard %d is given up though server 1 has it: %+v", i, sh)
		}
	}
}
