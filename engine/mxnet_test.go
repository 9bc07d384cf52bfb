package engine_test

import (
	"errors"
	"math/rand"
	"sync/atomic"
	"testing"

	"gomx/engine"
)

// The tests in this file re-create those of MXNet's engine:
// tests/cpp/engine/threaded_engine_test.cc and tests/python/unittest/test_exc_handling.py. Where
// the outcome differs on purpose the comment says so.

// TestRandSumExpr is MXNet's main test: random sums over a hundred variables must come out as in a
// serial run, on every engine.
func TestRandSumExpr(t *testing.T) {
	type workload struct {
		reads []int
		write int
	}
	const vars, loads = 100, 2000
	r := rand.New(rand.NewSource(7))
	all := make([]workload, loads)
	for i := range all {
		all[i].write = r.Intn(vars)
		for range 2 + r.Intn(18) {
			all[i].reads = append(all[i].reads, r.Intn(vars))
		}
	}
	eval := func(data []uint64, w workload) {
		sum := uint64(0)
		for _, i := range w.reads {
			sum += data[i]
		}
		data[w.write] = sum
	}
	want := make([]uint64, vars)
	for i := range want {
		want[i] = uint64(i)
	}
	initial := append([]uint64(nil), want...)
	for _, w := range all {
		eval(want, w)
	}
	each(t, func(t *testing.T, e *engine.Engine) {
		data := append([]uint64(nil), initial...)
		v := make([]*engine.Var, vars)
		for i := range v {
			v[i] = e.NewVar("")
		}
		for i, w := range all {
			uses := []engine.Use{{Var: v[w.write], Access: engine.Overwrite}}
			for _, i := range w.reads {
				uses = append(uses, engine.Use{Var: v[i]})
			}
			e.Push(&engine.Task{Name: "sum", Cheap: i%2 == 0, Uses: uses,
				Fn: func(*engine.Run) error { eval(data, w); return nil }})
		}
		if err := e.WaitAll(bg); err != nil {
			t.Fatal(err)
		}
		for i := range data {
			if data[i] != want[i] {
				t.Fatalf("variable %d: got %d, want %d", i, data[i], want[i])
			}
		}
	})
}

// TestBasics follows the test "basics": deletion of variables in order, waiting for a variable that
// nothing uses.
func TestBasics(t *testing.T) {
	each(t, func(t *testing.T, e *engine.Engine) {
		var n atomic.Int64
		v := e.NewVar("v")
		if err := e.WaitRead(bg, v); err != nil {
			t.Error(err)
		}
		for range 10 {
			e.Push(&engine.Task{Name: "read", Fn: add, Arg: &n, Uses: []engine.Use{{Var: v}}})
		}
		for range 10 {
			e.Push(&engine.Task{Name: "update", Fn: add, Arg: &n,
				Uses: []engine.Use{{Var: v, Access: engine.Update}}})
		}
		var atDeletion int64
		e.DeleteVar(v, func() { atDeletion = n.Load() })
		if err := e.WaitAll(bg); err != nil || n.Load() != 20 || atDeletion != 20 {
			t.Errorf("got %d runs, %d before the deletion, and error %v; want 20 and 20", n.Load(),
				atDeletion, err)
		}
	})
}

var errExc = errors.New("sigma is negative")

// exc pushes what test_exc_handling.py does: an operation that fails, and two that use its result.
func exc(e *engine.Engine, access engine.Access) (failed, first, second *engine.Var) {
	failed, first, second = e.NewVar("failed"), e.NewVar("first"), e.NewVar("second")
	fail := func(*engine.Run) error { return errExc }
	e.Push(&engine.Task{Name: "normal", Fn: fail,
		Uses: []engine.Use{{Var: failed, Access: access}}})
	e.Push(&engine.Task{Name: "dot", Fn: empty, Uses: []engine.Use{{Var: failed},
		{Var: first, Access: engine.Overwrite}}})
	e.Push(&engine.Task{Name: "dot", Fn: empty, Uses: []engine.Use{{Var: failed},
		{Var: second, Access: engine.Overwrite}}})
	return failed, first, second
}

// TestExcWaits is test_exc_imperative, test_exc_symbolic, test_exc_multiple_waits,
// test_exc_post_fail and test_exc_mutable_var_fail: an error is invisible until somebody waits. In
// MXNet only the first wait throws, whatever it waits for; here every wait for a bad value does.
func TestExcWaits(t *testing.T) {
	each(t, func(t *testing.T, e *engine.Engine) {
		for _, access := range []engine.Access{engine.Overwrite, engine.Update} {
			failed, first, second := exc(e, access)
			for range 2 {
				for _, v := range []*engine.Var{first, second, failed} {
					if err := e.WaitRead(bg, v); !errors.Is(err, errExc) {
						t.Errorf("wait for %s: got %v", v.Name(), err)
					}
				}
			}
		}
	})
}

// TestExcWaitAll is test_multiple_waitalls and test_exc_profiler: the first WaitAll reports the
// error, the second does not. Unlike MXNet the variables still do.
func TestExcWaitAll(t *testing.T) {
	each(t, func(t *testing.T, e *engine.Engine) {
		p := e.StartProfile()
		defer p.Stop()
		_, first, _ := exc(e, engine.Overwrite)
		if err := e.WaitAll(bg); !errors.Is(err, errExc) {
			t.Errorf("first WaitAll: got %v", err)
		}
		if err := e.WaitAll(bg); err != nil {
			t.Errorf("second WaitAll: got %v", err)
		}
		if err := e.WaitRead(bg, first); !errors.Is(err, errExc) {
			t.Errorf("the variable afterwards: got %v", err)
		}
	})
}
