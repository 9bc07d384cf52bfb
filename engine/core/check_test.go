package core

import (
	"strings"
	"testing"
)

// scene is a core in the middle of work. v has a clear read of a, then waiting: the write of b,
// the read of e and the write of d. x is used by queued operations: p and q are issued and write
// and read it, r may be issued and reads it, and s waits to write it. y is unused.
type scene struct {
	c          Core
	v, x, y    Var
	a, b, e, d *Op // of the host
	p, q, r, s *Op // queued, on lanes 1, 1, 2 and 3
	live       map[*Var][]*Use
}

func newScene() *scene {
	z := &scene{live: map[*Var][]*Use{}}
	op := func(lane int32, mode Mode, v *Var) *Op {
		o := &Op{}
		rules := Rules(0)
		if lane > 0 {
			rules = Queued
		}
		o.SetUses([]Use{{Var: v, Mode: mode}})
		o.SetRules(lane, rules)
		z.c.Submit(o)
		z.live[v] = append(z.live[v], &o.uses[0])
		return o
	}
	z.a, z.b = op(0, Read, &z.v), op(0, Update, &z.v)
	z.e, z.d = op(0, Read, &z.v), op(0, Overwrite, &z.v)
	z.p = op(1, Update, &z.x)
	z.c.Issued(z.p, "p")
	z.q, z.r = op(1, Read, &z.x), op(2, Read, &z.x)
	z.c.Issued(z.q, "q")
	z.s = op(3, Update, &z.x)
	return z
}

// check runs every check of the state of z and returns the first error.
func (z *scene) check() error {
	if err := z.c.check(); err != nil {
		return err
	}
	for _, v := range []*Var{&z.v, &z.x, &z.y} {
		if err := checkVar(v, z.live[v]); err != nil {
			return err
		}
	}
	for _, o := range []*Op{z.a, z.b, z.e, z.d, z.p, z.q, z.r, z.s} {
		err := checkOp(o, func(u *Use) []*Use {
			var all []*Use
			for _, b := range z.live[u.Var] {
				if b == u {
					break
				}
				all = append(all, b)
			}
			return all
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// TestCheckFindsFaults breaks one fact of a sound state at a time.
func TestCheckFindsFaults(t *testing.T) {
	if err := newScene().check(); err != nil {
		t.Fatalf("a sound state: %v", err)
	}
	tests := []struct {
		name  string
		spoil func(z *scene)
		want  string
	}{
		{"a clear use is not", func(z *scene) { z.a.uses[0].clear = false }, "is clear: false"},
		{"a waiting read is clear", func(z *scene) { z.e.uses[0].clear = true }, "is clear: true"},
		{"a waiting write is clear", func(z *scene) { z.b.uses[0].clear = true }, "is clear: true"},
		{"the queue lost its first", func(z *scene) { z.v.head = &z.e.uses[0] },
			"not at its place"},
		{"the queue lost its middle", func(z *scene) { z.b.uses[0].next = &z.d.uses[0] },
			"not at its place"},
		{"the queue lost its last", func(z *scene) { z.e.uses[0].next = nil },
			"the tail is another"},
		{"the tail is wrong", func(z *scene) { z.v.tail = &z.e.uses[0] }, "the tail is another"},
		{"the queue has a dead use", func(z *scene) { z.live[&z.v] = z.live[&z.v][:3] },
			"more than the 3 live uses"},
		{"the queue begins with a dead use", func(z *scene) { z.y.head = &Use{} },
			"more than the 0 live uses"},
		{"the tail of an empty queue", func(z *scene) { z.y.tail = &Use{} }, "more than the 0"},
		{"a reader is not counted", func(z *scene) { z.v.readers = 0 }, "found 0 clear readers"},
		{"a reader is counted twice", func(z *scene) { z.v.readers = 2 }, "found 2 clear readers"},
		{"the writer is gone", func(z *scene) { z.x.writer = nil }, "and writer"},
		{"another is the writer", func(z *scene) { z.v.writer = &z.b.uses[0] }, "and writer"},
		{"the front is behind", func(z *scene) { z.x.order.front = nil }, "found front"},
		{"a read before the front is lost", func(z *scene) { z.x.order.reads = 0 },
			"after 0 reads"},
		{"a read overtook", func(z *scene) {
			z.p.uses[0].passed = false
		}, "behind the front has passed"},
		{"the stamp of a write not issued", func(z *scene) { z.x.order.write.op = z.s },
			"stamp of the last write"},
		{"the stamp of a write is a read", func(z *scene) { z.x.order.write.op = z.q },
			"stamp of the last write"},
		{"the stamp of a read not issued", func(z *scene) { z.x.order.behind[0].op = z.r },
			"stamp of a read"},
		{"the stamp of a read is a write", func(z *scene) { z.x.order.behind[0].op = z.p },
			"stamp of a read"},
		{"two stamps of a lane", func(z *scene) {
			z.x.order.behind = append(z.x.order.behind, z.x.order.behind[0])
		}, "two stamps"},
		{"a use of another operation", func(z *scene) { z.a.uses[0].op = z.b },
			"another operation"},
		{"a use counts as clear", func(z *scene) { z.b.unclear = 0 }, "0 uses count as not clear"},
		{"a use counts as waiting", func(z *scene) { z.a.unclear = 1 },
			"1 uses count as not clear"},
		{"a use counts as granted", func(z *scene) { z.s.ungranted = 0 }, "0 uses count as not gr"},
		{"a use waits for its grant", func(z *scene) { z.r.ungranted = 1 },
			"1 uses count as not gr"},
		{"an end was overlooked", func(z *scene) { z.a.finished = true }, "but not retired"},
		{"a decision is left over", func(z *scene) { z.c.due.Push(&Op{}) }, "1 operations are due"},
		{"an end is left over", func(z *scene) { z.c.over.Push(&Op{}) }, "1 are over"},
		{"the count of decisions is off", func(z *scene) { z.c.due.n = 1 }, "1 operations are due"},
		{"the count of ends is off", func(z *scene) { z.c.over.n = 1 }, "1 are over"},
		{"a list is counted empty", func(z *scene) { z.c.due.head = &Op{} },
			"0 operations are due"},
		{"another list is", func(z *scene) { z.c.over.head = &Op{} }, "0 are over"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			z := newScene()
			tt.spoil(z)
			if err := z.check(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one that contains %q", err, tt.want)
			}
		})
	}
}

// TestCheckAcceptsOthers checks facts that mean nothing: grants of operations of the host, and the
// end of an operation that is not clear.
func TestCheckAcceptsOthers(t *testing.T) {
	z := newScene()
	z.b.ungranted, z.b.finished = 7, true
	if err := z.check(); err != nil {
		t.Error(err)
	}
}
