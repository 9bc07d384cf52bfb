package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"gomx/engine"
)

var bg = context.Background()

// open returns an engine that the test closes.
func open(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// kinds are the engines that every test of behaviour runs on.
var kinds = []struct {
	name string
	cfg  engine.Config
}{
	{"naive", engine.Config{Naive: true}},
	{"one worker", engine.Config{Workers: 1}},
	{"two workers", engine.Config{Workers: 2}},
	{"five workers", engine.Config{Workers: 5}},
	{"no inline", engine.Config{Workers: 2, NoInline: true}},
	{"small quota", engine.Config{Workers: 2, MaxOps: 3}},
}

func each(t *testing.T, f func(t *testing.T, e *engine.Engine)) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { f(t, open(t, k.cfg)) })
	}
}

func add(r *engine.Run) error {
	r.Arg.(*atomic.Int64).Add(1)
	return nil
}

func TestVersion(t *testing.T) {
	each(t, func(t *testing.T, e *engine.Engine) {
		var n atomic.Int64
		v := e.NewVar("v")
		for _, access := range []engine.Access{engine.Read, engine.Update} {
			for range 10 {
				e.Push(&engine.Task{Name: "op", Fn: add, Arg: &n,
					Uses: []engine.Use{{Var: v, Access: access}}})
			}
			if err := e.WaitWrite(bg, v); err != nil {
				t.Fatal(err)
			}
			if want := uint64(10 * access / 2); v.Version() != want {
				t.Errorf("version after ten of %v: got %d, want %d", access, v.Version(), want)
			}
		}
		if n.Load() != 20 {
			t.Errorf("bodies run: got %d, want 20", n.Load())
		}
	})
}

func TestPoison(t *testing.T) {
	boom := errors.New("boom")
	fail := func(*engine.Run) error { return boom }
	crash := func(*engine.Run) error { panic(boom) }
	each(t, func(t *testing.T, e *engine.Engine) {
		for _, body := range []func(*engine.Run) error{fail, crash} {
			for _, cheap := range []bool{false, true} {
				var n atomic.Int64
				a, b, c, d := e.NewVar("a"), e.NewVar("b"), e.NewVar("c"), e.NewVar("d")
				e.Push(&engine.Task{Name: "broken", Fn: body, Cheap: cheap,
					Uses:     []engine.Use{{a, engine.Overwrite}},
					Describe: func() string { return "shape (2,3)" }})
				e.Push(&engine.Task{Name: "dependent", Fn: add, Arg: &n, Cheap: cheap,
					Uses: []engine.Use{{a, engine.Read}, {b, engine.Overwrite}}})
				e.Push(&engine.Task{Name: "update", Fn: add, Arg: &n, Cheap: cheap,
					Uses: []engine.Use{{a, engine.Read}, {b, engine.Update}, {c, engine.Update}}})
				e.Push(&engine.Task{Name: "other", Fn: add, Arg: &n, Cheap: cheap,
					Uses: []engine.Use{{d, engine.Update}}})
				for _, v := range []*engine.Var{a, b, c} {
					err := e.WaitRead(bg, v)
					var op *engine.OpError
					if !errors.Is(err, boom) || !errors.As(err, &op) || op.Op != "broken" ||
						!strings.Contains(err.Error(), "cpu(0) (shape (2,3))") {
						t.Fatalf("error of %s: got %v", v.Name(), err)
					}
				}
				if err := e.WaitRead(bg, d); err != nil || n.Load() != 1 {
					t.Fatalf("independent operation: got error %v and %d runs", err, n.Load())
				}
				if a.Version() != 1 || b.Version() != 0 {
					t.Errorf("versions: got %d and %d, want 1 for the failed write and 0 for "+
						"the skipped", a.Version(), b.Version())
				}
				if err := e.ClearError(a); err == nil {
					t.Error("ClearError of a write that failed midway: got nil")
				}
				if err := e.ClearError(b); err != nil {
					t.Errorf("ClearError of skipped writes: got %v", err)
				}
				e.Push(&engine.Task{Name: "cure", Fn: add, Arg: &n, Cheap: cheap,
					Uses: []engine.Use{{a, engine.Overwrite}}})
				for _, v := range []*engine.Var{a, b} {
					if err := e.WaitRead(bg, v); err != nil {
						t.Errorf("cured %s: got %v", v.Name(), err)
					}
				}
				if err := e.WaitAll(bg); !errors.Is(err, boom) {
					t.Errorf("WaitAll: got %v", err)
				}
				if err := e.WaitAll(bg); err != nil {
					t.Errorf("second WaitAll: got %v", err)
				}
			}
		}
	})
}
