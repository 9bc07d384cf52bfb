package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"gomx/engine"
)

func TestStats(t *testing.T) {
	e := open(t, engine.Config{Workers: 1})
	v, g := e.NewVar("v"), newGate()
	e.Push(&engine.Task{Name: "inline", Fn: empty, Cheap: true})
	e.Push(&engine.Task{Name: "gate", Fn: g.body,
		Uses: []engine.Use{{Var: v, Access: engine.Update}}, Bytes: 7})
	<-g.entered
	e.Push(&engine.Task{Name: "fails", Fn: func(*engine.Run) error { panic("oh") },
		Uses: []engine.Use{{Var: v, Access: engine.Update}}, Bytes: 5})
	e.Push(&engine.Task{Name: "skipped", Fn: empty,
		Uses: []engine.Use{{Var: v, Access: engine.Update}}})
	got := e.Stats()
	want := engine.Stats{Pushed: 3, Inline: 1, Pending: 3, PendingBytes: 12, BusyCores: 1}
	if got != want {
		t.Errorf("with one running: got %+v, want %+v", got, want)
	}
	close(g.open)
	e.WaitAll(bg)
	e.Close()
	want = engine.Stats{Pushed: 3, Inline: 1, Completed: 3, Failed: 1, Skipped: 1, Poisoned: 1}
	if got := e.Stats(); got != want {
		t.Errorf("at the end: got %+v, want %+v", got, want)
	}
}

func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e, err := engine.New(engine.Config{Workers: 1, CallSites: true, Watchdog: time.Second,
			Logger: zerolog.New(&log)})
		if err != nil {
			t.Fatal(err)
		}
		v, w, g := e.NewVar("weights"), e.NewVar("output"), newGate()
		e.Push(&engine.Task{Name: "stuck", Fn: g.body,
			Uses: []engine.Use{{Var: v, Access: engine.Update}}})
		e.Push(&engine.Task{Name: "blocked", Fn: empty, Uses: []engine.Use{{Var: v},
			{Var: w, Access: engine.Overwrite}}})
		go e.WaitRead(bg, w)
		time.Sleep(10 * time.Second) // of the clock of the bubble
		close(g.open)
		e.Close()
		got := log.String()
		for _, want := range []string{`worker 0): \"stuck\" on cpu(0), pushed at`, "seeing_test.go",
			`to read variable \"weights\" waits: \"blocked\"`,
			`for variable \"output\" waits: a goroutine`} {
			if !strings.Contains(got, want) {
				t.Errorf("watchdog said %s, want something with %s", got, want)
			}
		}
		if n := strings.Count(got, "no operation has finished"); n != 1 {
			t.Errorf("reports of one stall: got %d, want 1", n)
		}
	})
}

func TestProfile(t *testing.T) {
	e := open(t, engine.Config{Workers: 1})
	v := e.NewVar("v")
	push := func(name string, cheap bool) {
		e.Push(&engine.Task{Name: name, Fn: empty, Cheap: cheap,
			Uses: []engine.Use{{Var: v, Access: engine.Update}}})
	}
	push("before", true)
	p := e.StartProfile()
	end := p.Scope("step")
	push("inline", true)
	push("queued", false)
	push("queued", false)
	e.Push(&engine.Task{Name: "async", Async: func(_ *engine.Run,
		done func(error)) {
		go done(nil)
	}, Uses: []engine.Use{{Var: v}}})
	e.WaitAll(bg)
	p.Counter("bytes", 42)
	end()
	p.Stop()
	push("after", true)

	rows := map[string]int{}
	for _, r := range p.Rows() {
		rows[r.Name] = r.Count
		if r.Min > r.Max || r.Total < r.Max || r.Mean() > r.Max {
			t.Errorf("times of %s make no sense: %+v", r.Name, r)
		}
	}
	if len(rows) != 4 || rows["inline"] != 1 || rows["queued"] != 2 || rows["async"] != 1 ||
		rows["step"] != 1 {
		t.Errorf("got %v", rows)
	}
	if table := p.Table(); strings.Count(table, "\n") != 5 {
		t.Errorf("table has the wrong number of lines:\n%s", table)
	}
	var b bytes.Buffer
	if err := p.WriteTrace(&b); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Name, Ph string
			Args     map[string]any
		}
	}
	if err := json.Unmarshal(b.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	phases := map[string]int{}
	for _, v := range trace.TraceEvents {
		phases[v.Ph]++
	}
	if phases["X"] != 5 || phases["C"] != 1 || phases["M"] != 2 {
		t.Errorf("events of the trace by phase: got %v", phases)
	}
}

// TestNothingIsQuietTooSoon waits for a variable while a read of it and a write that is skipped end
// together: the variable is unused only once its error is known.
func TestNothingIsQuietTooSoon(t *testing.T) {
	each(t, func(t *testing.T, e *engine.Engine) {
		bad := e.NewVar("bad")
		e.Push(&engine.Task{Name: "fails", Uses: []engine.Use{{Var: bad, Access: engine.Overwrite}},
			Fn: func(*engine.Run) error { return errors.New("no") }})
		for range 50000 {
			v := e.NewVar("v")
			e.Push(&engine.Task{Name: "reads", Cheap: true, Fn: empty,
				Uses: []engine.Use{{Var: v}}})
			e.Push(&engine.Task{Name: "skipped", Cheap: true, Fn: empty,
				Uses: []engine.Use{{Var: bad}, {Var: v, Access: engine.Update}}})
			if e.WaitRead(bg, v) == nil {
				t.Fatal("got no error of a variable whose write was skipped")
			}
		}
	})
}
