//go:build cuda

package cuda

import (
	"runtime"
	"unsafe"

	"gorgonia.org/cu"
)

// SettleWithoutContext copies to the host and lets a thread without a context wait for the copy, as
// happens when the runtime moves a goroutine between two calls.
func SettleWithoutContext(q *Queue) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	s, err := q.nextStage()
	if err != nil {
		return err
	}
	if s.event, err = q.mark(); err != nil {
		return err
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_ = cu.SetCurrentContext(cu.CUContext{})
		done <- q.settle(s)
	}()
	return <-done
}

// EventOf returns the driver's event of a mark.
func EventOf(mark any) unsafe.Pointer { return mark.(*Event).e }

// Polls returns how often the watcher has looked at all queues.
func Polls() int64 {
	watch.mu.Lock()
	defer watch.mu.Unlock()
	return watch.polls
}

// Recording puts q in the state of a recording while work runs.
func Recording(q *Queue, work func() error) error {
	q.tape = tape{on: true}
	defer func() { q.tape = tape{} }()
	return work()
}

// ErrNotRecorded is the error of work that cannot be recorded.
var ErrNotRecorded = errNotRecorded

// WithoutCompiler lets units be found only where they are kept until restore is called.
func WithoutCompiler() (restore func()) {
	old := theCompiler
	theCompiler = func() (*compiler, error) { return nil, errNoCompiler }
	return func() { theCompiler = old }
}

var errNoCompiler = &Error{Call: "opening the compiler", Text: "the test has hidden it"}

// CacheDir returns the folder of compiled kernels.
func CacheDir() string { return cacheDir() }

// Load loads a unit on a device.
func Load(id int, u Unit) error {
	g, err := open(id)
	if err == nil {
		_, err = g.load(u)
	}
	return err
}

// Arch returns the compute capability of a device, times 10.
func Arch(id int) (int, error) {
	g, err := open(id)
	if err != nil {
		return 0, err
	}
	return 10*g.info.Major + g.info.Minor, nil
}

// RawAlloc returns memory of the driver, not of the pool, and a function that releases it.
func RawAlloc(id, bytes int) (p unsafe.Pointer, free func(), err error) {
	p, err = backend{}.Alloc(id, bytes)
	return p, func() { backend{}.Free(id, p, bytes) }, err
}

// Divisor returns the number for which quotient in kernels/pointwise.cu divides by d.
func Divisor(d int) int { return divisor(d) }

// Expressions returns the expressions of kernels/pointwise.cu by name.
func Expressions() map[string]Expression { return expressions() }
