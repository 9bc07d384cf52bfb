package exec

import (
	"gomx/compile"
	"gomx/dtype"
	nd "gomx/ndarray"
)

// keeper makes a step run only when the variables it reads have changed since its form was made.
// Its outputs live in arrays of the form.
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

// fresh reports whether the form was made from the present content of the arrays of run r. If not,
// the outputs count as out of date until done. The caller holds the variables of the inputs for
// reading and the variables of the outputs for writing.
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

// keep finds or makes the form of a step.
func (p *program) keep(ex *Executor, s *compile.Step) *keeper {
	k := &keeper{slots: s.Form.Inputs}
	var inputs []place
	for _, slot := range s.Form.Inputs {
		inputs = append(inputs, placeOf(ex.arrayOf(&p.Slots[slot])))
	}
	k.form = p.formOf(ex, s, inputs)
	return k
}

// formOf returns the form that step s makes of arrays: one that other programs have where both make
// forms before everything else, or a new one.
func (p *program) formOf(ex *Executor, s *compile.Step, inputs []place) *form {
	slots := make([]*compile.Slot, len(s.Form.Outputs))
	for j, slot := range s.Form.Outputs {
		slots[j] = &p.Slots[slot]
	}
	p.forms.mu.Lock()
	defer p.forms.mu.Unlock()
	f := p.forms.find(s.Form.Key, slots, inputs)
	alone := p.Train && p.Derived == 0 // its segments decide when to make the form
	if f == nil || alone {
		f = &form{key: s.Form.Key, inputs: inputs}
		for _, slot := range slots {
			f.outs = append(f.outs, slot.Desc)
			f.arrays = append(f.arrays, nd.Empty(dtype.Shape{slot.Desc.Bytes}, nd.On(slot.Device),
				nd.As(dtype.Uint8), nd.Name(slot.Name), nd.Using(ex.eng)))
		}
		if !alone {
			p.forms.list[f.key] = append(p.forms.list[f.key], f)
		}
	}
	f.users++
	return f
}
