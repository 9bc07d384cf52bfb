package exec

import (
	"slices"
	"unsafe"

	"gomx/compile"
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
	records []record // of segments on queues; nil: none is recorded
	free    []*run   // guarded by the arena's mutex
	// of the arena's blocks that the calls' pointers were made for, by room
	bases []unsafe.Pointer

	// gradients that flow into the outputs; nil for outputs whose gradient nothing reads
	heads   []*nd.Array
	ones    bool        // heads hold ones
	written []*nd.Array // gradients

	monitor *Monitor
	watch   [][]string // by step and output: the name under which the monitor sees it
}

// bind makes the program run for an executor, with the executor's arrays.
func (p *program) bind(ex *Executor) *bound {
	b := &bound{p: p, ex: ex, arrays: make([]*nd.Array, len(p.Slots)), calls: make([]op.Call,
		len(p.Steps)),
		tokens: make([]*engine.Var, len(p.Segments)), bases: make([]unsafe.Pointer,
			len(p.Memory.Rooms)), heads: make([]*nd.Array, len(ex.outputs)), ones: true}
	for i := range p.Slots {
		b.fill(i, &p.Slots[i])
	}
	for i, k := range p.keepers {
		if k == nil {
			continue
		}
		for j, slot := range p.Steps[i].Form.Outputs {
			b.arrays[slot] = k.form.arrays[j]
		}
	}
	for i := range p.Steps {
		c := p.Steps[i].Call
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

// fill gives slot number i its array.
func (b *bound) fill(i int, s *compile.Slot) {
	b.arrays[i] = b.ex.arrayOf(s)
	switch s.Kind {
	case compile.SlotHead:
		if b.ex.config.lent != nil {
			return
		}
		b.heads[s.Index] = nd.Ones(s.Desc.Shape, nd.On(s.Device), nd.As(s.Desc.DType),
			nd.Name(s.Name), nd.Using(b.ex.eng))
		b.arrays[i] = b.heads[s.Index]
	case compile.SlotGradient:
		b.written = append(b.written, b.arrays[i])
	}
}

// feed replaces the array of an argument.
func (b *bound) feed(name string, a *nd.Array) {
	if i, ok := b.p.Vars[name]; ok && b.p.Slots[i].Kind == compile.SlotVariable {
		b.arrays[i] = a
	}
}

// locate fills in the addresses of the operands and the scratch memory that lie in the arena.
func (b *bound) locate(blocks []*arenaBlock) {
	moved := false
	for i, block := range blocks {
		moved = moved || b.bases[i] != block.Ptr
		b.bases[i] = block.Ptr
	}
	if !moved {
		return
	}
	for i := range b.p.Steps {
		s, c := &b.p.Steps[i], &b.calls[i]
		for k := range s.Internal {
			o := &s.Internal[k]
			o.Of(c).Data = unsafe.Add(b.bases[o.Room], o.Offset)
		}
		if s.Scratch >= 0 {
			c.Scratch = unsafe.Add(b.bases[s.Room], s.Scratch)
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
