//go:build linux

package shm

import "sync"

// loan is a payload in a segment. It holds the segment's memory, and implements wire.Owner for a
// receiver that keeps the payload.
type loan struct {
	in     *inbound
	d      descriptor
	places int32 // counted among those that the receiver keeps
}

var loans = sync.Pool{New: func() any { return new(loan) }}

// loanOf takes over the caller's hold of the memory.
func loanOf(in *inbound, d *descriptor) *loan {
	l := loans.Get().(*loan)
	*l = loan{in: in, d: *d}
	return l
}

// lend reports whether the receiver may keep the payload: not if so many places are kept that the
// sender would lack some, half of the segment.
func (l *loan) lend() bool {
	places := int32((l.d.length + placeSize - 1) / placeSize)
	if all := int32((len(l.in.mem.bytes) - markPage) / placeSize); l.in.kept.Add(places) > all/2 {
		l.in.kept.Add(-places)
		return false
	}
	l.places = places
	return true
}

// Release implements wire.Owner: the sender may use the places again.
func (l *loan) Release() {
	if l.in == nil {
		panic("shm: a payload was released twice")
	}
	in := l.in
	in.kept.Add(-l.places)
	in.done(&l.d)
	in.mem.drop()
	*l = loan{}
	loans.Put(l)
}
