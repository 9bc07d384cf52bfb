package sched

import (
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// TestSilentNodesAreGivenUp lets nodes be silent for Dead and for a moment longer.
func TestSilentNodesAreGivenUp(t *testing.T) {
	for _, n := range []wire.Node{srv(1), wkr(0)} {
		d := newDrill(t, Config{Servers: 2, Workers: 1, Replicas: 2})
		me := d.view.Member(n)
		d.beat(n)
		d.pass(d.cfg.Timing.Dead, n)
		d.flush()
		if !me.Alive {
			t.Fatalf("%s is given up after Dead", n)
		}
		number := d.view.Number
		d.pass(1, n)
		_, events := d.flush()
		if me.Alive || events[0].Kind != ps.EventDead || events[0].Node != n {
			t.Errorf("%s is not given up behind Dead: %+v", n, events)
		}
		if proof := d.proof > 0; proof != (n.Role == wire.Server) {
			t.Errorf("%s: servers are to name view %d", n, d.proof)
		}
		if d.told.Number == number || d.buried[n] != number+1 {
			t.Errorf("%s: told view %d behind %d, it comes back with view %d", n, d.told.Number,
				number, d.buried[n])
		}
		// It comes back with the view that says so, not with an older one.
		d.say(n, wire.TypeHeartbeat, func(m *wire.Message) { m.SetViewNumber(number) })
		if me.Alive {
			t.Errorf("%s is back with a view of before", n)
		}
		d.flush()
		d.say(n, wire.TypeHeartbeat, func(m *wire.Message) { m.SetViewNumber(number + 1) })
		if _, events := d.flush(); !me.Alive || len(events) == 0 ||
			events[0].Kind != ps.EventDead || events[0].Node != n {
			t.Errorf("%s is not back: %+v", n, events)
		}
	}
}

// TestWhoComesBack sends heartbeats of nodes that were given up.
func TestWhoComesBack(t *testing.T) {
	for name, tt := range map[string]struct {
		n      wire.Node
		policy ps.Policy
		left   bool
		want   bool
	}{
		"server":               {srv(0), ps.Wait, false, true},
		"worker":               {wkr(0), ps.Wait, false, true},
		"server under Shrink":  {srv(0), ps.Shrink, false, true},
		"worker under Shrink":  {wkr(0), ps.Shrink, false, false},
		"server that has left": {srv(0), ps.Wait, true, false},
		"worker that has left": {wkr(0), ps.Wait, true, false},
	} {
		d := newDrill(t, Config{Servers: 2, Workers: 2, Replicas: 1, Policy: tt.policy})
		me := d.view.Member(tt.n)
		me.Alive, me.Left = false, tt.left
		d.beat(tt.n)
		if me.Alive != tt.want {
			t.Errorf("%s: alive %v, want %v", name, me.Alive, tt.want)
		}
	}
}

// TestHeartbeatsAreAnswered names the durable view, an older one and a later one.
func TestHeartbeatsAreAnswered(t *testing.T) {
	d := newDrill(t, Config{Servers: 1, Workers: 1, Replicas: 1})
	for i, want := range map[int]wire.Type{-1: wire.TypeView, 0: wire.TypeHeartbeat,
		1: wire.TypeHeartbeat} {
		d.seen[wkr(0)] = 0
		number := uint64(int(d.told.Number) + i)
		d.say(wkr(0), wire.TypeHeartbeat, func(m *wire.Message) {
			m.SetViewNumber(number)
			h := wire.Heartbeat{Clock: 7}
			m.Payload = h.Append(nil)
		})
		if m := d.one(wkr(0), want); m.ViewNumber() != d.told.Number {
			t.Errorf("answer names view %d, want %d", m.ViewNumber(), d.told.Number)
		}
		if h, silence := d.Heartbeat(wkr(0)); h.Clock != 7 || silence != 0 {
			t.Errorf("heartbeat %+v, silent for %d", h, silence)
		}
		if d.seen[wkr(0)] != number {
			t.Errorf("it has named view %d, want %d", d.seen[wkr(0)], number)
		}
	}
	d.say(wkr(0), wire.TypeHeartbeat, func(m *wire.Message) { m.Payload = []byte{1} })
	if h, _ := d.Heartbeat(wkr(0)); h.Clock != 7 {
		t.Error("a heartbeat that cannot be read replaces one")
	}
}

// TestASchedulerWithoutItsViewGivesUp lets nodes name views that a new scheduler has not made.
func TestASchedulerWithoutItsViewGivesUp(t *testing.T) {
	open := func() *drill {
		s, err := New(Config{Job: 1, Servers: 2, Workers: 1, Replicas: 1})
		if err != nil {
			t.Fatal(err)
		}
		d := &drill{t: t, Scheduler: s, at: ps.Second}
		d.join(srv(0), 1)
		d.write()
		d.flush()
		return d
	}
	name := func(d *drill, kind wire.Type, number uint64) {
		d.say(srv(1), kind, func(m *wire.Message) {
			m.Incarnation = 5
			m.SetViewNumber(number)
		})
	}
	for why, hear := range map[string]func(d *drill){
		"a view that it has made":   func(d *drill) { name(d, wire.TypeHeartbeat, d.view.Number) },
		"a message of another type": func(d *drill) { name(d, wire.TypeBye, 99) },
		"shards are there": func(
			d *drill) {
			d.view.Shards = []wire.Shard{{Lost: true}}
			name(d, wire.TypeHeartbeat, 99)
		},
		"nobody names another view": func(*drill) {},
		"shards come in the meantime": func(d *drill) {
			name(d, wire.TypeHeartbeat, 99)
			d.view.Shards = []wire.Shard{{Lost: true}}
		},
	} {
		d := open()
		hear(d)
		for range 50 {
			d.at += 200 * ps.Millisecond
			d.Tick(d.at)
		}
		if d.out.Fatal != nil {
			t.Errorf("%s: %v", why, d.out.Fatal)
		}
	}
	d := open()
	for range 2 {
		name(d, wire.TypeHeartbeat, d.view.Number+1)
	}
	since := d.awake.Time
	_, events := d.flush()
	if len(events) != 1 || events[0].Kind != ps.EventViewFailed || events[0].Node != srv(1) {
		t.Errorf("events %+v, want one about a later view", events)
	}
	for d.awake.Time < since+d.cfg.Timing.Dead {
		d.at += 100 * ps.Millisecond
		name(d, wire.TypeHeartbeat, d.view.Number+1)
		d.Tick(d.at)
	}
	if d.out.Fatal != nil {
		t.Errorf("after %d of Dead: %v", d.awake.Time-since, d.out.Fatal)
	}
	d.at++
	d.Tick(d.at)
	if !errors.Is(d.out.Fatal, ps.ErrViewChanged) {
		t.Errorf("behind Dead: %v, want that the view is lost", d.out.Fatal)
	}
}

// TestHellos sends hellos for places that are free, taken, and left by another process.
func TestHellos(t *testing.T) {
	d := newDrill(t, Config{Servers: 1, Workers: 2, Replicas: 1})
	n := wkr(1)
	me := d.view.Member(n)
	old := *me
	d.pass(2*ps.Second, n)
	d.flush()
	// The process itself repeats its hello: it is heard of, and told the view.
	d.unreachable(n)
	d.join(n, me.Nonce)
	if d.one(n, wire.TypeView); *me != old || d.silence(n) != 0 || len(d.ends.closed) > 0 {
		t.Errorf("a repeated hello: %+v, silent for %d, closed %v", me, d.silence(n), d.ends.closed)
	}
	// Another one is put off while the first one is heard of.
	d.join(n, 500)
	_, events := d.flush()
	if *me != old || len(events) != 1 || events[0].Kind != ps.EventJoined || events[0].Node != n {
		t.Errorf("another process: %+v, events %+v", me, events)
	}
	d.join(n, 500)
	d.silent("the other process asks again")
	d.pass(d.cfg.Timing.Heartbeat*3/2-1, n)
	d.flush()
	d.join(n, 500)
	if *me != old {
		t.Error("the other process has the place before the first one is silent for long enough")
	}
	d.pass(1, n)
	me.Calls = wire.Calls{Done: 3, First: 2}
	d.beats[n] = wire.Heartbeat{Clock: 4}
	d.seen[n] = 99
	next := d.view.Next
	d.unreachable(n)
	d.flush()
	d.join(n, 500)
	want := wire.Member{Node: n, Incarnation: next, Alive: true, Nonce: 500, Addr: "here",
		Calls: wire.Calls{First: 2}}
	if *me != want || d.view.Next != next+1 || d.silence(n) != 0 || d.seen[n] != 0 ||
		len(d.ends.closed) > 0 || len(d.asking) > 0 {
		t.Errorf("a successor: %+v, want %+v", me, want)
	}
	if _, ok := d.beats[n]; ok {
		t.Error("the heartbeat of the predecessor counts")
	}
	if _, events := d.flush(); len(events) != 1 || events[0].Kind != ps.EventJoined {
		t.Errorf("events %+v, want that it has joined", events)
	}
	// The one before comes late.
	d.pass(2*ps.Second, n)
	d.flush()
	d.join(n, old.Nonce)
	if *me != want {
		t.Errorf("a hello that comes late: %+v, want %+v", me, want)
	}
	d.silent("a hello that comes late")
	// The place of a process that was given up is free at once.
	d.pass(10*ps.Second, n)
	if me.Alive {
		t.Fatal("it is alive")
	}
	d.last[n] = d.awake.Time
	d.join(n, 501)
	if me.Nonce != 501 {
		t.Error("the place of a dead process is not free")
	}
	d.flush()
	// Hellos for another rank, and hellos that cannot be read.
	h := wire.Hello{Nonce: 7, Rank: 0}
	for name, body := range map[string][]byte{"another rank": h.Append(nil), "short": {1}} {
		d.Handle(d.at, n, &wire.Message{Type: wire.TypeHello, Job: 1, From: n, Payload: body})
		_, events := d.flush()
		if me.Nonce != 501 || len(events) != 1 || events[0].Kind != ps.EventRefused {
			t.Errorf("hello for %s: %+v, events %+v", name, me, events)
		}
	}
	d.write()
	// A job that is over takes nobody in.
	d.view.Workers[0].Left, d.view.Workers[1].Left = true, true
	d.flush()
	d.join(srv(0), 502)
	if d.view.Servers[0].Nonce == 502 {
		t.Error("a job that is over takes a server in")
	}
}

// TestTheSecondProcessOfARankIsRefused lets it ask until Dead is over, and a moment longer.
func TestTheSecondProcessOfARankIsRefused(t *testing.T) {
	d := newDrill(t, Config{Servers: 1, Workers: 1, Replicas: 1})
	d.join(wkr(0), 500)
	d.flush()
	d.pass(d.cfg.Timing.Dead)
	d.flush()
	d.join(wkr(0), 500)
	d.silent("after Dead")
	d.pass(1)
	d.flush()
	d.join(wkr(0), 500)
	m := d.one(wkr(0), wire.TypeReject)
	want := wire.Refusal{Reason: wire.ReasonIncarnation, Of: wire.TypeHello, Seq: 500}
	if m.Refusal() != want {
		t.Errorf("refused by %+v, want %+v", m.Refusal(), want)
	}
}

// TestAStallForgivesEverybody lets a scheduler stand still: silence counts anew, connections and
// questions for places mean nothing, and dead nodes come back with a new view only.
func TestAStallForgivesEverybody(t *testing.T) {
	d := newDrill(t, Config{Servers: 3, Workers: 2, Replicas: 2, Shards: 3})
	d.view.Workers[1].Left, d.view.Workers[1].Alive = true, false
	d.pass(10*ps.Second, srv(2))
	d.beat(srv(0))
	d.unreachable(srv(0))
	d.join(wkr(0), 500)
	d.flush()
	number, buried := d.view.Number, d.buried[srv(2)]
	if len(d.ends.closed) != 1 || len(d.asking) != 1 || buried == number+1 {
		t.Fatalf("closed %v, asking %v, buried %d", d.ends.closed, d.asking, buried)
	}
	d.at += d.cfg.Timing.Suspect // no stall yet
	d.Tick(d.at)
	if len(d.ends.closed) != 1 || len(d.asking) != 1 || d.proof > number {
		t.Errorf("after Suspect: closed %v, asking %v, proof %d", d.ends.closed, d.asking, d.proof)
	}
	d.write()
	number = d.view.Number
	d.at += d.cfg.Timing.Suspect + 1
	d.Tick(d.at)
	if len(d.ends.closed) != 0 || len(d.ends.heard) != 0 || len(d.asking) != 0 {
		t.Errorf("after a stall: closed %v, heard %v, asking %v", d.ends.closed, d.ends.heard,
			d.asking)
	}
	if d.proof != number+1 || d.told.Number != number || d.view.Number != number+1 {
		t.Errorf("after a stall: proof %d, view %d behind %d", d.proof, d.view.Number, number)
	}
	if d.silence(srv(0)) != 0 || d.silence(srv(2)) != 0 {
		t.Errorf("silent for %d and %d, want 0", d.silence(srv(0)), d.silence(srv(2)))
	}
	if d.buried[srv(2)] != buried {
		t.Errorf("a dead server comes back with view %d, want %d", d.buried[srv(2)], buried)
	}
}

// TestASchedulerThatBeginsBuriesTheDead starts on a view in which nodes are dead.
func TestASchedulerThatBeginsBuriesTheDead(t *testing.T) {
	d := newDrill(t, Config{Servers: 2, Workers: 2, Replicas: 2, Shards: 2})
	for name, tt := range map[string]struct {
		change func(v *wire.View)
		buried []wire.Node
	}{
		"all alive":     {func(*wire.View) {}, nil},
		"a dead worker": {func(v *wire.View) { v.Workers[1].Alive = false }, []wire.Node{wkr(1)}},
		"no shard":      {func(v *wire.View) { v.Shards = nil }, nil},
		"dead and no shard": {func(v *wire.View) {
			v.Shards, v.Servers[1].Alive = nil, false
		}, []wire.Node{srv(1)}},
	} {
		v := d.told.Clone()
		tt.change(v)
		s, err := New(Config{Job: 1, Servers: 2, Workers: 2, Replicas: 2, Shards: 2, View: v})
		if err != nil {
			t.Fatal(err)
		}
		s.Tick(d.at)
		if len(s.buried) != len(tt.buried) {
			t.Errorf("%s: buried %v, want %v", name, s.buried, tt.buried)
		}
		for _, n := range tt.buried {
			if s.buried[n] != v.Number+1 {
				t.Errorf("%s: %s is to name view %d, want %d", name, n, s.buried[n], v.Number+1)
			}
		}
		if proof := s.proof == v.Number+1; proof != (len(v.Shards) > 0) {
			t.Errorf("%s: servers are to name view %d behind %d", name, s.proof, v.Number)
		}
	}
	// Nobody can come back to a place that is free or was left.
	for _, left := range []bool{false, true} {
		v := d.told.Clone()
		v.Shards = nil
		v.Servers[1].Alive, v.Servers[1].Left = false, left
		if !left {
			v.Servers[1].Incarnation = 0
		}
		s, err := New(Config{Job: 1, Servers: 2, Workers: 2, Replicas: 2, Shards: 2, View: v})
		if err != nil {
			t.Fatal(err)
		}
		s.Tick(d.at)
		if s.out.View != nil {
			t.Errorf("left %v: a new view %+v", left, s.out.View)
		}
	}
}

// TestSilentServersAreLookedAt looks for connections of servers that are silent.
func TestSilentServersAreLookedAt(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(m *wire.Member, s *Scheduler)
		want   bool
	}{
		"silent": {func(m *wire.Member, _ *Scheduler) { m.Alive = false }, true},
		"alive":  {func(*wire.Member, *Scheduler) {}, false},
		"left": {func(m *wire.Member, _ *Scheduler) { m.Alive, m.Left = false, true },
			false},
		"never heard of": {func(m *wire.Member,
			s *Scheduler) {
			m.Alive = false
			delete(s.ends.heard, m.Node)
		}, false},
	} {
		d := newDrill(t, Config{Servers: 2, Workers: 1, Replicas: 2})
		d.pass(ps.Second)
		d.ends.probe = d.awake.Time
		d.flush()
		tt.change(&d.view.Servers[1], d.Scheduler)
		looked := func() (n int) {
			d.look()
			sends, _ := d.flush()
			for i := range sends {
				if sends[i].To == srv(1) && sends[i].Msg.Type == wire.TypeHeartbeat &&
					sends[i].Msg.ViewNumber() == d.told.Number {
					n++
				}
			}
			return n
		}
		if got := looked(); got == 1 != tt.want {
			t.Errorf("%s: %d messages, want one: %v", name, got, tt.want)
		}
		d.awake.Time += d.cfg.Timing.Heartbeat - 1
		if looked() != 0 {
			t.Errorf("%s: a message before the interval is over", name)
		}
		d.awake.Time++
		if got := looked(); got == 1 != tt.want {
			t.Errorf("%s: %d messages after the interval, want one: %v", name, got, tt.want)
		}
	}
}

