package symbol

import (
	"slices"
	"sync"
	"unsafe"

	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// bound is a program together with the arrays, the memory and the order tokens of one executor.
//
// The calls are written by the engine's operations only, in the order of the arena's token.
type bound struct {
	p      *program
	ex     *Executor
	arrays []*nd.Array // by slot, for the next run
	calls  []op.Call   // by step
	tokens []*engine.Var
	free   []*run         // guarded by the arena's mutex
	base   unsafe.Pointer // of the arena that the calls' pointers were made for

	monitor *Monitor
	watch   [][]string // by step and output: the name under which the monitor sees it
}

// bind makes the program run for an executor, with the arrays that it was compiled with but for
// the executor's own.
func (p *program) bind(ex *Executor) *bound {
	b := &bound{p: p, ex: ex, arrays: make([]*nd.Array, len(p.slots)), calls: make([]op.Call, len(p.steps)),
		tokens: make([]*engine.Var, len(p.segments))}
	for i := range p.slots {
		b.arrays[i] = p.slots[i].array
	}
	for i, o := range ex.outputs {
		b.arrays[p.outputs[i]] = o
	}
	for name, a := range ex.Args {
		b.feed(name, a)
	}
	for i := range p.steps {
		c := p.steps[i].call
		c.In, c.Out = slices.Clone(c.In), slices.Clone(c.Out)
		b.calls[i] = c
	}
	for i := range b.tokens {
		b.tokens[i] = ex.engine().NewVar("segment")
	}
	b.monitor, b.watch = ex.config.Monitor, p.watched(ex.config.Monitor)
	p.refs.Add(1)
	return b
}

// feed replaces the array of an argument.
func (b *bound) feed(name string, a *nd.Array) {
	if i, ok := b.p.slotName[name]; ok && !b.p.slots[i].kept {
		b.arrays[i] = a
	}
}

// locate fills in the addresses of what lies in the arena.
func (b *bound) locate(base unsafe.Pointer) {
	if b.base == base {
		return
	}
	b.base = base
	for i := range b.p.steps {
		s, c := &b.p.steps[i], &b.calls[i]
		for k := range s.internal {
			o := &s.internal[k]
			o.of(c).Data = unsafe.Add(base, o.offset)
		}
		if s.scratch >= 0 {
			c.Scratch = unsafe.Add(base, s.scratch)
		}
	}
}

// release tells that an executor or a run does not use the program any more; after the last one the
// kept forms of parameters are freed.
func (p *program) release() {
	if p.refs.Add(-1) > 0 {
		return
	}
	for i := range p.slots {
		if p.slots[i].kept {
			p.slots[i].array.Close()
		}
	}
}

// derives says for which parameters the kept forms were pushed last.
type derives struct {
	mu   sync.Mutex
	seen []content // by input of the derived steps, in order
	once bool      // they have been pushed; constants have no inputs
}

// content identifies what was asked to be in an array at one moment.
type content struct {
	array   *nd.Array
	version uint64
}

// stale reports whether the kept forms have to be made anew for the arrays of r, and takes note
// that the caller will push what makes them. The caller holds derives.mu.
func (p *program) stale(r *run) bool {
	d, k := &p.derives, 0
	changed := !d.once
	d.once = true
	for i := range p.steps {
		s := &p.steps[i]
		if s.keep == nil {
			break
		}
		for _, in := range s.external {
			if in.out {
				continue
			}
			a := r.arrays[in.slot]
			now := content{a, a.Version()}
			if k == len(d.seen) {
				d.seen = append(d.seen, content{})
			}
			if d.seen[k] != now {
				d.seen[k], changed = now, true
			}
			k++
		}
	}
	return changed
}
