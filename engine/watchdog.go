package engine

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// watchdog reports an engine that has pending operations and completes none, once for each stall.
type watchdog struct {
	e        *Engine
	stop     chan struct{}
	done     uint64 // operations complete at the last look
	reported bool
}

// watch looks every half of limit until stop is closed.
func (d *watchdog) watch(limit time.Duration) {
	tick := time.NewTicker(limit / 2)
	defer tick.Stop()
	still := 0
	for {
		select {
		case <-d.stop:
			return
		case <-tick.C:
		}
		s := d.e.Stats()
		if s.Pending == 0 || s.Completed != d.done || s.Stopped {
			d.done, d.reported, still = s.Completed, false, 0
			continue
		}
		if still++; still < 2 || d.reported {
			continue
		}
		d.reported = true
		var b strings.Builder
		if err := d.e.Dump(&b); err == nil {
			d.e.cfg.Logger.Warn().Dur("for", limit).Str("dump",
				b.String()).Msg("no operation has finished")
		}
	}
}

// maxDump bounds how many operations a dump describes.
const maxDump = 200

// Dump writes the operations that run, the operations that wait for them, and the variables that
// goroutines wait for, with names and call sites.
func (e *Engine) Dump(w io.Writer) error {
	s := e.Stats()
	d := dumper{seen: map[*oper]bool{}, told: map[*waiter]bool{}}
	d.printf("engine: %d operations pending, %d ready, %d of %d cores busy, %d goroutines held "+
		"back\n", s.Pending, s.Ready, s.BusyCores, e.cfg.Workers, s.HeldBack)
	e.sched.mu.Lock()
	e.sched.absorb()
	for _, worker := range e.pools.workers() {
		for _, o := range worker.batch[:worker.n] {
			d.running(o, fmt.Sprintf("worker %d", worker.index))
		}
	}
	for o := range e.sched.flying {
		d.running(o, "asynchronous")
	}
	for w := e.sched.waiting.idle; w != nil; w = w.next {
		d.printf("waiting: a goroutine for everything pending\n")
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
	told map[*waiter]bool
}

func (d *dumper) printf(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

func name(o *oper) string {
	s := fmt.Sprintf("%q on %v", o.name, o.spec.laneOf())
	if at := o.site.String(); at != "" {
		s += ", pushed at " + at
	}
	return s
}

// running describes an operation that runs and its followers.
func (d *dumper) running(o *oper, by string) {
	if d.seen[o] || len(d.seen) >= maxDump {
		return
	}
	d.seen[o] = true
	d.printf("running (%s): %s\n", by, name(o))
	d.followers(o, "  ")
}

// followers describes the operations and goroutines that wait for the uses of o.
func (d *dumper) followers(o *oper, indent string) {
	acc := o.Uses()
	for i := range acc {
		v := varOf(acc[i].Var)
		for cw := range v.q.Waiters() {
			if w := waiterOf(cw); !d.told[w] {
				d.told[w] = true
				d.printf("%sfor variable %q waits: a goroutine, until %d more writes\n", indent,
					v.name, w.Writes-v.q.Writes())
			}
		}
		for u := range v.q.Pending() {
			b := operOf(u.Op())
			if b == o || d.seen[b] {
				continue
			}
			if len(d.seen) >= maxDump {
				d.printf("%s...\n", indent)
				return
			}
			d.seen[b] = true
			d.printf("%sto %v variable %q waits: %s\n", indent, Access(u.Mode), v.name, name(b))
			d.followers(b, indent+"  ")
		}
	}
}
