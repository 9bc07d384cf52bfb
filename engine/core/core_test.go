package core

import (
	"errors"
	"slices"
	"testing"
)

// run submits an operation and completes it at once if it is ready.
func run(c *Core, failure error, rules Rules, uses ...Use) *Op {
	o := &Op{}
	o.SetUses(uses)
	o.SetRules(0, rules)
	c.Submit(o)
	if ready := c.Ready(); ready == o {
		c.Done(o, failure)
	}
	c.Retired()
	return o
}

// retired takes the operations that are finished with and returns the only one, nil if there is
// none or more than one.
func retired(c *Core) *Op {
	list := c.Retired()
	if list.Len() != 1 {
		return nil
	}
	return list.Pop()
}

func TestAccept(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name   string
		play   func(c *Core, v, w *Var)
		cause  error // of v
		intact bool
	}{
		{"good", func(c *Core, v, w *Var) { run(c, nil, 0, Use{Var: v, Mode: Overwrite}) }, nil,
			false},
		{"failed", func(c *Core, v, w *Var) { run(c, broken, 0, Use{Var: v, Mode: Overwrite}) },
			broken, false},
		{"missed a write", func(c *Core, v, w *Var) {
			run(c, broken, 0, Use{Var: w, Mode: Overwrite})
			run(c, nil, 0, Use{Var: w}, Use{Var: v, Mode: Overwrite})
		}, broken, true},
		{"failed, then missed a write", func(c *Core, v, w *Var) {
			run(c, broken, 0, Use{Var: v, Mode: Overwrite}, Use{Var: w, Mode: Overwrite})
			run(c, nil, 0, Use{Var: w}, Use{Var: v, Mode: Overwrite})
		}, broken, false},
		{"ran on a poisoned input", func(c *Core, v, w *Var) {
			run(c, broken, 0, Use{Var: w, Mode: Overwrite})
			run(c, nil, Always, Use{Var: w}, Use{Var: v, Mode: Overwrite})
		}, broken, false},
		{"held by a silent operation", func(c *Core, v, w *Var) {
			run(c, broken, 0, Use{Var: v, Mode: Overwrite})
			run(c, nil, Silent, Use{Var: v, Mode: Overwrite})
		}, broken, false},
		{"cured", func(c *Core, v, w *Var) {
			run(c, broken, 0, Use{Var: v, Mode: Overwrite})
			run(c, nil, 0, Use{Var: v, Mode: Overwrite})
		}, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c Core
			var v, w Var
			tt.play(&c, &v, &w)
			before := c.Counts().Poisoned
			p := v.Poison()
			if (p == nil) != (tt.cause == nil) || p != nil && (p.Cause != tt.cause ||
				p.Intact != tt.intact) {
				t.Fatalf("got poison %+v, want cause %v and intact %v", p, tt.cause, tt.intact)
			}
			undefined := c.Accept(&v)
			if want := tt.cause != nil && !tt.intact; (undefined != nil) != want ||
				(v.Poison() != nil) != want {
				t.Errorf("Accept returned %v and left %v, want an undefined value: %v", undefined,
					v.Poison(), want)
			}
			if got := before - c.Counts().Poisoned; (got == 1) != tt.intact {
				t.Errorf("Accept changed the count of poisoned variables by %d, intact is %v", got,
					tt.intact)
			}
		})
	}
}

func TestForget(t *testing.T) {
	var c Core
	var v Var
	o := &Op{}
	o.SetUses([]Use{{Var: &v, Mode: Update}})
	o.SetRules(0, 0)
	c.Submit(o)
	a, b := &Waiter{Writes: 1}, &Waiter{Writes: 1}
	c.Await(&v, a)
	c.Await(&v, b)
	if got := slices.Collect(v.Waiters()); !slices.Equal(got, []*Waiter{b, a}) {
		t.Errorf("got waiters %v, want both", got)
	}
	if !c.Forget(&v, a) || c.Forget(&v, a) {
		t.Error("Forget did not report that the waiter was there once")
	}
	c.Done(c.Ready(), nil)
	if got := c.Woken(); got != b {
		t.Errorf("got waiter %p, want %p", got, b)
	}
	if got := c.Woken(); got != nil {
		t.Errorf("got another waiter %p, want none", got)
	}
}

