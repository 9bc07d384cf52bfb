package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"gomx/device"
	"gomx/engine"
)

// gate is an operation that runs until it is opened.
type gate struct{ entered, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{})} }

func (g *gate) body(*engine.Run) error {
	close(g.entered)
	<-g.open
	return nil
}

func TestReadDoesNotBlockWaitRead(t *testing.T) {
	e := open(t, engine.Config{Workers: 1})
	v, g := e.NewVar("v"), newGate()
	e.Push(&engine.Task{Name: "reader", Fn: g.body, Uses: []engine.Use{{Var: v}}})
	<-g.entered
	if err := e.WaitRead(bg, v); err != nil {
		t.Error(err)
	}
	close(g.open)
}

func TestPriority(t *testing.T) {
	for _, wide := range []bool{false, true} {
		e := open(t, engine.Config{Workers: 1})
		g := newGate()
		e.Push(&engine.Task{Name: "gate", Fn: g.body})
		<-g.entered
		var mu sync.Mutex
		var order []string
		for i, band := range []engine.Band{engine.Low, engine.Normal, engine.High, engine.Urgent,
			engine.Normal, engine.Urgent} {
			name := fmt.Sprint(i)
			e.Push(&engine.Task{Name: name, Priority: band, Wide: wide &&
				i%2 == 0, Fn: func(*engine.Run) error {
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				return nil
			}})
		}
		close(g.open)
		e.WaitAll(bg)
		if got, want := strings.Join(order, " "), "3 5 2 1 4 0"; got != want {
			t.Errorf("order with wide %v: got %s, want %s", wide, got, want)
		}
	}
}

func TestWideRunsAlone(t *testing.T) {
	e := open(t, engine.Config{Workers: 3})
	var narrow, wide atomic.Int32
	var inUse [8]atomic.Int32
	for i := range 600 {
		isWide := i%7 == 0
		e.Push(&engine.Task{Name: "op", Wide: isWide, Cheap: i%2 == 0,
			Fn: func(r *engine.Run) error {
				if r.Worker >= 0 {
					if inUse[r.Worker].Add(1) != 1 {
						return fmt.Errorf("two bodies run as worker %d", r.Worker)
					}
					defer inUse[r.Worker].Add(-1)
				}
				if isWide {
					defer wide.Add(-1)
					if n := wide.Add(1); n > 1 || narrow.Load() > 0 {
						return fmt.Errorf("a wide operation runs with %d wide and %d other ones", n,
							narrow.Load())
					}
				} else if r.Worker >= 0 { // what runs inline uses the pusher's core
					defer narrow.Add(-1)
					if n := narrow.Add(1); n > 3 || wide.Load() > 0 {
						return fmt.Errorf("an operation runs with %d wide and %d others",
							wide.Load(),
							n)
					}
				}
				runtime.Gosched()
				return nil
			}})
	}
	if err := e.WaitAll(bg); err != nil {
		t.Error(err)
	}
}

func TestGoexit(t *testing.T) {
	exit := func(*engine.Run) error { runtime.Goexit(); return nil }
	each(t, func(t *testing.T, e *engine.Engine) {
		for _, task := range []engine.Task{{Cheap: true}, {}, {Wide: true}} {
			v, w := e.NewVar("v"), e.NewVar("w")
			task.Name, task.Fn, task.Uses = "exits", exit,
				[]engine.Use{{Var: v, Access: engine.Update}}
			done := make(chan struct{})
			go func() { // a cheap body may end the goroutine that pushes it or waits for it
				defer close(done)
				e.Push(&task)
				e.WaitRead(bg, v)
			}()
			<-done
			if err := e.WaitRead(bg, v); !errors.Is(err, engine.ErrGoexit) {
				t.Errorf("got %v", err)
			}
			task.Fn, task.Uses[0].Var = empty, w
			e.Push(&task)
			if err := e.WaitRead(bg, w); err != nil {
				t.Errorf("the next operation: %v", err)
			}
		}
	})
}

