package null_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gomx/device"
	"gomx/device/null"
	"gomx/engine"
)

var (
	compute = engine.Lane{Device: device.Null(0)}
	copyIn  = engine.Lane{Device: device.Null(0), Kind: engine.CopyIn}
)

// rig is an engine with a stream for each of two lanes.
type rig struct {
	*engine.Engine
	streams map[engine.Lane]*null.Stream
}

func newRig(t *testing.T) *rig {
	t.Helper()
	e, err := engine.New(engine.Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{e, map[engine.Lane]*null.Stream{compute: null.NewStream(),
		copyIn: null.NewStream()}}
}

func (r *rig) push(name string, lane engine.Lane, takes time.Duration, err error,
	uses ...engine.Use) {
	r.PushUses(&engine.Task{Name: name, Lane: lane, Queued: true, Async: null.Enqueue,
		Arg: &null.Work{Stream: r.streams[lane], Takes: takes, Err: err}}, uses...)
}

func (r *rig) close() error {
	err := r.Close()
	for _, s := range r.streams {
		s.Close()
		s.Close()
	}
	return err
}

// TestStreamsOverlap copies a second batch while the first is computed on, in the time of a bubble,
// and looks at the profile.
func TestStreamsOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.StartProfile()
		weight := r.NewVar("weight")
		for i := range 2 {
			batch := r.NewVar(fmt.Sprint("batch", i))
			r.push(fmt.Sprint("copy", i), copyIn, 2*time.Millisecond, nil, engine.Use{Var: batch,
				Access: engine.Overwrite})
			r.push(fmt.Sprint("compute", i), compute, 5*time.Millisecond, nil,
				engine.Use{Var: batch}, engine.Use{Var: weight, Access: engine.Update})
		}
		if err := r.close(); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, s := range p.Spans() {
			got += fmt.Sprintf("%s %v-%v; ", s.Name, s.Start, s.End)
		}
		if want := "copy0 0s-2ms; copy1 2ms-4ms; compute0 2ms-7ms; compute1 7ms-12ms; "; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// TestStreamFails lets a copy fail after the work that depends on it has been put on the other
// queue: it still runs, and its result is poisoned.
func TestStreamFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		batch, sum, other := r.NewVar("batch"), r.NewVar("sum"), r.NewVar("other")
		broken := errors.New("bus error")
		r.push("copy", copyIn, time.Millisecond, broken, engine.Use{Var: batch,
			Access: engine.Overwrite})
		r.push("sum", compute, time.Millisecond, nil, engine.Use{Var: batch},
			engine.Use{Var: sum, Access: engine.Overwrite})
		r.push("other", compute, time.Millisecond, nil, engine.Use{Var: other,
			Access: engine.Overwrite})
		start := time.Now()
		if err := r.WaitRead(context.Background(), sum); !errors.Is(err, broken) {
			t.Errorf("what was computed from the copy: got %v, want %v", err, broken)
		}
		if got := time.Since(start); got != 2*time.Millisecond {
			t.Errorf("the dependent operation was known to be done after %v, want 2ms: it had "+
				"been issued", got)
		}
		if err := r.WaitRead(context.Background(), other); err != nil {
			t.Errorf("independent work: %v", err)
		}
		if err := r.close(); !errors.Is(err, broken) {
			t.Errorf("Close: got %v, want %v", err, broken)
		}
	})
}
