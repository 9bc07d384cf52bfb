package sched

import (
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// TestSettingsAreChecked tries settings at the bounds, and views of other jobs.
func TestSettingsAreChecked(t *testing.T) {
	good := Config{Job: 1, Servers: 2, Workers: 3, Replicas: 2}
	s, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	if s.cfg.Shards != 8 {
		t.Errorf("%d shards on 2 servers, want 8", s.cfg.Shards)
	}
	good.View = s.view
	for name, tt := range map[string]struct {
		change func(c *Config)
		ok     bool
	}{
		"good":             {func(*Config) {}, true},
		"no server":        {func(c *Config) { c.View, c.Servers = nil, 0 }, false},
		"one server":       {func(c *Config) { c.View, c.Servers, c.Replicas = nil, 1, 1 }, true},
		"65535 servers":    {func(c *Config) { c.View, c.Servers = nil, 1<<16-1 }, true},
		"65536 servers":    {func(c *Config) { c.View, c.Servers = nil, 1<<16 }, false},
		"no worker":        {func(c *Config) { c.View, c.Workers = nil, 0 }, false},
		"one worker":       {func(c *Config) { c.View, c.Workers = nil, 1 }, true},
		"65535 workers":    {func(c *Config) { c.View, c.Workers = nil, 1<<16-1 }, true},
		"65536 workers":    {func(c *Config) { c.View, c.Workers = nil, 1<<16 }, false},
		"no copy":          {func(c *Config) { c.Replicas = 0 }, false},
		"one copy":         {func(c *Config) { c.Replicas = 1 }, true},
		"three copies":     {func(c *Config) { c.View, c.Servers, c.Replicas = nil, 3, 3 }, false},
		"too many copies":  {func(c *Config) { c.View, c.Servers = nil, 1 }, false},
		"another job":      {func(c *Config) { c.Job++ }, false},
		"more servers":     {func(c *Config) { c.Servers++ }, false},
		"more workers":     {func(c *Config) { c.Workers++ }, false},
		"a number of both": {func(c *Config) { c.Workers, c.Servers = 2, 3 }, false},
	} {
		c := good
		tt.change(&c)
		if _, err := New(c); (err == nil) != tt.ok || err != nil && !errors.Is(err, ps.ErrUsage) {
			t.Errorf("%s: got %v, want success %v", name, err, tt.ok)
		}
	}
}

// TestMessagesOfOthersAreDropped sends messages of other jobs, of nodes that name another one, and
// of nodes that are not in the job.
func TestMessagesOfOthersAreDropped(t *testing.T) {
	d := newDrill(t, Config{Servers: 1, Workers: 1, Replicas: 1})
	out := wire.Node{Role: wire.Server, Rank: 9}
	hello := wire.Hello{Nonce: 9, Rank: -1}
	for name, tt := range map[string]struct {
		from wire.Node
		m    wire.Message
	}{
		"another job":           {srv(0), wire.Message{Job: 2, From: srv(0), Incarnation: 1}},
		"another node":          {srv(0), wire.Message{Job: 1, From: wkr(0), Incarnation: 1}},
		"no place":              {out, wire.Message{Job: 1, From: out, Incarnation: 1}},
		"guest of another job":  {out, wire.Message{Job: 2, From: out, Type: wire.TypeHello}},
		"guest of another name": {out, wire.Message{Job: 1, From: srv(8), Type: wire.TypeHello}},
	} {
		if tt.m.Type == 0 {
			tt.m.Type = wire.TypeBye
		}
		tt.m.Payload = hello.Append(nil)
		d.Handle(d.at, tt.from, &tt.m)
		d.silent(name)
	}
	if d.view.Servers[0].Left || d.view.Workers[0].Left {
		t.Error("a message of another process makes one leave")
	}
	d.Handle(d.at, out, &wire.Message{Job: 1, From: out, Type: wire.TypeHello,
		Payload: hello.Append(nil)})
	d.one(out, wire.TypeHello)
}

// TestAProcessWithoutItsPlaceIsToldTheView sends messages of another incarnation.
func TestAProcessWithoutItsPlaceIsToldTheView(t *testing.T) {
	d := newDrill(t, Config{Servers: 1, Workers: 1, Replicas: 1})
	for _, inc := range []uint32{0, 77} {
		d.say(srv(0), wire.TypeBye, func(m *wire.Message) { m.Incarnation = inc })
		if m := d.one(srv(0), wire.TypeView); m.ViewNumber() != d.told.Number {
			t.Errorf("told view %d, want %d", m.ViewNumber(), d.told.Number)
		}
		if d.view.Servers[0].Left {
			t.Errorf("incarnation %d makes the server leave", inc)
		}
	}
}

// TestAGoodbyeIsReportedOnce repeats a goodbye: every repetition is answered by the view.
func TestAGoodbyeIsReportedOnce(t *testing.T) {
	d := newDrill(t, Config{Servers: 1, Workers: 2, Replicas: 1})
	for i := range 2 {
		d.say(wkr(1), wire.TypeBye, nil)
		sends, events := d.flush()
		if me := &d.view.Workers[1]; !me.Left || me.Alive || len(sends) != 1 ||
			sends[0].To != wkr(1) || sends[0].Msg.Type != wire.TypeView || len(events) != 1-i {
			t.Errorf("goodbye %d: %+v, messages %+v, events %+v", i, me, sends, events)
		}
	}
	d.write()
	// All others hear of it, and the one that leaves.
	sends, _ := d.flush()
	heard := map[wire.Node]int{}
	for i := range sends {
		heard[sends[i].To]++
	}
	if len(sends) != 3 || heard[srv(0)] != 1 || heard[wkr(0)] != 1 || heard[wkr(1)] != 1 {
		t.Errorf("told to %v, want everybody once", heard)
	}
	// Another view is not for the one that has left.
	d.join(srv(0), 5)
	d.pass(2*ps.Second, srv(0))
	d.join(srv(0), 5)
	d.flush()
	number := d.told.Number
	d.write()
	sends, _ = d.flush()
	if d.told.Number == number {
		t.Fatal("a new process has changed nothing")
	}
	for i := range sends {
		if sends[i].To == wkr(1) && sends[i].Msg.ViewNumber() == d.told.Number {
			t.Error("a worker that has left is told a view")
		}
	}
}

// TestOneViewAtATimeIsWritten makes changes while a view is being made durable.
func TestOneViewAtATimeIsWritten(t *testing.T) {
	d := newDrill(t, Config{Servers: 1, Workers: 3, Replicas: 1})
	number := d.told.Number
	d.say(wkr(0), wire.TypeBye, nil)
	first := d.out.View
	if first == nil || first.Number != number+1 || !first.Workers[0].Left {
		t.Fatalf("view to be written: %+v, want view %d", first, number+1)
	}
	d.out.Reset()
	d.say(wkr(1), wire.TypeBye, nil)
	if d.out.View != nil || first.Workers[1].Left {
		t.Error("a second view is to be written, or the first has changed")
	}
	d.Persisted(d.at, number)
	d.Persisted(d.at, number+2)
	if d.told.Number != number || d.writing != first {
		t.Error("a view that is not being written is durable")
	}
	d.Persisted(d.at, number+1)
	if d.told != first || d.out.View == nil || d.out.View.Number != number+2 ||
		!d.out.View.Workers[1].Left {
		t.Errorf("told %d, to be written %+v, want view %d", d.told.Number, d.out.View, number+2)
	}
	d.Persisted(d.at, number+2)
	d.out.Reset()
	d.Persisted(d.at, number+2)
	if d.out.View != nil || d.changed {
		t.Error("a view is written that has no change")
	}
}

// TestSwapOnRequest asks for swaps that may not be made, and for one that may.
func TestSwapOnRequest(t *testing.T) {
	make2 := func() *drill {
		return newDrill(t, Config{Servers: 2, Workers: 1, Replicas: 2, Shards: 2})
	}
	for name, change := range map[string]func(d *drill) (shard int){
		"no such shard": func(*drill) int { return 2 },
		"being written": func(d *drill) int { d.say(wkr(0), wire.TypeBye, nil); return 0 },
		"lost":          func(d *drill) int { d.view.Shards[0].Lost = true; return 0 },
		"not in sync":   func(d *drill) int { d.view.Shards[0].InSync = false; return 0 },
		"swapped":       func(d *drill) int { d.view.Shards[0].Swapped = true; return 0 },
		"unsure primary": func(d *drill) int {
			d.proof, d.seen[srv(1)] = d.seen[srv(0)]+1,
				d.seen[srv(0)]+1
			return 0
		},
		"unsure backup": func(d *drill) int {
			d.proof, d.seen[srv(0)] = d.seen[srv(1)]+1,
				d.seen[srv(1)]+1
			return 0
		},
		"job that is over": func(d *drill) int { d.view.Workers[0].Left = true; return 0 },
	} {
		d := make2()
		shard := change(d)
		if d.Swap(d.at, shard) {
			t.Errorf("%s: the copies change places", name)
		}
	}
	d := make2()
	before := d.view.Shards[1]
	if !d.Swap(d.at, 1) {
		t.Fatal("the copies of shard 1 do not change places")
	}
	want := wire.Shard{Epoch: before.Epoch + 1, Primary: before.Backup, Backup: before.Primary,
		InSync: true, Swapped: true}
	if d.out.View == nil || d.out.View.Shards[1] != want {
		t.Errorf("to be written: %+v, want %+v", d.out.View, want)
	}
	_, events := d.flush()
	if len(events) != 1 || events[0].Kind != ps.EventSwapped || events[0].Shard != 1 ||
		events[0].Epoch != want.Epoch || events[0].Node != srv(want.Primary.Server) {
		t.Errorf("events %+v, want that shard 1 swaps", events)
	}
	// The other shard waits until the primary has confirmed the swap.
	d.pass(ps.Second)
	if sh := &d.view.Shards[0]; sh.Swapped {
		t.Errorf("shard 0 swaps as well: %+v", sh)
	}
}
