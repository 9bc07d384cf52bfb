//go:build cgo

package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"unsafe"

	"gomx/device/cpu"
	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// kvSum is a server that only sums the slices of a round in the order of arrival. It measures the
// limit of the transport.
type kvSum struct {
	plan   *kvPlan
	ready  chan struct{} // closed when ep is set
	ep     transport.Endpoint
	n      uint16
	slices []kvRound
	reply  wire.Message
}

// kvRound is the sum of one slice, in two buffers: one fills while the other is being sent.
type kvRound struct {
	buffer  [2][]byte
	current int
	from    []wire.Node
}

// sum opens a kvSum.
func (p *kvPlan) sum() (*kvSum, error) {
	total := uint64(4 * p.Floats)
	s := &kvSum{plan: p, ready: make(chan struct{}), n: wire.Slices(total, uint64(p.Slice))}
	for i := range s.n {
		lo, hi := wire.Range(total, i, s.n)
		s.slices = append(s.slices, kvRound{buffer: [2][]byte{make([]byte, hi-lo),
			make([]byte, hi-lo)}})
	}
	ep, err := p.endpoint(kvServer(0), s.handle)
	s.ep = ep
	close(s.ready)
	return s, err
}

func (s *kvSum) handle(from wire.Node, m *wire.Message) {
	<-s.ready
	s.reply = wire.Message{Type: wire.TypeValue, Job: kvJob, From: kvServer(0), Incarnation: 1,
		KeySlice: wire.KeySlice{Slice: m.Slice, Slices: m.Slices}}
	if int(m.Slice) >= len(s.slices) {
		return
	}
	r := &s.slices[m.Slice]
	sum := r.buffer[r.current]
	if len(m.Payload) != len(sum) {
		return
	}
	if len(r.from) == 0 {
		copy(sum, m.Payload)
	} else {
		d := unsafe.Pointer(&sum[0])
		cpu.Zip{Op: cpu.Add, Threads: 1}.Run(d, d, unsafe.Pointer(&m.Payload[0]), len(sum)/4)
	}
	r.from = append(r.from, from)
	if len(r.from) < s.plan.Workers {
		return
	}
	s.reply.Payload = sum
	for _, to := range r.from {
		// The buffer is reused in the round after the next, which no worker begins before this
		// reply has arrived.
		s.ep.Send(to, &s.reply, func() {})
	}
	r.from = r.from[:0]
	r.current = 1 - r.current
}

// kvPush is a worker that pushes and pulls through a transport.
type kvPush struct {
	plan     *kvPlan
	self     wire.Node
	ep       transport.Endpoint
	total    uint64
	n        uint16
	grad     []byte
	value    []byte
	complete chan struct{} // closed when all rounds are complete

	mu       sync.Mutex
	next     uint16 // number of the next slice to push
	received uint16
	left     int // number of rounds left
}

// push opens a worker that uses the server at addr.
func (p *kvPlan) push(rank int, addr string) (*kvPush, error) {
	w := &kvPush{plan: p, self: kvWorker(rank), total: uint64(4 * p.Floats),
		complete: make(chan struct{}, 1)}
	w.n = wire.Slices(w.total, uint64(p.Slice))
	w.grad, w.value = make([]byte, w.total), make([]byte, w.total)
	g := unsafe.Slice((*float32)(unsafe.Pointer(&w.grad[0])), p.Floats)
	for i := range g {
		g[i] = rand.Float32()
	}
	ep, err := p.endpoint(w.self, w.handle)
	if err != nil {
		return nil, err
	}
	w.ep = ep
	return w, ep.Connect(kvServer(0), addr)
}

func (w *kvPush) close(context.Context) error { return w.ep.Close() }

func (w *kvPush) handle(_ wire.Node, m *wire.Message) {
	lo, hi := wire.Range(w.total, m.Slice, w.n)
	if copy(w.value[lo:hi], m.Payload) != len(m.Payload) {
		return
	}
	w.mu.Lock()
	w.received++
	over := w.received == w.n
	if over {
		w.left--
	}
	left := w.left
	w.mu.Unlock()
	switch {
	case !over:
		w.push()
	case left > 0:
		w.begin()
	default:
		w.complete <- struct{}{}
	}
}

// push sends the next slice, if one is left.
func (w *kvPush) push() error {
	w.mu.Lock()
	i := w.next
	if i < w.n {
		w.next++
	}
	w.mu.Unlock()
	if i == w.n {
		return nil
	}
	lo, hi := wire.Range(w.total, i, w.n)
	return w.ep.Send(kvServer(0), &wire.Message{Type: wire.TypePushPull, Job: kvJob, From: w.self,
		Incarnation: 1,
		KeySlice:    wire.KeySlice{Slice: i, Slices: w.n, Total: w.total}, Payload: w.grad[lo:hi]},
		func() {})
}

// begin begins a round.
func (w *kvPush) begin() error {
	w.mu.Lock()
	w.next, w.received = 0, 0
	w.mu.Unlock()
	for range min(w.plan.Window, int(w.n)) {
		if err := w.push(); err != nil {
			return err
		}
	}
	return nil
}

func (w *kvPush) rounds(ctx context.Context, n int) error {
	w.mu.Lock()
	w.left = n
	w.mu.Unlock()
	if err := w.begin(); err != nil {
		return err
	}
	select {
	case <-w.complete:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
