package engine

import "sync"

// recycler brings records of complete operations back to those who push. They travel as a list of addresses: following links through records that another processor has just written would stall the pusher.
type recycler struct {
	mu   sync.Mutex
	back []*oper
}

// put takes in a chain of records that nobody uses any more and forgets what they refer to.
func (r *recycler) put(o *oper) {
	for p := o; p != nil; p = p.next {
		p.reset()
	}
	r.mu.Lock()
	for ; o != nil; o = o.next {
		r.back = append(r.back, o)
	}
	r.mu.Unlock()
}

// swap exchanges an empty list for what came back.
func (r *recycler) swap(empty []*oper) []*oper {
	r.mu.Lock()
	defer r.mu.Unlock()
	empty, r.back = r.back, empty
	return empty
}

const slab = 32

// record returns an unused record. push.mu is held.
func (e *Engine) record() *oper {
	if len(e.push.free) == 0 {
		e.push.free = e.returned.swap(e.push.free)
	}
	if len(e.push.free) == 0 {
		records := make([]oper, slab)
		for i := range records {
			o := &records[i]
			o.eng, o.run.op = e, o
			e.push.free = append(e.push.free, o)
		}
	}
	last := len(e.push.free) - 1
	o := e.push.free[last]
	e.push.free = e.push.free[:last]
	return o
}
