package launch

import (
	"context"
	"errors"
	"os"
	"time"
)

// errOrphan is the error of a process whose launcher has died.
var errOrphan = errors.New("launch: the launcher has died")

// A process checks every orphanEvery whether its launcher lives. When the launcher has died, the
// process has orphanGrace to end by itself; then it is ended, because its program may ignore the
// context.
const (
	orphanEvery = time.Second
	orphanGrace = 5 * time.Second
)

// withLauncher returns a context that ends when the launcher dies and so releases the lock of the
// file path. Programs that a script started need it: the kernel kills only the launcher's own
// children with it. The caller must call stop.
func withLauncher(ctx context.Context, path string) (with context.Context, stop func()) {
	if path == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(orphanEvery)
		defer t.Stop()
		for {
			select {
			case <-over:
				return
			case <-t.C:
			}
			f, held, err := probe(path, true)
			if errors.Is(err, errors.ErrUnsupported) {
				return
			}
			if err == nil {
				f.Close()
			}
			if err == nil && !held || errors.Is(err, os.ErrNotExist) {
				cancel(errOrphan)
				select {
				case <-over:
				case <-time.After(orphanGrace):
					os.Exit(ExitRetry)
				}
				return
			}
		}
	}()
	return ctx, func() { close(over); cancel(nil); <-done }
}
