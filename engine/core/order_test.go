package core

import (
	"errors"
	"slices"
	"testing"
)

// queue submits a queued operation of a lane and issues it with the given event, unless that is "".
func queue(c *Core, lane int32, event string, uses ...Use) *Op {
	o := &Op{}
	o.SetUses(uses)
	o.SetRules(lane, Queued)
	c.Submit(o)
	if event != "" {
		c.Issued(o, event)
	}
	return o
}

// TestWaits lists the events that an operation on lane 1 waits for.
func TestWaits(t *testing.T) {
	read := func(v *Var) Use { return Use{Var: v} }
	write := func(v *Var) Use { return Use{Var: v, Mode: Update} }
	tests := []struct {
		name string
		play func(c *Core, v, w *Var) *Op
		want []any
	}{
		{"nothing before", func(c *Core, v, w *Var) *Op { return queue(c, 1, "", write(v)) }, nil},
		{"a write of the same lane", func(c *Core, v, w *Var) *Op {
			queue(c, 1, "a", write(v))
			return queue(c, 1, "", read(v))
		}, nil},
		{"a write of another lane", func(c *Core, v, w *Var) *Op {
			queue(c, 2, "a", write(v))
			return queue(c, 1, "", read(v))
		}, []any{"a"}},
		{"the last write alone", func(c *Core, v, w *Var) *Op {
			queue(c, 2, "a", write(v))
			queue(c, 2, "b", write(v))
			return queue(c, 1, "", read(v))
		}, []any{"b"}},
		{"reads do not wait for reads", func(c *Core, v, w *Var) *Op {
			queue(c, 2, "a", read(v))
			return queue(c, 1, "", read(v))
		}, nil},
		{"the last read of each other lane", func(c *Core, v, w *Var) *Op {
			queue(c, 2, "a", read(v))
			queue(c, 1, "b", read(v))
			queue(c, 3, "c", read(v))
			queue(c, 2, "d", read(v))
			return queue(c, 1, "", write(v))
		}, []any{"d", "c"}},
		{"a write forgets the reads before it", func(c *Core, v, w *Var) *Op {
			queue(c, 2, "a", read(v))
			queue(c, 3, "b", read(v))
			queue(c, 3, "c", write(v))
			return queue(c, 1, "", write(v))
		}, []any{"c"}},
		{"complete operations", func(c *Core, v, w *Var) *Op {
			a, b := queue(c, 2, "a", write(v)), queue(c, 3, "b", write(w))
			queue(c, 3, "c", read(w))
			c.Done(a, nil)
			c.Done(b, nil)
			return queue(c, 1, "", write(v), write(w))
		}, []any{"c"}},
		{"one of two complete reads", func(c *Core, v, w *Var) *Op {
			a := queue(c, 2, "a", read(v))
			queue(c, 3, "b", read(v))
			c.Done(a, nil)
			return queue(c, 1, "", write(v))
		}, []any{"b"}},
		{"the second issue of an operation is ignored", func(c *Core, v, w *Var) *Op {
			a := queue(c, 2, "a", write(v))
			b := queue(c, 3, "b", read(v), write(w))
			c.Issued(b, "again")
			c.Issued(a, "again")
			return queue(c, 1, "", read(v), read(w))
		}, []any{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c Core
			var v, w Var
			o := tt.play(&c, &v, &w)
			if got := c.Waits(o, nil); !slices.Equal(got, tt.want) {
				t.Errorf("got events %v, want %v", got, tt.want)
			}
			for _, r := range []*order{v.order, w.order} {
				if r == nil {
					continue
				}
				for _, s := range r.behind[len(r.behind):cap(r.behind)] {
					if s != (stamp{}) {
						t.Errorf("the order keeps event %v, which nobody waits for", s.event)
					}
				}
			}
		})
	}
}

// TestOrderOfAHostVariable makes a variable that the host uses known to a device.
func TestOrderOfAHostVariable(t *testing.T) {
	host := func(c *Core, mode Mode, v *Var) *Op {
		o := &Op{}
		o.SetUses([]Use{{Var: v, Mode: mode}})
		o.SetRules(0, 0)
		c.Submit(o)
		return o
	}
	var c Core
	var v Var
	read, write, last := host(&c, Read, &v), host(&c, Update, &v), host(&c, Read, &v)
	o := queue(&c, 1, "", Use{Var: &v, Mode: Update})
	ready := func() (got []*Op) {
		for o := c.Ready(); o != nil; o = c.Ready() {
			got = append(got, o)
		}
		return got
	}
	for i, step := range []struct{ done, want *Op }{{nil, read}, {read, write}, {write, last},
		{last, o}} {
		if step.done != nil {
			c.Done(step.done, nil)
		}
		if got := ready(); !slices.Equal(got, []*Op{step.want}) {
			t.Fatalf("step %d: got ready operations %v, want the next alone", i, got)
		}
	}
}

// TestFailureAfterIssue fails an operation whose follower is on its device already.
func TestFailureAfterIssue(t *testing.T) {
	var c Core
	var v, w, x Var
	a := queue(&c, 1, "a", Use{Var: &v, Mode: Overwrite})
	b := queue(&c, 1, "b", Use{Var: &v}, Use{Var: &w, Mode: Overwrite})
	other := queue(&c, 1, "c", Use{Var: &x, Mode: Overwrite})
	broken := errors.New("broken")
	c.Done(a, broken)
	c.Done(b, nil)
	c.Done(other, nil)
	for _, tt := range []struct {
		name string
		o    *Op
		v    *Var
		want error
	}{{"first", a, &v, broken}, {"follower", b, &w, broken}, {"another", other, &x, nil}} {
		p := tt.v.Poison()
		if (p != nil) != (tt.want != nil) || p != nil && (p.Cause != tt.want || p.Intact) {
			t.Errorf("%s: got poison %+v, want %v of an undefined value", tt.name, p, tt.want)
		}
	}
	if got := c.Counts(); got != (Counts{Failed: 1, Poisoned: 2}) {
		t.Errorf("got counts %+v, want one failure and two poisoned variables", got)
	}
}
