package symbol

import (
	"slices"
	"unsafe"

	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// bound is a program together with the arrays, the memory and the order tokens of one executor.
//
// The calls are written by the engine's operations only, in the order of the arena's token.
type bound struct {
	p       *program
	ex      *Executor
	arrays  []*nd.Array // by slot, for the next run
	calls   []op.Call   // by step
	tokens  []*engine.Var
	records []record         // of segments on queues; nil: none is recorded
	free    []*run           // guarded by the arena's mutex
	bases   []unsafe.Pointer // of the arena's blocks that the calls' pointers were made for, by room

	monitor *Monitor
	watch   [][]string // by step and output: the name under which the monitor sees it
}

// bind makes the program run for an executor, with the arrays that it was compiled with but for
// the executor's own.
func (p *program) bind(ex *Executor) *bound {
	b := &bound{p: p, ex: ex, arrays: make([]*nd.Array, len(p.slots)), calls: make([]op.Call, len(p.steps)),
		tokens: make([]*engine.Var, len(p.segments)), bases: make([]unsafe.Pointer, len(p.rooms))}
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
		b.tokens[i] = ex.eng.NewVar("segment")
	}
	b.monitor, b.watch = ex.config.Monitor, p.watched(ex.config.Monitor)
	b.records = b.newRecords()
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
func (b *bound) locate(blocks []*arenaBlock) {
	moved := false
	for i, block := range blocks {
		moved = moved || b.bases[i] != block.Ptr
		b.bases[i] = block.Ptr
	}
	if !moved {
		return
	}
	for i := range b.p.steps {
		s, c := &b.p.steps[i], &b.calls[i]
		for k := range s.internal {
			o := &s.internal[k]
			o.of(c).Data = unsafe.Add(b.bases[o.room], o.offset)
		}
		if s.scratch >= 0 {
			c.Scratch = unsafe.Add(b.bases[s.room], s.scratch)
		}
	}
}

// release tells that an executor or a run does not use the program any more; after the last one the
// kept forms of parameters are freed that no other program uses.
func (p *program) release() {
	if p.refs.Add(-1) > 0 {
		return
	}
	p.forms.release(p)
}
