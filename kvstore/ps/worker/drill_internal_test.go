package worker

import (
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// drill drives a worker without a network: the test plays the scheduler and the servers. Shard i is
// on server i, whose incarnation is 1+i.
type drill struct {
	t *testing.T
	*Worker
	at ps.Time
	v  *wire.View
}

// newDrill returns worker 0 of two, which has a place and knows where its shards are.
func newDrill(t *testing.T, c Config, shards int) *drill {
	t.Helper()
	c.Job, c.Nonce, c.Workers = 1, 7, 2
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	d := &drill{t: t, Worker: w, at: 100 * ps.Second, v: &wire.View{Job: 1, Next: 20}}
	for i := range shards {
		d.v.Servers = append(d.v.Servers, wire.Member{Node: srv(i), Incarnation: uint32(1 + i),
			Alive: true})
		d.v.Shards = append(d.v.Shards, wire.Shard{Epoch: 1,
			Primary: wire.Replica{Server: uint16(i), Incarnation: uint32(1 + i)}})
	}
	for i := range 2 {
		d.v.Workers = append(d.v.Workers, wire.Member{
			Node: wire.Node{Role: wire.Worker, Rank: uint16(i)}, Incarnation: uint32(10 + i),
			Alive: true, Nonce: uint64(7 + i)})
	}
	d.tell()
	d.sent()
	return d
}

// joinedDrill returns a worker that has joined, and whose shards know nothing of earlier processes.
func joinedDrill(t *testing.T, c Config, shards int) *drill {
	t.Helper()
	d := newDrill(t, c, shards)
	if _, err := d.Join(d.at, 0); err != nil {
		t.Fatal(err)
	}
	for d.joining != nil {
		for _, m := range d.sent() {
			if m.Type == wire.TypeAskCursor {
				d.cursor(&m, wire.Cursor{})
			}
		}
	}
	d.done(1)
	return d
}

func srv(rank int) wire.Node { return wire.Node{Role: wire.Server, Rank: uint16(rank)} }

// tell makes the scheduler tell a new view.
func (d *drill) tell() {
	d.v.Number++
	m := wire.Message{Type: wire.TypeView, Payload: d.v.Append(nil)}
	m.SetViewNumber(d.v.Number)
	d.schedule(m)
}

// schedule hands a message of the scheduler to the worker.
func (d *drill) schedule(m wire.Message) {
	m.Job, m.From = 1, node.Scheduler
	d.Handle(d.at, node.Scheduler, &m)
}

// serve hands a message of a shard's primary to the worker.
func (d *drill) serve(shard uint32, m wire.Message) {
	p := d.v.Shards[shard].Primary
	m.Job, m.From, m.Incarnation = 1, srv(int(p.Server)), p.Incarnation
	m.Shard, m.Epoch, m.Target = shard, d.v.Shards[shard].Epoch, d.me.Inc
	d.Handle(d.at, m.From, &m)
}

// cursor answers a question about an earlier process.
func (d *drill) cursor(q *wire.Message, c wire.Cursor) {
	d.serve(q.Shard, wire.Message{Type: wire.TypeCursor, Seq: q.Seq,
		Flags: q.Flags & wire.FlagStart, Payload: c.Append(nil)})
}

// sent returns the messages since the last call, whose memory comes back.
func (d *drill) sent() (list []wire.Message) {
	for i := range d.me.Out.Sends {
		s := &d.me.Out.Sends[i]
		list = append(list, s.Msg)
		if s.Hold != nil {
			s.Hold.Return()
		}
	}
	d.me.Out.Sends = d.me.Out.Sends[:0]
	d.reap()
	return list
}

// one fails unless exactly one message has left since the last call, and returns it.
func (d *drill) one(t wire.Type) *wire.Message {
	d.t.Helper()
	list := d.sent()
	if len(list) != 1 || list[0].Type != t {
		d.t.Fatalf("messages %v, want one %s", list, t)
	}
	return &list[0]
}

// done returns the ends of calls since the last call, of which there must be some.
func (d *drill) done(n int) []ps.Done {
	d.t.Helper()
	list := append([]ps.Done(nil), d.me.Out.Done...)
	d.me.Out.Done = d.me.Out.Done[:0]
	if len(list) != n {
		d.t.Fatalf("%d calls have ended %+v, want %d", len(list), list, n)
	}
	if err := d.Audit(); err != nil {
		d.t.Error(err)
	}
	return list
}

// key initializes a key.
func (d *drill) key(key uint32, spec KeySpec) {
	d.t.Helper()
	if _, err := d.Init(d.at, key, spec, make([]byte, spec.Total), 0); err != nil {
		d.t.Fatal(err)
	}
	d.created()
}

// created answers the questions of an Init or a Table.
func (d *drill) created() {
	d.t.Helper()
	for _, m := range d.sent() {
		if m.Type == wire.TypeInit {
			d.serve(m.Shard, wire.Message{Type: wire.TypeInit, Seq: m.Seq})
		}
	}
	if e := d.done(1)[0]; e.Err != nil {
		d.t.Fatal(e.Err)
	}
}

// ack acknowledges a push as committed.
func (d *drill) ack(m *wire.Message) {
	a := wire.Message{Type: wire.TypeAck, Payload: wire.AppendAck(nil, m.Seq, wire.Applied)}
	a.SetReceipt(wire.Receipt{Received: m.Seq})
	d.serve(m.Shard, a)
}

// refused fails unless an error is one of usage.
func (d *drill) refused(why string, err error) {
	d.t.Helper()
	if !errors.Is(err, ps.ErrUsage) {
		d.t.Errorf("%s: got %v, want an error of usage", why, err)
	}
	if len(d.open) > 0 {
		d.t.Errorf("%s: %d calls are open", why, len(d.open))
	}
}
