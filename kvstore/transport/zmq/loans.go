//go:build cgo

package zmq

/*
#include "box.h"
*/
import "C"

import "runtime"

// loans are the payloads that ZeroMQ reads where they lie. The endpoint's mu guards them.
type loans struct {
	list []loan
	free []C.int32_t
}

// loan is one payload. Go memory stays where it is as long as it is lent.
type loan struct {
	sent func()
	pin  runtime.Pinner
}

// lend returns a number for a payload, -1 when too many are out: then it must be copied.
func (l *loans) lend(payload []byte, sent func()) C.int32_t {
	if l.list == nil {
		l.list = make([]loan, maxLoans)
		l.free = make([]C.int32_t, 0, maxLoans)
		for i := range maxLoans {
			l.free = append(l.free, C.int32_t(maxLoans-1-i))
		}
	}
	if len(l.free) == 0 {
		return -1
	}
	n := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	l.list[n].sent = sent
	l.list[n].pin.Pin(&payload[0])
	return n
}

// back ends a loan and returns whom to tell.
func (l *loans) back(n C.int32_t) (sent func()) {
	p := &l.list[n]
	sent, p.sent = p.sent, nil
	p.pin.Unpin()
	l.free = append(l.free, n)
	return sent
}

// cancel ends a loan that did not come about; n may be -1.
func (l *loans) cancel(n C.int32_t) {
	if n >= 0 {
		l.back(n)
	}
}

// out counts the loans that are not back.
func (l *loans) out() int { return len(l.list) - len(l.free) }

// endLoans ends the loans of a receipt and returns whom to tell, in memory of the caller.
func (e *endpoint) endLoans(r *C.gx_receipt, tell []func()) []func() {
	if r.freed == 0 {
		return tell[:0]
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	tell = tell[:0]
	for _, n := range r.loan[:r.freed] {
		tell = append(tell, e.loans.back(C.int32_t(n)))
	}
	return tell
}
