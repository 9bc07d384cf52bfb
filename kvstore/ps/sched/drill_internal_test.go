package sched

import (
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// drill drives a scheduler without a network: the test plays all other processes.
type drill struct {
	t *testing.T
	*Scheduler
	at ps.Time
}

// newDrill returns a scheduler whose processes have all joined, with a durable view.
func newDrill(t *testing.T, c Config) *drill {
	t.Helper()
	c.Job = 1
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	d := &drill{t: t, Scheduler: s, at: 100 * ps.Second}
	s.each(func(m *wire.Member) { d.join(m.Node, 100+m.Node.Number()) })
	d.write()
	d.pass(s.cfg.Timing.Resend)
	d.flush()
	return d
}

// join lets a process ask for a place.
func (d *drill) join(n wire.Node, nonce uint64) {
	h := wire.Hello{Nonce: nonce, Rank: int32(n.Rank), Addr: "here"}
	d.Handle(d.at, n, &wire.Message{Type: wire.TypeHello, Job: 1, From: n, Payload: h.Append(nil)})
}

// say hands a message of the process that holds a place to the scheduler.
func (d *drill) say(n wire.Node, t wire.Type, change func(m *wire.Message)) {
	m := wire.Message{Type: t, Job: 1, From: n, Incarnation: d.view.Member(n).Incarnation}
	if change != nil {
		change(&m)
	}
	d.Handle(d.at, n, &m)
}

// beat sends a heartbeat that names the durable view.
func (d *drill) beat(n wire.Node) {
	d.say(n, wire.TypeHeartbeat, func(m *wire.Message) { m.SetViewNumber(d.told.Number) })
}

// pass lets time pass. All processes but some send heartbeats, and views become durable.
func (d *drill) pass(dt ps.Time, but ...wire.Node) {
	const step = 100 * ps.Millisecond
	for end := d.at + dt; d.at < end; {
		d.at = min(d.at+step, end)
		d.each(func(m *wire.Member) {
			for _, n := range but {
				if n == m.Node {
					return
				}
			}
			d.beat(m.Node)
		})
		d.Tick(d.at)
		d.write()
	}
}

// write makes views durable until there is none to write.
func (d *drill) write() {
	for d.writing != nil {
		d.Persisted(d.at, d.writing.Number)
	}
}

// flush returns the messages and events since the last call.
func (d *drill) flush() (sends []ps.Send, events []ps.Event) {
	sends = append(sends, d.out.Sends...)
	events = append(events, d.out.Events...)
	d.out.Reset()
	return sends, events
}

// one fails unless exactly one message has been sent, and returns it.
func (d *drill) one(to wire.Node, t wire.Type) *wire.Message {
	d.t.Helper()
	sends, _ := d.flush()
	if len(sends) != 1 || sends[0].To != to || sends[0].Msg.Type != t {
		d.t.Fatalf("%d messages %+v, want one %s to %s", len(sends), sends, t, to)
	}
	return &sends[0].Msg
}

// silent fails if the scheduler has sent or reported anything.
func (d *drill) silent(why string) {
	d.t.Helper()
	if sends, events := d.flush(); len(sends)+len(events) > 0 {
		d.t.Errorf("%s: messages %+v and events %+v, want none", why, sends, events)
	}
}

// srv and wkr name places.
func srv(rank uint16) wire.Node { return wire.Node{Role: wire.Server, Rank: rank} }
func wkr(rank uint16) wire.Node { return wire.Node{Role: wire.Worker, Rank: rank} }
