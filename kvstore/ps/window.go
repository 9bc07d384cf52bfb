package ps

// window is a queue of things with consecutive numbers, found by them in constant time. Its ring is
// reused.
type window[T any] struct {
	ring  []*T
	head  int
	n     int
	first uint64 // number of the thing at head
}

func (w *window[T]) len() int    { return w.n }
func (w *window[T]) empty() bool { return w.n == 0 }

// push appends the thing with the number first+n.
func (w *window[T]) push(x *T) {
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

// at returns the thing with a number, nil when it is not here.
func (w *window[T]) at(number uint64) *T {
	if number < w.first || number >= w.first+uint64(w.n) {
		return nil
	}
	return w.ring[w.place(number)]
}

// set replaces the thing with a number that is here.
func (w *window[T]) set(number uint64, x *T) { w.ring[w.place(number)] = x }

func (w *window[T]) place(number uint64) int { return (w.head + int(number-w.first)) % len(w.ring) }

// pop removes the first.
func (w *window[T]) pop() *T {
	x := w.ring[w.head]
	w.ring[w.head] = nil
	w.head = (w.head + 1) % len(w.ring)
	w.n--
	w.first++
	return x
}
