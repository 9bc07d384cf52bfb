package launch

import (
	"context"
	"errors"
	"os"
	"time"
)

// errOrphan says that the launcher has died.
var errOrphan = errors.New("launch: the launcher has died")

// A process looks every orphanEvery whether its launcher lives. One that has lost it has
// orphanPatience to end by itself, and is ended then: its program may wait without regard to the
// context.
const (
	orphanEvery    = time.Second
	orphanPatience = 5 * time.Second
)

// withLauncher returns a context that ends when the launcher does, which gives back the lock of the
// file path. The kernel kills the launcher's own children with it, but not programs that a script
// started in its place. stop must be called.
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
				case <-time.After(orphanPatience):
					os.Exit(ExitRetry)
				}
				return
			}
		}
	}()
	return ctx, func() { close(over); cancel(nil); <-done }
}
