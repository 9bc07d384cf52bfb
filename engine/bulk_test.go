package engine_test

import (
	"errors"
	"testing"

	"gomx/engine"
)

func TestBulk(t *testing.T) {
	each(t, func(t *testing.T, e *engine.Engine) {
		v, w := e.NewVar("v"), e.NewVar("w")
		x := 0
		b := e.NewBulk(10)
		task := func(name string, u *engine.Var, fn func(r *engine.Run) error) *engine.Task {
			return &engine.Task{Name: name, Fn: fn, Arg: name, Uses: []engine.Use{{Var: u, Access: engine.Update}}}
		}
		for range 25 {
			b.Push(task("add", v, func(r *engine.Run) error {
				if r.Arg != "add" {
					return errors.New("wrong argument")
				}
				x++
				return nil
			}))
		}
		if got := e.Stats().Pushed; got != 2 {
			t.Errorf("pushes of two full bulks: got %d", got)
		}
		b.Flush()
		if err := e.WaitRead(bg, v); err != nil || x != 25 {
			t.Errorf("got %d and error %v, want 25", x, err)
		}
		b.Push(task("good", v, func(*engine.Run) error { x++; return nil }))
		b.Push(task("bad", w, func(*engine.Run) error { panic("oh") }))
		b.Push(task("dropped", v, func(*engine.Run) error { x++; return nil }))
		b.Flush()
		var op *engine.OpError
		if err := e.WaitRead(bg, v); !errors.As(err, &op) || op.Op != "bad" || x != 26 {
			t.Errorf("bulk that fails: got %v and %d runs", err, x)
		}
		b.Push(&engine.Task{Name: "cure", Fn: empty, Uses: []engine.Use{{Var: v, Access: engine.Overwrite}, {Var: w, Access: engine.Overwrite}}})
		b.Push(task("reads", v, empty))
		b.Push(&engine.Task{Name: "wide", Wide: true, Fn: empty, Uses: []engine.Use{{Var: w, Access: engine.Update}}}) // flushes
		if err := errors.Join(e.WaitRead(bg, v), e.WaitRead(bg, w)); err != nil {
			t.Errorf("overwritten by a bulk: got %v", err)
		}
		e.WaitAll(bg)
	})
}
