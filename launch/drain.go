package launch

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// drainer asks a process to leave its job.
type drainer struct {
	mu   sync.Mutex
	ask  func() bool   // nil: the process has no place in a job
	time time.Duration // in which the process leaves
}

// defaultDrain is the time in which a process leaves its job.
const defaultDrain = 30 * time.Second

type drainerKey struct{}

// drainerOf returns the drainer of a context, nil if there is none.
func drainerOf(ctx context.Context) *drainer {
	d, _ := ctx.Value(drainerKey{}).(*drainer)
	return d
}

// set returns the function that takes in how the process is asked to leave; nil without a drainer.
func (d *drainer) set(limit time.Duration) func(ask func() bool) {
	if d == nil {
		return nil
	}
	return func(ask func() bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.ask, d.time = ask, limit; d.time == 0 {
			d.time = defaultDrain
		}
	}
}

// drain asks the process to leave. It reports the time that it has, and whether it can leave.
func (d *drainer) drain() (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.time, d.ask != nil && d.ask()
}

// withSignals returns a context that an interrupt ends, and SIGTERM when the process cannot leave
// its job, or has not left it in time, or with the second one.
func withSignals(ctx context.Context) (with context.Context, stop func()) {
	d := &drainer{}
	ctx, cancel := context.WithCancel(context.WithValue(ctx, drainerKey{}, d))
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over := make(chan struct{})
	go func() {
		asked := false
		var late <-chan time.Time
		for {
			select {
			case <-over:
				return
			case <-late:
				cancel()
			case s := <-signals:
				limit, can := time.Duration(0), false
				if s == syscall.SIGTERM && !asked {
					limit, can = d.drain()
				}
				if asked = true; !can {
					cancel()
					continue
				}
				late = time.After(limit)
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(over)
		cancel()
	})
}
