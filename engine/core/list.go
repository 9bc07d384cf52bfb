package core

// List is a first-in first-out queue of operations, linked through the operations themselves: an
// operation is in at most one list. The zero value is empty.
type List struct {
	head, tail *Op
	n          int
}

// Len returns the number of operations.
func (l *List) Len() int { return l.n }

// First returns the operation that Pop would take, nil if there is none.
func (l *List) First() *Op { return l.head }

// Next returns the operation behind o in its list, nil for the last.
func (o *Op) Next() *Op { return o.next }

// Push appends o.
func (l *List) Push(o *Op) {
	o.next = nil
	if l.tail == nil {
		l.head = o
	} else {
		l.tail.next = o
	}
	l.tail = o
	l.n++
}

// Append moves the operations of m to the end of l.
func (l *List) Append(m *List) {
	if l.tail == nil {
		*l = *m
	} else if m.head != nil {
		l.tail.next, l.tail = m.head, m.tail
		l.n += m.n
	}
	*m = List{}
}

// Pop takes the first operation, nil if there is none.
func (l *List) Pop() *Op {
	o := l.head
	if o == nil {
		return nil
	}
	l.head = o.next
	if l.head == nil {
		l.tail = nil
	}
	o.next = nil
	l.n--
	return o
}

// Remove takes o out if it is among the first reach operations, and reports whether it was. Its
// time grows with reach, because operations know the operation behind them alone.
func (l *List) Remove(o *Op, reach int) bool {
	prev := (*Op)(nil)
	at := l.head
	for n := 1; at != nil && at != o && n < reach; n++ {
		prev, at = at, at.next
	}
	if at != o || o == nil {
		return false
	}
	if prev == nil {
		l.Pop()
		return true
	}
	prev.next, o.next = o.next, nil
	if l.tail == o {
		l.tail = prev
	}
	l.n--
	return true
}