func TestAsync(t *testing.T) {
	var log bytes.Buffer
	e := open(t, engine.Config{Workers: 2, Logger: zerolog.New(&log)})
	v := e.NewVar("v")
	boom := errors.New("boom")
	again := make(chan struct{})
	e.Push(&engine.Task{Name: "twice", Uses: []engine.Use{{Var: v, Access: engine.Overwrite}},
		Async: func(r *engine.Run, done func(error)) {
			go func() {
				done(boom)
				done(nil)
				close(again)
			}()
		}})
	if err := e.WaitRead(bg, v); !errors.Is(err, boom) {
		t.Errorf("failed asynchronously: got %v", err)
	}
	<-again
	if !strings.Contains(log.String(), "completed twice") {
		t.Errorf("second completion: logged %q", log.String())
	}
	e.Push(&engine.Task{Name: "at once", Uses: []engine.Use{{Var: v, Access: engine.Overwrite}},
		Async: func(r *engine.Run, done func(error)) {
			done(nil)
			panic("late") // complete already
		}})
	if err := e.WaitRead(bg, v); err != nil {
		t.Errorf("completed by the body: got %v", err)
	}
	e.Push(&engine.Task{Name: "panics", Uses: []engine.Use{{Var: v, Access: engine.Overwrite}},
		Async: func(*engine.Run, func(error)) { panic(boom) }})
	if err := e.WaitRead(bg, v); !errors.Is(err, boom) {
		t.Errorf("panicking body: got %v", err)
	}
}

func TestContext(t *testing.T) {
	e := open(t, engine.Config{Workers: 1})
	v, g := e.NewVar("v"), newGate()
	e.Push(&engine.Task{Name: "gate", Fn: g.body,
		Uses: []engine.Use{{Var: v, Access: engine.Update}}})
	ctx, cancel := context.WithCancel(bg)
	cancel()
	for name, wait := range map[string]func() error{
		"WaitRead":  func() error { return e.WaitRead(ctx, v) },
		"WaitWrite": func() error { return e.WaitWrite(ctx, v) },
		"WaitAll":   func() error { return e.WaitAll(ctx) },
	} {
		if err := wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that ended: got %v", name, err)
		}
	}
	close(g.open)
	if err := e.WaitAll(bg); err != nil {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	each(t, func(t *testing.T, e *engine.Engine) {
		boom := errors.New("boom")
		v := e.NewVar("v")
		e.Push(&engine.Task{Name: "fails", Fn: func(*engine.Run) error { return boom },
			Uses: []engine.Use{{Var: v, Access: engine.Update}}})
		for range 2 {
			if err := e.Close(); !errors.Is(err, boom) {
				t.Errorf("Close: got %v", err)
			}
		}
		freed := false
		e.DeleteVar(v, func() { freed = true })
		if !freed {
			t.Error("a variable deleted after Close was not freed")
		}
		defer func() {
			if p := recover(); p != engine.ErrClosed {
				t.Errorf("push after Close: panicked with %v", p)
			}
		}()
		e.Push(&engine.Task{Name: "late", Fn: empty})
	})
}

func TestMisuse(t *testing.T) {
	e := open(t, engine.Config{Workers: 1})
	dead := e.NewVar("dead")
	e.DeleteVar(dead, nil)
	other := open(t, engine.Config{Naive: true}).NewVar("foreign")
	for want, f := range map[string]func(){
		`"f" uses variable "foreign"`: func() {
			e.Push(&engine.Task{Name: "f", Fn: empty,
				Uses: []engine.Use{{Var: other}}})
		},
		`"a" must have exactly one`: func() { e.Push(&engine.Task{Name: "a"}) },
		`"b" uses variable "dead"`: func() {
			e.Push(&engine.Task{Name: "b", Fn: empty,
				Uses: []engine.Use{{Var: dead}}})
		},
		`"c" uses a nil variable`: func() {
			e.Push(&engine.Task{Name: "c", Fn: empty,
				Uses: make([]engine.Use, 1)})
		},
		`"d" has priority 9`: func() {
			e.Push(&engine.Task{Name: "d", Fn: empty,
				Priority: 9})
		},
		`"e" is wide on gpu(0)`: func() {
			e.Push(&engine.Task{Name: "e", Fn: empty, Wide: true,
				Lane: engine.Lane{Device: device.CUDA(0)}})
		},
		`uses variable "dead", which is dele`: func() { e.DeleteVar(dead, nil) },
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, want) {
					t.Errorf("panic: got %q, want something with %q", p, want)
				}
			}()
			f()
		}()
	}
	if _, err := engine.New(engine.Config{Workers: -1}); err == nil {
		t.Error("a negative number of workers: got no error")
	}
	if err := e.WaitAll(bg); err != nil {
		t.Errorf("the engine afterwards: %v", err)
	}
}

func TestCallSites(t *testing.T) {
	fail := func(*engine.Run) error { return errors.New("fails") }
	for _, sites := range []bool{false, true} {
		e := open(t, engine.Config{Workers: 1, CallSites: sites})
		v, w := e.NewVar("v"), e.NewVar("w")
		e.Push(&engine.Task{Name: "one-shot", Fn: fail,
			Uses: []engine.Use{{Var: v, Access: engine.Update}}})
		e.Push(&engine.Task{Name: "cheap", Cheap: true, Fn: fail,
			Uses: []engine.Use{{Var: w, Access: engine.Update}}})
		if got := e.WaitRead(bg, v).Error(); strings.Contains(got, "behaviour_test.go:") != sites {
			t.Errorf("operation with CallSites %v: got %q", sites, got)
		}
		if got := e.WaitRead(bg, w).Error(); strings.Contains(got, "behaviour_test.go:") != sites {
			t.Errorf("cheap operation with CallSites %v: got %q", sites, got)
		}
	}
}

