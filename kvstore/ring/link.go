package ring

import (
	"bytes"
	"container/heap"
	"strings"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// link is the way to another worker: the values that wait to be sent, and the bytes that are on
// their way.
//
// Positions count the bytes of values between this process and the process that has the other
// worker's place; they begin anew when another process takes over that place.
type link struct {
	node      wire.Node
	place     uint16  // of the other worker in the order of the ranks
	inc       uint32  // incarnation of the process in the place; 0: none has come
	window    uint64  // Config.Window
	shared    bool    // values come through memory that both processes share
	sent      uint64  // position behind the last values sent
	confirmed uint64  // position up to which the other worker has received
	got       uint64  // position behind the last values received
	told      uint64  // position that the other worker has been told
	queue     items   // values that wait
	order     uint64  // items that have been queued
	moved     ps.Time // when confirmed changed last, or the link was empty
	greeting
}

// item is a message with values that waits. The values are looked up when it is sent.
type item struct {
	key      *key
	round    uint64
	slice    uint16
	kind     wire.Type // TypeContribution or TypeSum
	priority int8
	again    bool   // it answers a question: the transport copies the values
	order    uint64 // place among items of the same priority
}

// items is a heap of items: higher priorities first, then older items.
type items []item

func (q items) Len() int { return len(q) }
func (q items) Less(i, j int) bool {
	if q[i].priority != q[j].priority {
		return q[i].priority > q[j].priority
	}
	return q[i].order < q[j].order
}
func (q items) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *items) Push(x any) { *q = append(*q, x.(item)) }

// Pop implements heap.Interface.
func (q *items) Pop() any {
	old := *q
	x := old[len(old)-1]
	old[len(old)-1] = item{}
	*q = old[:len(old)-1]
	return x
}

// reset begins the link to another process, the member of a view.
func (g *base) reset(l *link, v *wire.View, m *wire.Member) {
	*l = link{node: l.node, place: l.place, inc: m.Incarnation, window: g.cfg.Window,
		queue: l.queue[:0]}
	me, window := v.Member(g.self), uint64(defaultWindow)
	if me != nil && m.Addr != "" && hostOf(me.Addr) == hostOf(m.Addr) {
		window = nearWindow
		if l.shared = g.cfg.Shared != nil && g.cfg.Shared(me.Addr) && g.cfg.Shared(m.Addr); l.shared {
			window = sharedWindow
		}
	}
	if l.window == 0 {
		l.window = window
	}
}

// hostOf returns the part of an address that names the host, the same for all local sockets.
func hostOf(addr string) string {
	if strings.HasPrefix(addr, "ipc://") {
		return "ipc"
	}
	addr, _, _ = strings.Cut(addr, ",")
	return addr[:max(0, strings.LastIndexByte(addr, ':'))]
}

// enqueue lets values wait for their turn on a link.
func (g *base) enqueue(l *link, it item) {
	if l.inc == 0 {
		return // the process that comes asks for the values
	}
	l.order++
	it.order = l.order
	heap.Push(&l.queue, it)
}

// queued reports whether values of a round wait on a link.
func (l *link) queued(k *key, round uint64) bool {
	for i := range l.queue {
		if l.queue[i].key == k && l.queue[i].round == round {
			return true
		}
	}
	return false
}

// lentFrom is the size in bytes from which values are lent to the transport. Transports copy
// smaller ones.
const lentFrom = 64 << 10

// pump sends the values that may be on their way.
func (g *base) pump(l *link) {
	if l.sent == l.confirmed {
		l.moved = g.now
	}
	for len(l.queue) > 0 && l.sent-l.confirmed < l.window {
		it := heap.Pop(&l.queue).(item)
		values, loan := g.lookUp(l, &it)
		if values == nil {
			continue
		}
		l.sent += uint64(len(values))
		m := g.message(it.kind, l)
		m.KeySlice = wire.KeySlice{Key: it.key.id, Slice: it.slice, Slices: it.key.slices,
			DType: uint8(it.key.spec.DType), Total: it.key.spec.Total}
		wire.CollectivePlace{Round: it.round, Sent: l.sent, Received: l.got}.Put(&m)
		m.Priority, m.Payload, m.Epoch = it.priority, values, g.epoch
		l.told = l.got
		if it.again {
			g.stats.Resends++
		}
		g.out.Sends = append(g.out.Sends, ps.Send{To: l.node, Msg: m, Hold: loan})
	}
}

// lookUp returns the values of an item, nil if nobody needs them any more, and the loan under which
// the transport may read them, nil if it must copy.
func (g *base) lookUp(l *link, it *item) (values []byte, loan *ps.Loan) {
	k := it.key
	if it.kind == wire.TypeContribution {
		c := k.call
		if c != nil && c.round == it.round && c.err == nil {
			values = k.part(c.value, it.slice)
			same := len(c.out) > 0 && &c.out[0] == &c.value[0]
			if !it.again && len(values) >= lentFrom && (k.each > 0 || !same) {
				loan = c.lend(l.node)
			}
			if loan == nil && same {
				// In this reaction the sum may replace them, before the driver copies them.
				values = bytes.Clone(values)
			}
			return values, loan
		}
		// All others have contributed before ours could leave: they get the sum.
		it.kind = wire.TypeSum
	}
	values = k.sum(it.round, it.slice)
	if r := &k.rounds[it.round&1]; values != nil && !it.again && len(values) >= lentFrom &&
		r.number == it.round && k.own(it.slice) {
		loan = r.lend()
	}
	return values, loan
}

// confirm tells the other worker how much has come, once that is a quarter of its window.
func (g *base) confirm(l *link) {
	if l.got-l.told < max(1, l.window/4) {
		return
	}
	l.told = l.got
	m := g.message(wire.TypeReceived, l)
	wire.CollectivePlace{Received: l.got}.Put(&m)
	g.send(l, m)
}

// hear takes in the positions in a message.
func (g *base) hear(l *link, sent, received uint64) {
	l.got = max(l.got, sent)
	if received = min(received, l.sent); received > l.confirmed {
		l.confirmed, l.moved = received, g.now
	}
}

// unblock takes values as received that have not been confirmed for long: they may be lost. A
// worker that has not received them asks for them.
func (g *base) unblock(l *link) {
	if l.sent != l.confirmed && g.now-l.moved >= g.cfg.Timing.Resend {
		l.confirmed, l.moved = l.sent, g.now
	}
}

// message returns a message to another worker without contents.
func (g *base) message(t wire.Type, l *link) wire.Message {
	return wire.Message{Type: t, Job: g.cfg.Job, From: g.self, Incarnation: g.inc, Target: l.inc,
		Group: uint16(g.number)}
}

// send puts a message into the outbox.
func (g *base) send(l *link, m wire.Message) {
	g.out.Sends = append(g.out.Sends, ps.Send{To: l.node, Msg: m})
}
