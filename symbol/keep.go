package symbol

import (
	"unsafe"

	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
)

// keeper makes a step run only when the variables it reads have changed since it ran last. Its
// outputs live in arrays of the program's own.
type keeper struct {
	slots []int // of the inputs
	seen  []stamp
	bytes int64
}

// stamp identifies the content of an array at one moment. The variable is kept, so that no other
// one can have its address.
type stamp struct {
	v       *engine.Var
	version uint64
	at      unsafe.Pointer
}

func stampOf(a *nd.Array) stamp { return stamp{a.Var(), a.Var().Version(), a.Pointer()} }

// fresh reports whether the outputs belong to the arrays of run r. The caller holds the variables
// of the inputs for reading. From now on the outputs count as out of date until done.
func (k *keeper) fresh(r *run) bool {
	if k.seen == nil {
		return false
	}
	for i, s := range k.slots {
		if k.seen[i] != stampOf(r.arrays[s]) {
			k.seen = nil
			return false
		}
	}
	return true
}

// done records that the outputs have been computed from the arrays of run r.
func (k *keeper) done(r *run) {
	k.seen = make([]stamp, len(k.slots))
	for i, s := range k.slots {
		k.seen[i] = stampOf(r.arrays[s])
	}
}

// keep gives the outputs of step s arrays outside the arena, if its operator derives them from
// nothing but variables.
func (p *program) keep(s *step) {
	if !s.node.Op.Derived {
		return
	}
	k := &keeper{}
	for _, e := range s.node.In {
		slot, ok := p.slotOf[p.g.Entry(e)]
		if !ok || !e.Node.IsVar() {
			return
		}
		k.slots = append(k.slots, slot)
	}
	from, _ := p.g.Out(s.index)
	for j := range s.call.Out {
		bytes := s.call.Out[j].Bytes
		e := s.node.Entry(j)
		slot := p.addSlot(e.String(), nd.Empty(dtype.Shape{bytes}, nd.On(p.ex.config.Device), nd.As(dtype.Uint8), nd.Name(e.String())), false)
		p.slots[slot].sink = true
		p.slotOf[from+j] = slot
		k.bytes += int64(bytes)
	}
	p.kept += k.bytes
	s.keep = k
}
