package bulk

import (
	"sync"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// parcel is a message that waits for a line. Its memory belongs to the sender until sent is called,
// or is the buffer copied.
type parcel struct {
	header  [wire.HeaderSize]byte
	payload []byte
	sent    func()
	copied  *buffer
}

// end gives the memory of a parcel back.
func (p *parcel) end() {
	if p.copied != nil {
		p.copied.Release()
	}
	if p.sent != nil {
		p.sent()
	}
	*p = parcel{}
}

// way leads to one process of a peer. Its messages wait in a ring for the line, which may be
// replaced by another one.
type way struct {
	peer   wire.Node
	number uint64 // ways are numbered in the order in which processes dial; 0: we dial
	pool   *buffers

	mu     sync.Mutex
	some   sync.Cond // a parcel has come, a line takes no more, or a line has ended
	ring   []parcel
	first  int
	n      int
	most   int    // messages that may wait
	closed bool   // refuses messages
	line   *line  // takes the parcels; nil: none
	ends   uint64 // lines that have ended
}

func newWay(peer wire.Node, pool *buffers, most int) *way {
	w := &way{peer: peer, pool: pool, most: most}
	w.some.L = &w.mu
	return w
}

// push queues a message.
func (w *way) push(m *wire.Message, sent func()) error {
	var copied *buffer
	payload := m.Payload
	if sent == nil && len(payload) > 0 {
		copied = w.pool.get(len(payload))
		copy(copied.b, payload)
		payload = copied.b
	}
	err := w.add(m, payload, sent, copied)
	if err != nil && copied != nil {
		copied.Release()
	}
	return err
}

func (w *way) add(m *wire.Message, payload []byte, sent func(), copied *buffer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return transport.ErrUnreachable
	case w.n == w.most:
		return transport.ErrBusy
	case w.n == len(w.ring):
		w.grow()
	}
	p := &w.ring[(w.first+w.n)%len(w.ring)]
	m.AppendHeader(p.header[:0])
	p.payload, p.sent, p.copied = payload, sent, copied
	w.n++
	if w.n == 1 {
		w.some.Broadcast()
	}
	return nil
}

// grow doubles the ring. mu is held.
func (w *way) grow() {
	ring := make([]parcel, min(w.most, max(16, 2*len(w.ring))))
	for i := range w.n {
		ring[i] = w.ring[(w.first+i)%len(w.ring)]
	}
	w.ring, w.first = ring, 0
}

// take waits for a parcel and moves it to p. more says that others wait behind it; ok is false when
// the line may not take more.
func (w *way) take(l *line, p *parcel) (more, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.n == 0 && !l.full {
		w.some.Wait()
	}
	if l.full {
		return false, false
	}
	next := &w.ring[w.first]
	*p = *next
	*next = parcel{}
	w.first = (w.first + 1) % len(w.ring)
	w.n--
	l.busy.Store(true)
	return w.n > 0, true
}

// stop lets a line take no more parcels.
func (w *way) stop(l *line) {
	w.mu.Lock()
	l.full = true
	w.mu.Unlock()
	w.some.Broadcast()
}

// set makes a line the one that takes the parcels, and reports false if the way is closed.
func (w *way) set(l *line) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line = l
	return !w.closed
}

// unset notes the end of a line, and returns the number of lines that have ended.
func (w *way) unset(l *line) (ends uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.line == l {
		w.line = nil
	}
	w.ends++
	w.some.Broadcast()
	return w.ends
}

// ended returns the number of lines that have ended.
func (w *way) ended() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ends
}

// await waits for the end of a line that takes no more parcels.
func (w *way) await() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.line != nil && w.line.full {
		w.some.Wait()
	}
}

// idle reports whether a line may take the parcels that wait: there is none, and the way is open.
func (w *way) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.line == nil && !w.closed
}

// unsent reports whether parcels wait or are being written.
func (w *way) unsent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n > 0 || w.line != nil && w.line.busy.Load()
}

// close refuses further messages and loses those that wait.
func (w *way) close() {
	w.mu.Lock()
	w.closed = true
	lost := make([]parcel, 0, w.n)
	for ; w.n > 0; w.n-- {
		lost = append(lost, w.ring[w.first])
		w.ring[w.first] = parcel{}
		w.first = (w.first + 1) % len(w.ring)
	}
	w.mu.Unlock()
	for i := range lost {
		lost[i].end()
	}
}
