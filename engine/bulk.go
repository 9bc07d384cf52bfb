package engine

import "fmt"

// Bulk collects small operations and pushes them as one, which costs a fraction of pushing each. It belongs to one goroutine.
// The operations run in order; when one fails the rest is dropped, and everything that the bulk writes is poisoned by it.
type Bulk struct {
	e    *Engine
	max  int
	cur  *bulk
	at   map[*Var]int
	uses []Use
}

// bulk is the body of a collection.
type bulk struct{ items []bulkItem }

type bulkItem struct {
	fn       func(r *Run) error
	arg      any
	name     string
	describe func() string
}

// bulkError is the failure of one operation of a bulk.
type bulkError struct {
	item bulkItem
	err  error
}

func (e *bulkError) Error() string { return fmt.Sprintf("%s: %v", e.item.name, e.err) }

// NewBulk returns an empty collection that pushes itself when it holds max operations.
func (e *Engine) NewBulk(max int) *Bulk {
	return &Bulk{e: e, max: max, cur: &bulk{}, at: map[*Var]int{}}
}

// Push adds an operation. One that cannot be part of a bulk, because it is asynchronous, wide, prioritized, or not of the processor, is pushed by itself, after what was collected.
func (b *Bulk) Push(t *Task) {
	t.check()
	if t.Fn == nil || t.Wide || t.NoSkip || t.Delete || t.Priority != Normal || !t.Lane.host() {
		b.Flush()
		b.e.Push(t)
		return
	}
	for _, u := range t.Uses {
		i, ok := b.at[u.Var]
		switch {
		case !ok:
			b.at[u.Var] = len(b.uses)
			b.uses = append(b.uses, u)
		case b.uses[i].Access == Read && u.Access != Read:
			b.uses[i].Access = Update // what was overwritten before may be read and updated without reading older values
		}
	}
	b.cur.items = append(b.cur.items, bulkItem{t.Fn, t.Arg, t.Name, t.Describe})
	if len(b.cur.items) >= b.max {
		b.Flush()
	}
}

// Flush pushes what was collected. It must be called before the collecting goroutine waits or pushes elsewhere.
func (b *Bulk) Flush() {
	if len(b.cur.items) == 0 {
		return
	}
	b.e.Push(&Task{Name: "bulk", Fn: runBulk, Arg: b.cur, Uses: b.uses})
	b.cur = &bulk{items: make([]bulkItem, 0, len(b.cur.items))}
	b.uses = b.uses[:0]
	clear(b.at)
}

// runBulk is the body of a bulk.
func runBulk(r *Run) (err error) {
	b := r.Arg.(*bulk)
	i, returned := 0, false
	defer func() {
		if !returned {
			if p := recover(); p != nil {
				err = &bulkError{b.items[i], recovered(p)}
			}
		}
	}()
	for ; i < len(b.items) && err == nil; i++ {
		r.Arg = b.items[i].arg
		if err = b.items[i].fn(r); err != nil {
			err = &bulkError{b.items[i], err}
		}
	}
	returned = true
	return err
}