// TestConnectionsCountOnce notes closed connections of nodes that have been heard of or not.
func TestConnectionsCountOnce(t *testing.T) {
	d := newDrill(t, Config{Servers: 2, Workers: 1, Replicas: 2})
	d.Unreachable(srv(0))
	since := d.awake.Time
	d.awake.Time += 5
	d.Unreachable(srv(0))
	if d.ends.closed[srv(0)] != since {
		t.Errorf("closed since %d, want %d", d.ends.closed[srv(0)], since)
	}
	delete(d.ends.heard, srv(1))
	if d.Unreachable(srv(1)); len(d.ends.closed) != 1 {
		t.Error("a connection counts of a server that has not been heard of")
	}
	d.beat(srv(0))
	if len(d.ends.closed) != 0 || !d.ends.heard[srv(0)] {
		t.Error("a server that is heard of has no connection")
	}
}

// TestGuestsGetPlaces asks for ranks.
func TestGuestsGetPlaces(t *testing.T) {
	s, err := New(Config{Job: 1, Servers: 2, Workers: 4, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := &drill{t: t, Scheduler: s, at: ps.Second}
	from := wire.Node{Role: wire.Worker, Rank: 99}
	hello := func(n wire.Node, h wire.Hello) {
		d.Handle(d.at, n, &wire.Message{Type: wire.TypeHello, Job: 1, From: n,
			Payload: h.Append(nil)})
	}
	ask := func(n wire.Node, nonce uint64) int32 {
		t.Helper()
		hello(n, wire.Hello{Nonce: nonce, Rank: -1})
		h, err := wire.DecodeHello(d.one(n, wire.TypeHello).Payload)
		if err != nil || h.Nonce != nonce {
			t.Fatalf("answer %+v, %v, want nonce %d", h, err, nonce)
		}
		return h.Rank
	}
	want := func(why string, got, rank int32) {
		t.Helper()
		if got != rank {
			t.Errorf("%s: rank %d, want %d", why, got, rank)
		}
	}
	want("the first", ask(from, 11), 0)
	want("the second", ask(from, 12), 1)
	want("the first again", ask(from, 11), 0)
	d.join(wkr(2), 13)
	d.view.Workers[2].Alive = false // a place whose process is dead comes behind fresh ones
	d.flush()
	want("the third", ask(from, 14), 3)
	want("the fourth", ask(from, 15), 2)
	want("too many", ask(from, 16), -1)
	want("a server", ask(wire.Node{Role: wire.Server, Rank: 99}, 17), 0)
	d.at += promiseLasts * d.cfg.Timing.Dead
	want("at the end of the promises", ask(from, 16), -1)
	d.at++
	want("behind them", ask(from, 16), 0)
	// A promise is void when somebody has joined; a place that is held is not free.
	d.join(wkr(0), 20)
	d.flush()
	want("a place that was taken", ask(from, 16), 1)
	d.view.Workers[0].Alive = false
	want("a place whose promise is void", ask(from, 21), 3)
	want("a dead one's place", ask(from, 22), 0)
	d.view.Workers[2].Left = true
	want("a place that was left", ask(from, 23), -1)
	for name, bad := range map[string]func(){
		"another rank": func() { hello(from, wire.Hello{Nonce: 5, Rank: 0}) },
		"a scheduler": func() {
			hello(wire.Node{Role: wire.Scheduler, Rank: 9}, wire.Hello{Nonce: 5, Rank: -1})
		},
		"no hello": func() {
			d.Handle(d.at, from, &wire.Message{Type: wire.TypeHello, Job: 1, From: from})
		},
	} {
		bad()
		sends, events := d.flush()
		if len(sends) > 0 || len(events) != 1 || events[0].Kind != ps.EventRefused {
			t.Errorf("%s: messages %+v, events %+v, want a refusal", name, sends, events)
		}
	}
	for i := range d.view.Workers {
		d.view.Workers[i].Left = true
	}
	hello(from, wire.Hello{Nonce: 30, Rank: -1})
	d.silent("a job that is over")
}
