package symbol

import (
	"encoding/binary"
	"math"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// keeper makes a step run only when the variables it reads have changed since its form was made. Its
// outputs live in arrays of the form.
type keeper struct {
	slots []int // of the inputs
	form  *form
}

// stamp identifies the content of an array at one moment, as operations see it.
type stamp struct {
	place
	version uint64
}

func stampOf(a *nd.Array) stamp { return stamp{placeOf(a), a.Var().Version()} }

// fresh reports whether the form belongs to the arrays of run r. The caller holds the variables
// of the inputs for reading and those of the outputs for writing. From now on the outputs count as out of date until done.
func (k *keeper) fresh(r *run) bool {
	seen := k.form.seen
	if seen == nil {
		return false
	}
	for i, s := range k.slots {
		if seen[i] != stampOf(r.arrays[s]) {
			k.form.seen = nil
			return false
		}
	}
	return true
}

// done records that the form has been made of the arrays of run r.
func (k *keeper) done(r *run) {
	k.form.seen = make([]stamp, len(k.slots))
	for i, s := range k.slots {
		k.form.seen[i] = stampOf(r.arrays[s])
	}
}

// keep gives the outputs of step s arrays outside the arena, if its operator derives them from
// nothing but variables.
func (p *program) keep(s *step) {
	if !s.node.Op.Derived {
		return
	}
	k := &keeper{}
	var inputs []place
	for _, e := range s.node.In {
		slot, ok := p.slotOf[p.g.Entry(e)]
		if !ok || !e.Node.IsVar() {
			return
		}
		k.slots = append(k.slots, slot)
		inputs = append(inputs, placeOf(p.slots[slot].array))
	}
	k.form = p.formOf(s, inputs)
	from, _ := p.g.Out(s.index)
	for j, a := range k.form.arrays {
		slot := p.addSlot(s.node.Entry(j).String(), a, false)
		p.slots[slot].sink = true
		p.slotOf[from+j] = slot
		p.kept += int64(a.Bytes())
	}
	s.keep = k
}

// formOf returns the form that step s makes of arrays: one that other programs have where both only infer, or a new one.
func (p *program) formOf(s *step, inputs []place) *form {
	n := s.node
	key := n.Op.AppendKey(append([]byte(n.Op.Name), 0), n.Params)
	for _, v := range n.Op.AppendRun(nil, n.Params) {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
	}
	p.forms.mu.Lock()
	defer p.forms.mu.Unlock()
	f := p.forms.find(p, s, string(key), inputs)
	if f == nil || p.train {
		f = &form{key: string(key), inputs: inputs}
		for j := range s.call.Out {
			d := s.call.Out[j].Desc
			f.outs = append(f.outs, d)
			f.arrays = append(f.arrays, nd.Empty(dtype.Shape{d.Bytes}, nd.On(p.deviceOf(n)), nd.As(dtype.Uint8), nd.Name(n.Entry(j).String()), nd.Using(p.ex.eng)))
		}
		if !p.train {
			p.forms.list[f.key] = append(p.forms.list[f.key], f)
		}
	}
	f.users++
	return f
}