// TestRunning submits an operation that runs already: it is never handed out as ready.
func TestRunning(t *testing.T) {
	var c Core
	var v Var
	o, next := &Op{}, &Op{}
	o.SetUses([]Use{{Var: &v, Mode: Update}})
	o.SetRules(0, Running)
	next.SetUses([]Use{{Var: &v}})
	next.SetRules(0, 0)
	c.Submit(o)
	c.Submit(next)
	if got := c.Ready(); got != nil || c.Waiting() != 0 {
		t.Fatalf("got ready operation %p, want none", got)
	}
	if v.Writer() != o || next.Clear() || next.Blocker() != &v || o.Blocker() != nil {
		t.Error("the follower does not wait for the running operation")
	}
	if got := slices.Collect(v.Pending()); len(got) != 1 || got[0].Op() != next || got[0].clear {
		t.Errorf("got pending uses %v, want the follower's", got)
	}
	c.Done(o, nil)
	if c.Ready() != next || retired(&c) != o || v.Writer() != nil || o.Uses()[0].Last() {
		t.Error("the end of the running operation did not release the follower")
	}
	c.Done(next, nil)
	if retired(&c) != next || !next.Uses()[0].Last() || !v.Quiet() {
		t.Error("the end of the follower did not leave the variable quiet")
	}
}

// TestRunningInheritsNothing submits an operation that runs already on a poisoned variable: its
// result is good.
func TestRunningInheritsNothing(t *testing.T) {
	var c Core
	var v Var
	run(&c, errors.New("broken"), 0, Use{Var: &v, Mode: Overwrite})
	o := &Op{}
	o.SetUses([]Use{{Var: &v, Mode: Update}})
	o.SetRules(0, Running)
	c.Submit(o)
	c.Done(o, nil)
	if retired(&c) != o || o.Inherited() != nil || v.Poison() != nil {
		t.Errorf("got inherited error %v and poison %v, want none", o.Inherited(), v.Poison())
	}
}

// TestWoken wakes the waiters whose writes are complete, and no others, however they are listed.
func TestWoken(t *testing.T) {
	var c Core
	var v Var
	waiters := []*Waiter{{Writes: 2}, {Writes: 1}, {Writes: 3}, {Writes: 1}, {Writes: 2}}
	for _, w := range waiters {
		c.Await(&v, w)
	}
	for n := uint64(1); n <= 3; n++ {
		run(&c, nil, 0, Use{Var: &v, Mode: Update})
		got, want := 0, 0
		for w := c.Woken(); w != nil; w = c.Woken() {
			if w.Writes != n || w.next != nil {
				t.Errorf("after %d writes a waiter for %d was woken", n, w.Writes)
			}
			got++
		}
		for _, w := range waiters {
			if w.Writes == n {
				want++
			}
		}
		if got != want {
			t.Errorf("after %d writes: got %d waiters, want %d", n, got, want)
		}
	}
}

// TestListsEndEarly ends the iterators of a variable early.
func TestListsEndEarly(t *testing.T) {
	var c Core
	var v Var
	ops := make([]Op, 4)
	for i := range ops {
		ops[i].SetUses([]Use{{Var: &v, Mode: Update}})
		ops[i].SetRules(0, 0)
		c.Submit(&ops[i])
		c.Await(&v, &Waiter{Writes: 4})
	}
	if got := len(slices.Collect(v.Pending())); got != 3 {
		t.Errorf("got %d pending uses, want 3", got)
	}
	uses, waiters := 0, 0
	for u := range v.Pending() {
		if uses++; u.Op() != &ops[uses] {
			t.Errorf("pending use %d is of another operation", uses)
		}
		if uses == 2 {
			break
		}
	}
	for range v.Waiters() {
		if waiters++; waiters == 2 {
			break
		}
	}
	if uses != 2 || waiters != 2 {
		t.Errorf("got %d uses and %d waiters, want two of each", uses, waiters)
	}
}

