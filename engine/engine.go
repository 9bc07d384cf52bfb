package engine

import (
	"errors"
	"sync"
	"sync/atomic"
)

// ErrClosed is the value of the panic of a push to a closed engine.
var ErrClosed = errors.New("engine: closed")

// Engine runs operations in an order that respects their reads and writes. All methods may be
// called by any number of goroutines at once.
//
// An operation goes from push to inbox to sched, which hands it to the pools; quota counts it on
// the way, and its record returns through returned.
//
// Locks: pushers hold push.mu, schedulers sched.mu, no goroutine both. Under either, the locks of
// pools, quota and recycler may be taken, which guard one list each. No lock is held while a
// function of the program runs.
type Engine struct {
	cfg      Config
	push     pushers
	inbox    inbox // submitted and not seen by the scheduler
	returned recycler
	quota    quota
	sched    scheduler
	pools    pools
	profile  atomic.Pointer[Profile]
	life     life
}

// New returns a running engine. Close releases its goroutines.
func New(cfg Config) (*Engine, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg}
	e.inbox.init()
	e.pools.init()
	e.quota.maxOps, e.quota.maxBytes = cfg.MaxOps, cfg.MaxBytes
	e.push.init(e)
	e.sched.init(e)
	if !cfg.Naive {
		for i := range cfg.Workers {
			e.pools.start(e, e.pools.narrow, i)
		}
	}
	if e.life.ending = make(chan struct{}); cfg.Watchdog > 0 {
		e.life.watchdog.Go(func() { (&watchdog{e: e, stop: e.life.ending}).watch(cfg.Watchdog) })
	}
	return e, nil
}

// Workers returns the number of operations of the processor that run at once. Run.Worker of such an
// operation is at most Workers.
func (e *Engine) Workers() int { return e.cfg.Workers }

// NewVar returns a new variable. The name is shown in errors and dumps and may be empty.
func (e *Engine) NewVar(name string) *Var { return &Var{name: name, eng: e} }

// Push makes the operation pending that t describes. It runs once all its dependences are complete,
// possibly at once on this goroutine if it is cheap. t is copied. Push waits while too much is
// pending, unless t deletes or the caller is the body of an operation; goroutines that a body
// started use Run.Push.
func (e *Engine) Push(t *Task) {
	t.check()
	if e.cfg.CallSites {
		s := new(site)
		s.capture()
		e.pushTask(t, t.Uses, extra{site: s, exempt: t.Delete})
		return
	}
	e.pushTask(t, t.Uses, extra{exempt: t.Delete})
}

// PushUses is Push with the uses given apart, which spares a caller that lists them in place an
// allocation. t.Uses is ignored.
func (e *Engine) PushUses(t *Task, uses ...Use) {
	t.check()
	if e.cfg.CallSites {
		s := new(site)
		s.capture()
		e.pushTask(t, uses, extra{site: s, exempt: t.Delete})
		return
	}
	e.pushTask(t, uses, extra{exempt: t.Delete})
}

// process holds the engine of the process. It is the one exception to engines being passed around:
// arrays made anywhere must be able to meet in one operation.
var process struct {
	mu sync.Mutex
	e  *Engine
}

// Default returns the engine of the process. The first call starts it with the zero Config unless
// SetDefault gave another.
func Default() *Engine {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.e == nil {
		e, err := New(Config{})
		if err != nil {
			panic(err) // the zero Config is valid
		}
		recordAtStart(e)
		process.e = e
	}
	return process.e
}

// SetDefault makes e the engine of the process and returns the one before, nil if there was none.
// Programs call it before anything uses Default, tests around a case. Variables belong to the
// engine that they were used with.
func SetDefault(e *Engine) (old *Engine) {
	process.mu.Lock()
	defer process.mu.Unlock()
	old, process.e = process.e, e
	return old
}
