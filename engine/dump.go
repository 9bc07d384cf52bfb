package engine

import (
	"fmt"
	"io"
	"strings"
)

// maxDump bounds how many operations a dump describes.
const maxDump = 200

// Dump writes who waits for whom: the operations that run, what waits for them, and who waits for a variable, with names and call sites.
func (e *Engine) Dump(w io.Writer) error {
	s := e.Stats()
	d := dumper{seen: map[*oper]bool{}}
	d.printf("engine: %d operations pending, %d ready, %d of %d cores busy, %d goroutines held back\n", s.Pending, s.Ready, s.BusyCores, e.cfg.Workers, s.HeldBack)
	e.sched.mu.Lock()
	e.absorb()
	for _, worker := range e.team() {
		for _, o := range worker.batch[:worker.n] {
			d.running(o, fmt.Sprintf("worker %d", worker.index))
		}
	}
	for o := range e.sched.flying {
		d.running(o, "asynchronous")
	}
	for r := range e.sched.parked {
		d.waiter(r)
	}
	var out outbox
	e.leave(&out)
	_, err := io.WriteString(w, d.b.String())
	return err
}

// dumper collects a dump while the scheduler's lock is held.
type dumper struct {
	b    strings.Builder
	seen map[*oper]bool
}

func (d *dumper) printf(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

func name(o *oper) string {
	s := fmt.Sprintf("%q on %v", o.spec.name, o.spec.laneOf())
	if at := o.site.String(); at != "" {
		s += ", pushed at " + at
	}
	return s
}

// running describes an operation that runs and what waits for it.
func (d *dumper) running(o *oper, by string) {
	if d.seen[o] || len(d.seen) >= maxDump {
		return
	}
	d.seen[o] = true
	d.printf("running (%s): %s\n", by, name(o))
	d.followers(o, "  ")
}

// followers describes what waits for the accesses of o.
func (d *dumper) followers(o *oper, indent string) {
	for _, a := range o.acc() {
		for b := a.v.q.head; b != nil; b = b.next {
			if b.op == o || d.seen[b.op] {
				continue
			}
			if len(d.seen) >= maxDump {
				d.printf("%s...\n", indent)
				return
			}
			d.seen[b.op] = true
			d.printf("%sto %v variable %q waits: %s\n", indent, b.mode, a.v.name, name(b.op))
			d.followers(b.op, indent+"  ")
		}
	}
}

// waiter describes somebody who waits for a variable, and the write that it waits for first.
func (d *dumper) waiter(w *waiter) {
	if w.v == nil {
		d.printf("waiting: somebody for everything pending\n")
		return
	}
	d.printf("waiting: somebody for variable %q, of which %d writes are complete and %d wanted", w.v.name, w.v.q.writes, w.writes)
	if a := w.v.q.writer; a != nil {
		d.printf("; the next is %s", name(a.op))
	} else if a := w.v.q.head; a != nil {
		d.printf("; the next use is %s, while %d others read", name(a.op), w.v.q.readers)
	}
	d.printf("\n")
}
