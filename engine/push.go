package engine

import (
	"sync"

	"gomx/engine/core"
)

// pushers is the part of an engine that goroutines with operations to push share. Everything but
// the pointers, which never change, is guarded by mu.
type pushers struct {
	mu        sync.Mutex
	free      []*oper // records for reuse
	submitted uint64  // operations that went to the scheduler
	stamp     uint64  // counts calls that merge uses
	live      *oper   // operations that run inline now and that the scheduler does not know
	closed    bool
	inline    uint64 // operations that ran inline

	cfg      *Config
	inbox    *inbox // submitted and not seen by the scheduler
	quota    *quota
	returned *recycler // records that come back to free
}

// init connects p with the other parts of e.
func (p *pushers) init(e *Engine) {
	p.cfg, p.inbox, p.quota, p.returned = &e.cfg, &e.inbox, &e.quota, &e.returned
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
	e.push.fill(o, uses)
	e.dispatch(o)
}

// take waits until the quotas have room for an operation that holds the given bytes, locks push.mu
// and returns an unused record.
func (e *Engine) take(bytes int64, exempt bool) *oper {
	e.push.mu.Lock()
	for !exempt && e.quota.full(e.push.submitted, bytes) {
		need := e.push.submitted - uint64(e.cfg.MaxOps-max(1, e.cfg.MaxOps/4))
		e.push.mu.Unlock()
		exempt = e.quota.wait(need, bytes)
		e.push.mu.Lock()
	}
	return e.push.record(e)
}

// fill sets the accesses of o to uses, merging duplicates. mu is held.
func (p *pushers) fill(o *oper, uses []Use) {
	acc := o.room(len(uses))
	p.stamp++
	n := 0
	for i := range uses {
		v := uses[i].Var
		if v == nil || v.deleted || v.eng != o.eng {
			p.misuse(o, v)
		}
		if v.stamp == p.stamp {
			a := &acc[v.slot]
			a.Mode = a.Mode.Merge(core.Mode(uses[i].Access))
			continue
		}
		v.stamp, v.slot = p.stamp, int32(n)
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

// misuse panics for a use of v that is not allowed. mu, which is held, is released; o is left to the
// garbage collector.
func (p *pushers) misuse(o *oper, v *Var) {
	p.mu.Unlock()
	if v == nil {
		panic("engine: task \"" + o.name + "\" uses a nil variable")
	}
	fault := "which is deleted"
	if v.eng != o.eng {
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
	pool := e.pools.callers
	if !e.cfg.Naive && !e.push.closed {
		pool = e.pools.of(e, s)
	}
	o.pool = pool.id
	acc := o.Uses()
	for i := range acc {
		v := varOf(acc[i].Var)
		if v.running != nil {
			e.push.share(v.running)
		}
		v.send(acc[i].Mode)
	}
	e.push.submit(o) // from here on the record is the scheduler's
	e.push.mu.Unlock()
	switch {
	case pool == e.pools.callers:
		e.drive()
	case pool.needsWaking():
		pool.wakeOne()
	}
}

// submit sends o to the scheduler. mu is held.
func (p *pushers) submit(o *oper) {
	rules := o.spec.rules
	if o.inline {
		rules = rules&^core.Queued | core.Running
	} else if p.cfg.Naive {
		rules &^= core.Queued
	}
	o.SetRules(int32(o.pool), rules)
	p.submitted++
	if o.spec.is(holds) {
		p.quota.bytes.Add(o.bytes)
	}
	p.inbox.put(o)
}
