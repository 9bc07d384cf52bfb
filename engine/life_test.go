package engine_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"gomx/device"
	"gomx/engine"
)

func TestStop(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, err := engine.New(k.cfg)
				if err != nil {
					t.Fatal(err)
				}
				var n atomic.Int64
				v, w := e.NewVar("v"), e.NewVar("w")
				boom := errors.New("boom")
				push := func() {
					// Of all pools, with more operations than the smallest quota.
					e.Push(&engine.Task{Name: "narrow", Fn: add, Arg: &n,
						Uses: []engine.Use{{Var: v, Access: engine.Update}}})
					e.Push(&engine.Task{Name: "wide", Fn: add, Arg: &n, Wide: true,
						Uses: []engine.Use{{Var: v, Access: engine.Update}}})
					e.Push(&engine.Task{Name: "lane", Fn: add, Arg: &n,
						Lane: engine.Lane{Device: device.Null(1)}})
					e.Push(&engine.Task{Name: "fails", Fn: func(*engine.Run) error { return boom },
						Uses: []engine.Use{{Var: w, Access: engine.Update}}})
				}
				e.Start()
				push()
				if err := e.WaitAll(bg); !errors.Is(err, boom) || n.Load() != 3 {
					t.Fatalf("before Stop: got %d runs and error %v", n.Load(), err)
				}
				for round := range int64(3) {
					e.Stop()
					e.Stop()
					go push() // held back by the smallest quota
					synctest.Wait()
					if got, want := n.Load(), 3+3*round; got != want {
						t.Errorf("stopped: got %d runs, want %d", got, want)
					}
					if got := e.Stats(); !got.Stopped || got.Pending == 0 {
						t.Errorf("stopped: got %+v, want pending operations", got)
					}
					e.Start()
					synctest.Wait()
					if got, want := n.Load(), 6+3*round; got != want || e.Stats().Stopped {
						t.Errorf("started: got %d runs and %+v, want %d", got, e.Stats(), want)
					}
					if err := e.WaitRead(bg, w); !errors.Is(err, boom) {
						t.Errorf("an error from before: got %v", err)
					}
				}
				e.Stop()
				e.Push(&engine.Task{Name: "last", Fn: add, Arg: &n})
				e.Close()
				if n.Load() != 13 {
					t.Errorf("closed while stopped: got %d runs, want 13", n.Load())
				}
				e.Stop()
				e.Start()
			})
		})
	}
}

// TestStopLetsBodiesEnd stops an engine while a body runs and another operation waits for it.
func TestStopLetsBodiesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.New(engine.Config{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		var n atomic.Int64
		v, g := e.NewVar("v"), newGate()
		e.Push(&engine.Task{Name: "gate", Fn: g.body,
			Uses: []engine.Use{{Var: v, Access: engine.Update}}})
		e.Push(&engine.Task{Name: "next", Fn: add, Arg: &n,
			Uses: []engine.Use{{Var: v, Access: engine.Update}}})
		<-g.entered
		stopped := false
		go func() { e.Stop(); stopped = true }()
		synctest.Wait()
		if stopped {
			t.Error("Stop has returned while a body runs")
		}
		close(g.open)
		synctest.Wait()
		if !stopped || n.Load() != 0 {
			t.Errorf("got %d runs of what comes next (stopped: %v), want 0", n.Load(), stopped)
		}
		e.Start()
		if err := e.Close(); err != nil || n.Load() != 1 {
			t.Errorf("got %d runs and error %v, want 1", n.Load(), err)
		}
	})
}