func TestQuota(t *testing.T) {
	for _, c := range []struct {
		cfg   engine.Config
		bytes int64
	}{{engine.Config{Workers: 1, MaxOps: 8}, 0}, {engine.Config{Workers: 1, MaxBytes: 800}, 100}} {
		synctest.Test(t, func(t *testing.T) {
			e, err := engine.New(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			v, g := e.NewVar("v"), newGate()
			e.Push(&engine.Task{Name: "gate", Fn: g.body,
				Uses: []engine.Use{{Var: v, Access: engine.Update}}, Bytes: c.bytes})
			var pushed, ran atomic.Int64
			pushed.Add(1)
			go func() {
				for range 50 {
					e.Push(&engine.Task{Name: "op", Fn: add, Arg: &ran,
						Uses: []engine.Use{{Var: v, Access: engine.Update}}, Bytes: c.bytes})
					pushed.Add(1)
				}
			}()
			synctest.Wait()
			if pushed.Load() != 8 {
				t.Errorf("pushed while nothing was completed: got %d, want 8", pushed.Load())
			}
			freed := false
			e.DeleteVar(e.NewVar("other"), func() { freed = true }) // exempt
			close(g.open)
			synctest.Wait()
			e.Close()
			if ran.Load() != 50 || !freed {
				t.Errorf("operations run: got %d, want 50; freed %v", ran.Load(), freed)
			}
		})
	}
}

// TestNestedPushes pushes from inside operations with a quota that is always full.
func TestNestedPushes(t *testing.T) {
	e := open(t, engine.Config{Workers: 1, MaxOps: 1, NoInline: true})
	v := e.NewVar("v")
	var n atomic.Int64
	for range 100 {
		e.Push(&engine.Task{Name: "parent", Fn: func(r *engine.Run) error {
			for range 5 {
				r.Engine().Push(&engine.Task{Name: "child", Fn: add, Arg: &n,
					Uses: []engine.Use{{Var: v, Access: engine.Update}}})
			}
			return nil
		}})
	}
	if err := e.WaitAll(bg); err != nil || n.Load() != 500 {
		t.Errorf("got %d nested operations and error %v, want 500", n.Load(), err)
	}
}

// TestNestedInline pushes from inside an operation that runs on the goroutine of its pusher.
func TestNestedInline(t *testing.T) {
	e := open(t, engine.Config{Workers: 1, MaxOps: 2})
	v, g := e.NewVar("v"), newGate()
	e.Push(&engine.Task{Name: "gate", Fn: g.body,
		Uses: []engine.Use{{Var: v, Access: engine.Update}}})
	var n atomic.Int64
	pushed := make(chan struct{})
	go func() {
		defer close(pushed)
		e.Push(&engine.Task{Name: "parent", Cheap: true, Fn: func(r *engine.Run) error {
			for range 5 {
				r.Engine().Push(&engine.Task{Name: "child", Fn: add, Arg: &n,
					Uses: []engine.Use{{Var: v, Access: engine.Update}}})
			}
			return nil
		}})
	}()
	<-pushed // although nothing has been completed
	close(g.open)
	if err := e.WaitAll(bg); err != nil || n.Load() != 5 {
		t.Errorf("got %d nested operations and error %v, want 5", n.Load(), err)
	}
}

func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, cfg := range []engine.Config{{Workers: 1}, {Workers: 2, NoInline: true}, {Naive: true}} {
		e := open(t, cfg)
		v := make([]*engine.Var, 8)
		for i := range v {
			v[i] = e.NewVar("v")
		}
		queued := engine.Task{Name: "queued", Fn: empty}
		task := engine.Task{Name: "task", Fn: empty, Cheap: true}
		run := func() {
			for i := range 1000 {
				e.PushUses(&queued, engine.Use{Var: v[0]},
					engine.Use{Var: v[1], Access: engine.Update})
				e.PushUses(&task, engine.Use{Var: v[i%8]}, engine.Use{Var: v[7-i%8],
					Access: engine.Overwrite})
			}
			e.WaitAll(bg)
		}
		run()
		if got := testing.AllocsPerRun(20, run); got > 20 {
			t.Errorf("%+v: %v allocations in 2000 pushes, want next to none", cfg, got)
		}
	}
}
