package node

// Window is a queue of things with consecutive numbers, found by them in constant time. Its memory
// is used again, so that a queue whose length has a bound allocates nothing once it is warm. The
// zero value is an empty queue whose first number will be First.
//
// Invariants:
//  1. The thing with number First+i is at ring[(head+i) mod len(ring)], for i below n.
//  2. Places of the ring outside of the queue are nil: the queue keeps nothing that has left it.
type Window[T any] struct {
	First uint64 // number of the first thing
	n     int    // number of things, gaps between others included
	ring  []*T
	head  int // place of the first thing in ring
}

// Len returns the number of things between the first and the last, both included.
func (w *Window[T]) Len() int { return w.n }

// Empty reports whether the queue holds nothing.
func (w *Window[T]) Empty() bool { return w.n == 0 }

// Push appends the thing with the number First+n.
func (w *Window[T]) Push(x *T) {
	if w.n == len(w.ring) {
		grown := make([]*T, max(16, 2*len(w.ring)))
		for i := range w.n {
			grown[i] = w.ring[(w.head+i)%len(w.ring)]
		}
		w.ring, w.head = grown, 0
	}
	w.ring[(w.head+w.n)%len(w.ring)] = x
	w.n++
}

// At returns the thing with a number, nil when it is not here.
func (w *Window[T]) At(number uint64) *T {
	if number < w.First || number >= w.First+uint64(w.n) {
		return nil
	}
	return w.ring[w.place(number)]
}

// Set replaces the thing with a number that is here. Nil leaves a gap.
func (w *Window[T]) Set(number uint64, x *T) { w.ring[w.place(number)] = x }

// place returns where the thing with a number is in the ring.
func (w *Window[T]) place(number uint64) int { return (w.head + int(number-w.First)) % len(w.ring) }

// Pop removes the first thing of a queue that is not empty, and returns it.
func (w *Window[T]) Pop() *T {
	x := w.ring[w.head]
	w.ring[w.head] = nil
	w.head = (w.head + 1) % len(w.ring)
	w.n--
	w.First++
	return x
}
