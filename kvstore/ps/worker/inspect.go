package worker

import (
	"errors"
	"fmt"
)

// Lent returns how many parts of ended calls a worker keeps because a transport reads their memory.
// It falls to 0 when the driver has released everything.
func (w *Worker) Lent() int { return len(w.lent) }

// Audit reports parts of calls that are counted wrongly or are in two places. It goes through all
// calls, and is for tests.
func (w *Worker) Audit() error {
	place, left := map[*part]string{}, map[*call]int{}
	var err error
	add := func(p *part, where string) {
		if p == nil {
			return
		}
		if other, twice := place[p]; twice {
			err = fmt.Errorf("a part is %s and %s", other, where)
		} else if p.call != nil || where != "unused" && !(where == "lent" && p.kept) {
			left[p.call]++
		}
		place[p] = where
	}
	all := func(list []*part, where string) {
		for _, p := range list {
			add(p, where)
		}
	}
	for _, r := range w.shards {
		for i := range r.flight.Len() {
			add(r.flight.At(r.flight.First+uint64(i)), "in flight")
		}
		all(r.ready, "ready")
	}
	for _, k := range w.keys {
		for _, sl := range k.slices {
			all(sl.queue, "in a queue")
		}
	}
	all(w.slots, "waiting for an answer")
	all(w.lent, "lent")
	all(w.idle, "unused")
	for c, n := range left {
		if c == nil {
			err = errors.New("a part in use belongs to no call")
		} else if c == w.joining {
			n++
		}
		if c != nil && c.left != n {
			err = fmt.Errorf("%s of key %d has %d parts, counted as %d", c.op, c.key, n, c.left)
		}
	}
	return err
}