// TestTakeFirst takes the first failure since the last call; a skipped operation is none.
func TestTakeFirst(t *testing.T) {
	var c Core
	var v, w Var
	first, second := errors.New("first"), errors.New("second")
	run(&c, first, 0, Use{Var: &v, Mode: Overwrite})
	run(&c, second, 0, Use{Var: &w, Mode: Overwrite})
	run(&c, nil, 0, Use{Var: &v}, Use{Var: &w, Mode: Update})
	if got := c.TakeFirst(); got != first {
		t.Errorf("got %v, want %v", got, first)
	}
	if got := c.TakeFirst(); got != nil {
		t.Errorf("got %v the second time, want nothing", got)
	}
	run(&c, second, 0, Use{Var: &v, Mode: Overwrite})
	if got := c.TakeFirst(); got != second {
		t.Errorf("got %v after another failure, want %v", got, second)
	}
	if got := c.Counts(); got != (Counts{Failed: 3, Skipped: 1, Poisoned: 2}) {
		t.Errorf("got counts %+v", got)
	}
}

func TestReset(t *testing.T) {
	var c Core
	var v Var
	uses := []Use{{Var: &v, Mode: Overwrite}}
	o := run(&c, errors.New("broken"), Always, uses...)
	if o.failure() == nil || !o.Rules().Is(Always) {
		t.Fatalf("got failure %v and rules %v before Reset", o.failure(), o.Rules())
	}
	o.Reset()
	if o.failure() != nil || o.Inherited() != nil || o.Rules() != 0 || o.Uses() != nil ||
		o.Skipped() {
		t.Errorf("got %+v after Reset, want no trace of the run", o)
	}
}

func TestModeMerge(t *testing.T) {
	for _, tt := range []struct{ a, b, want Mode }{
		{Read, Read, Read}, {Overwrite, Overwrite, Overwrite}, {Read, Overwrite, Update},
		{Update, Read, Update},
	} {
		if got := tt.a.Merge(tt.b); got != tt.want {
			t.Errorf("%v.Merge(%v): got %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestList(t *testing.T) {
	ops := make([]Op, 4)
	fill := func() *List {
		l := &List{}
		for i := range ops {
			l.Push(&ops[i])
		}
		return l
	}
	order := func(l *List) (got []int) {
		for o := l.Pop(); o != nil; o = l.Pop() {
			if o.Next() != nil {
				t.Errorf("operation %d was taken with the one behind it", indexOf(ops, o))
			}
			got = append(got, indexOf(ops, o))
		}
		return got
	}
	tests := []struct {
		name    string
		remove  int
		reach   int
		removed bool
		want    []int
	}{
		{"first", 0, 4, true, []int{1, 2, 3}},
		{"middle", 1, 4, true, []int{0, 2, 3}},
		{"last", 3, 4, true, []int{0, 1, 2}},
		{"at the end of the reach", 1, 2, true, []int{0, 2, 3}},
		{"beyond the reach", 2, 2, false, []int{0, 1, 2, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := fill()
			if got := l.Remove(&ops[tt.remove], tt.reach); got != tt.removed {
				t.Errorf("Remove returned %v, want %v", got, tt.removed)
			}
			if l.Len() != len(tt.want) || l.First() != &ops[tt.want[0]] {
				t.Errorf("got %d operations, want %d", l.Len(), len(tt.want))
			}
			l.Push(l.Pop()) // the tail is still right
			want := append(slices.Clone(tt.want[1:]), tt.want[0])
			if got := order(l); !slices.Equal(got, want) {
				t.Errorf("got order %v, want %v", got, want)
			}
		})
	}
	dropped, l := fill(), &List{} // the operations of a dropped list keep their links
	l.Push(&ops[0])
	if dropped.First() != &ops[0] || l.Pop() != &ops[0] || l.Pop() != nil || l.Len() != 0 {
		t.Error("an operation took its old followers into another list")
	}
	if (&List{}).Remove(nil, 4) || fill().Remove(nil, 9) {
		t.Error("no operation was removed")
	}
	if (&List{}).Remove(&ops[0], 4) {
		t.Error("an operation was removed from an empty list")
	}
}

func indexOf(ops []Op, o *Op) int {
	for i := range ops {
		if &ops[i] == o {
			return i
		}
	}
	return -1
}
