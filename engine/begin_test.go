package engine_test

import (
	"errors"
	"testing"

	"gomx/engine"
)

// request is a cheap asynchronous operation that a test completes.
type request struct {
	begun bool
	fail  error // what the body panics with
	done  func(error)
}

func (q *request) body(_ *engine.Run, done func(error)) {
	q.begun, q.done = true, done
	if q.fail != nil {
		panic(q.fail)
	}
}

func (q *request) push(e *engine.Engine, v *engine.Var) {
	e.Push(&engine.Task{Name: "request", Async: q.body, Cheap: true,
		Uses: []engine.Use{{Var: v, Access: engine.Update}}})
}

// TestCheapAsync demands that a cheap asynchronous operation begins on the goroutine that pushes it,
// or on the goroutine that completes its last dependence.
func TestCheapAsync(t *testing.T) {
	e := open(t, engine.Config{Workers: 2})
	v := e.NewVar("v")
	var first, second request
	first.push(e, v)
	if !first.begun {
		t.Fatal("the first has not begun when Push returns")
	}
	second.push(e, v)
	if second.begun {
		t.Fatal("the second has begun before the first was complete")
	}
	first.done(nil)
	if !second.begun {
		t.Fatal("the second has not begun when the first is complete")
	}
	second.done(nil)
	if err := e.WaitRead(bg, v); err != nil {
		t.Error(err)
	}
	if got := v.Version(); got != 2 {
		t.Errorf("version %d after two writes", got)
	}
}

// TestCheapAsyncFails: a body that panics fails, wherever it runs, and what follows is skipped.
func TestCheapAsyncFails(t *testing.T) {
	e := open(t, engine.Config{Workers: 2})
	boom := errors.New("boom")
	for name, late := range map[string]bool{"at the push": false, "behind another": true} {
		v := e.NewVar(name)
		var before, skipped request
		if late {
			before.push(e, v)
		}
		(&request{fail: boom}).push(e, v)
		skipped.push(e, v)
		if late {
			before.done(nil)
		}
		if err := e.WaitRead(bg, v); !errors.Is(err, boom) {
			t.Errorf("%s: got %v", name, err)
		}
		if skipped.begun {
			t.Errorf("%s: what followed has run", name)
		}
	}
}

// TestCheapAsyncCompletesInItsBody: a long chain of operations that are complete at once takes no
// stack.
func TestCheapAsyncCompletesInItsBody(t *testing.T) {
	e := open(t, engine.Config{Workers: 2})
	v := e.NewVar("v")
	var first request
	first.push(e, v)
	const n = 2000
	for range n {
		e.Push(&engine.Task{Name: "at once", Cheap: true, Async: func(_ *engine.Run,
			done func(error)) {
			done(nil)
		},
			Uses: []engine.Use{{Var: v, Access: engine.Update}}})
	}
	first.done(nil)
	if err := e.WaitRead(bg, v); err != nil {
		t.Error(err)
	}
	if got := v.Version(); got != n+1 {
		t.Errorf("version %d, want %d", got, n+1)
	}
}
