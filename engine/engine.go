package engine

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"gomx/engine/core"
)

// ErrClosed is the value of the panic of a push to a closed engine.
var ErrClosed = errors.New("engine: closed")

// Engine runs operations in an order that respects their reads and writes. All methods may be
// called by any number of goroutines at once.
//
// Locks: pushers hold push.mu, schedulers sched.mu, no goroutine both. Under either, the locks of
// pools, throttle and recycler may be taken, which guard one list each. No lock is held while a
// function of the program runs.
type Engine struct {
	cfg Config

	// push is the state that pushers share.
	push struct {
		mu        sync.Mutex
		free      []*oper // records for reuse
		submitted uint64  // operations that went to the scheduler
		stamp     uint64  // counts calls that merge uses
		// operations that run inline now and that the scheduler does not know
		live    *oper
		lanes   map[Lane]*pool // pools of devices other than the processor
		wide    bool           // the worker of wide kernels has been started
		stopped bool           // new workers are left to Start
		closed  bool
		inline  uint64 // operations that ran inline
	}
	inbox inbox // submitted and not seen by the scheduler

	returned recycler
	retired  atomic.Uint64 // operations among submitted that are complete
	bytes    atomic.Int64  // held by pending operations
	throttle throttle

	// sched is the scheduling core and the state that its lock guards too.
	sched struct {
		mu      sync.Mutex
		core    core.Core
		free    int                // cores that nobody computes on
		idlers  *waiter            // waiters until nothing is pending
		waiters *waiter            // unused records
		closing bool               // workers end when they find nothing to do
		halted  bool               // and do not look for anything
		flying  map[*oper]struct{} // asynchronous operations that run
		late    core.List          // retired while their bodies still ran, which have returned

		following bool // a goroutine runs the operation that following returned
	}
	narrow, wide *pool
	callers      *pool                   // operations that their pushers run; no workers
	pools        atomic.Pointer[[]*pool] // by id
	members      atomic.Pointer[[]*worker]
	profile      atomic.Pointer[Profile]
	workers      sync.WaitGroup
	spins        bool // there is a processor to spare for a worker that watches
	life         life
}

// New returns a running engine. Close releases its goroutines.
func New(cfg Config) (*Engine, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, spins: runtime.GOMAXPROCS(0) > 1}
	e.inbox.init()
	e.sched.free = cfg.Workers
	e.push.lanes = map[Lane]*pool{}
	e.sched.flying = map[*oper]struct{}{}
	e.callers, e.narrow, e.wide = e.addPool(&pool{}), e.addPool(&pool{}), e.addPool(&pool{})
	if !cfg.Naive {
		for i := range cfg.Workers {
			e.start(e.narrow, i)
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

// extra holds the properties of a push besides its task.
type extra struct {
	flags  flags
	exempt bool // waits for no quota
	site   *site
}

// pushTask is the common part of pushes.
func (e *Engine) pushTask(t *Task, uses []Use, x extra) {
	o := e.take(t.Bytes, x.exempt)
	o.set(t, x)
	o.run.Arg = t.Arg
	e.fill(o, uses)
	e.dispatch(o)
}

// take waits until the quotas have room for an operation that holds the given bytes, locks push.mu
// and returns an unused record.
func (e *Engine) take(bytes int64, exempt bool) *oper {
	e.push.mu.Lock()
	for !exempt && e.full(bytes) {
		need := e.push.submitted - uint64(e.cfg.MaxOps-max(1, e.cfg.MaxOps/4))
		e.push.mu.Unlock()
		exempt = e.throttle.wait(e, need, bytes)
		e.push.mu.Lock()
	}
	return e.record()
}

// fill sets the accesses of o to uses, merging duplicates. push.mu is held.
func (e *Engine) fill(o *oper, uses []Use) {
	acc := o.room(len(uses))
	e.push.stamp++
	n := 0
	for i := range uses {
		v := uses[i].Var
		if v == nil || v.deleted || v.eng != e {
			e.misuse(o, v)
		}
		if v.stamp == e.push.stamp {
			a := &acc[v.slot]
			a.Mode = a.Mode.Merge(core.Mode(uses[i].Access))
			continue
		}
		v.stamp, v.slot = e.push.stamp, int32(n)
		a := &acc[n]
		a.Var, a.Mode = &v.q, core.Mode(uses[i].Access)
		n++
	}
	if n <= inlineUses && n < len(uses) {
		copy(o.buf[:], acc[:n]) // with the duplicates they may not have fitted
		clear(o.more[:min(n, cap(o.more))])
		acc = o.buf[:]
	}
	o.SetUses(acc[:n])
}

// misuse panics for a use of v that is not allowed. push.mu is held and released; o is left to the
// garbage collector.
func (e *Engine) misuse(o *oper, v *Var) {
	e.push.mu.Unlock()
	if v == nil {
		panic("engine: task \"" + o.name + "\" uses a nil variable")
	}
	fault := "which is deleted"
	if v.eng != e {
		fault = "which belongs to another engine"
	}
	panic("engine: task \"" + o.name + "\" uses variable \"" + v.name + "\", " + fault)
}

// dispatch runs o inline if it may, otherwise submits it. push.mu is held and released.
func (e *Engine) dispatch(o *oper) {
	s := &o.spec
	o.run.Worker = -1
	if e.push.closed && !s.is(delete_) {
		e.push.mu.Unlock()
		panic(ErrClosed)
	}
	if s.is(kill) {
		varOf(o.Uses()[0].Var).deleted = true
	}
	if s.is(cheap) && e.mayInline(o) {
		if s.async != nil {
			e.begin(o)
		} else {
			e.inline(o)
		}
		return
	}
	pool := e.pool(s)
	o.pool = pool.id
	acc := o.Uses()
	for i := range acc {
		v := varOf(acc[i].Var)
		if v.running != nil {
			e.share(v.running)
		}
		v.send(acc[i].Mode)
	}
	e.submit(o) // from here on the record is the scheduler's
	e.push.mu.Unlock()
	switch {
	case pool == e.callers:
		e.drive()
	case pool.needsWaking():
		e.wakeOne(pool)
	}
}

// submit sends o to the scheduler. push.mu is held.
func (e *Engine) submit(o *oper) {
	rules := o.spec.rules
	if o.inline {
		rules = rules&^core.Queued | core.Running
	} else if e.cfg.Naive {
		rules &^= core.Queued
	}
	o.SetRules(int32(o.pool), rules)
	e.push.submitted++
	if o.spec.is(holds) {
		e.bytes.Add(o.bytes)
	}
	e.inbox.put(o)
}
