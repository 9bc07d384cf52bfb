package exec

import (
	"slices"
	"sync"
	"unsafe"

	"gomx/compile"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// forms are the kept forms of parameters of all programs of the executors that share an arena.
// Programs for inference, and for training on queues, share a form when they derive it by the same
// operator from the same arrays in the same layout. The shapes of their inputs may differ.
type forms struct {
	// pushing is held while segments that make forms are pushed, so that every program reads the
	// forms of the arrays that it has asked for. It guards form.asked. Operations release programs
	// but never take pushing, because a push may wait for them.
	pushing sync.Mutex

	mu   sync.Mutex
	list map[string][]*form // by operator and parameters
}

// form is one result, or several, of an operator that derives them from nothing but variables. It
// is freed when no program uses it any more.
type form struct {
	key    string
	inputs []place     // that every program using it was compiled with
	outs   []op.Desc   // how it lies in memory
	arrays []*nd.Array // where
	users  int         // programs; guarded by forms.mu

	// contents from which the operation pushed last makes the form; nil before the first; guarded
	// by forms.pushing
	asked []content
	// contents from which the form was made; nil when the form is out of date; only operations that
	// hold the variables of arrays may use it
	seen []stamp
}

// place identifies the memory of an array. The variable is kept, so that no other one can have its
// address.
type place struct {
	v  *engine.Var
	at unsafe.Pointer
}

func placeOf(a *nd.Array) place { return place{a.Var(), a.Pointer()} }

// content identifies the content of an array at the moment when an operation on it is pushed.
type content struct {
	place
	version uint64
}

func contentOf(a *nd.Array) content { return content{placeOf(a), a.Version()} }

// find returns a form that others have made of the same arrays and whose results lie as the slots
// say. The caller holds mu.
func (f *forms) find(key string, slots []*compile.Slot, inputs []place) *form {
	for _, g := range f.list[key] {
		same := slices.Equal(g.inputs, inputs) && len(g.outs) == len(slots) &&
			g.arrays[0].Device() == slots[0].Device
		for j := 0; j < len(g.outs) && same; j++ {
			a, b := g.outs[j], slots[j].Desc
			same = a.DType == b.DType && a.Shape.Equal(b.Shape) && a.Bytes == b.Bytes &&
				sameLayout(a.Layout, b.Layout)
		}
		if same {
			return g
		}
	}
	return nil
}

// sameLayout reports whether memory in layout a can be read as in layout b. Layouts that are more
// than a name compare themselves.
func sameLayout(a, b any) bool {
	if e, ok := a.(interface{ Equal(layout any) bool }); ok {
		return e.Equal(b)
	}
	return a == b
}

// withdraw keeps programs that are compiled later from using a form. The caller holds mu.
func (f *forms) withdraw(g *form) {
	if f.list[g.key] = slices.DeleteFunc(f.list[g.key],
		func(h *form) bool { return h == g }); len(f.list[g.key]) == 0 {
		delete(f.list, g.key)
	}
}

// release gives up the forms of a program.
func (f *forms) release(p *program) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range p.keepers {
		if k == nil {
			continue
		}
		if k.form.users--; k.form.users == 0 {
			f.withdraw(k.form)
			for _, a := range k.form.arrays {
				a.Close()
			}
		}
	}
}

// stale reports whether the forms of p have to be made anew for the arrays of r. It records that
// the caller will push the segments that make them. The caller holds pushing.
func (f *forms) stale(p *program, r *run) bool {
	changed := false
	for _, k := range p.keepers {
		if k == nil {
			break
		}
		g := k.form
		if g.asked == nil {
			g.asked, changed = make([]content, len(k.slots)), true
		}
		for j, slot := range k.slots {
			if now := contentOf(r.arrays[slot]); g.asked[j] != now {
				g.asked[j], changed = now, true
			}
		}
	}
	return changed
}

// part makes sure that p does not share the forms derived from an argument whose array is to be
// replaced. It reports false when others use one of them already: then p has to be compiled anew.
func (f *forms) part(p *program, slot int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range p.keepers {
		if k != nil && slices.Contains(k.slots, slot) {
			if k.form.users > 1 {
				return false
			}
			f.withdraw(k.form)
		}
	}
	return true
}
