//go:build linux

package shm

import "sync"

// loan is a payload in a segment that its receiver may keep. It implements wire.Owner, and holds the
// segment's memory.
type loan struct {
	in     *inbound
	d      descriptor
	places int32
}

var loans = sync.Pool{New: func() any { return new(loan) }}

// lend makes a loan of a payload, nil if so many places are kept that the sender would lack some:
// half of the segment.
func (in *inbound) lend(d *descriptor) *loan {
	places := int32((d.length + placeSize - 1) / placeSize)
	if all := int32((len(in.mem.bytes) - markPage) / placeSize); in.kept.Add(places) > all/2 {
		in.kept.Add(-places)
		return nil
	}
	l := loans.Get().(*loan)
	*l = loan{in, *d, places}
	return l
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
