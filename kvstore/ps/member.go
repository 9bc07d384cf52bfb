package ps

import (
	"fmt"

	"gomx/kvstore/wire"
)

// identity is which process this is, and of which job.
type identity struct {
	self  wire.Node
	job   uint64
	nonce uint64
	size  int    // workers of the job
	addr  string // where the process listens
	inc   uint32 // incarnation; 0 until a view names the process
}

// member is the part of a server or worker that keeps its place in the job: it says hello until a
// view names it, then sends heartbeats, and adopts newer views. The scheduler answers a heartbeat
// that names an old view with the current one, so that no view needs to be acknowledged.
type member struct {
	identity
	view   *wire.View // nil until one has come
	timing Timing
	awake  wakefulness
	heard  Time // awake time at which the scheduler was heard of last
	alone  bool // the scheduler has been silent for too long
	beat   Time // when to say hello or send a heartbeat next
	asked  bool // a message of a newer view has been seen: ask for it
	fenced bool
	left   bool
	body   []byte // of the message that is being made
	out    Outbox
	item   wire.Message // of the batch that is being handled

	// dispatch takes in one message that is no batch.
	dispatch func(m *wire.Message)
}

func newMember(id identity, t Timing) member { return member{identity: id, timing: t} }

// number returns the number of the view that the process knows, 0 when it knows none.
func (m *member) number() uint64 {
	if m.view == nil {
		return 0
	}
	return m.view.Number
}

// wake begins a step. It reports whether the process has stood still: then nothing that it has not
// heard means anything yet.
func (m *member) wake(now Time) (stood bool) {
	stood = m.awake.step(now, &m.timing)
	if stood {
		m.heard = max(m.heard, m.awake.time+m.timing.Dead-m.timing.Patience)
	}
	return stood
}

// hear notes a word of the scheduler. One that knows less than we do is not ours.
func (m *member) hear(msg *wire.Message) {
	if t := msg.Type; (t == wire.TypeView || t == wire.TypeHeartbeat) &&
		msg.ViewNumber() < m.number() {
		return
	}
	m.heard, m.alone = m.awake.time, false
}

// silent says how long the scheduler has not been heard of.
func (m *member) silent() error {
	return fmt.Errorf("%w: it has said nothing for %.0f s", ErrNoScheduler,
		float64(m.awake.time-m.heard)/float64(Second))
}

// message returns a message of ours without contents.
func (m *member) message(t wire.Type) wire.Message {
	return wire.Message{Type: t, Job: m.job, From: m.self, Incarnation: m.inc}
}

func (m *member) send(to wire.Node, msg wire.Message, hold *Loan) {
	m.out.Sends = append(m.out.Sends, Send{To: to, Msg: msg, Hold: hold})
}

var scheduler = wire.Node{Role: wire.Scheduler}

// tickMember sends the hello, heartbeat or goodbye that the scheduler waits for.
func (m *member) tickMember(now Time, h wire.Heartbeat) {
	m.alone = m.alone || m.awake.time-m.heard > m.timing.Patience
	if m.fenced || now < m.beat && !m.asked {
		return
	}
	if m.left {
		if !m.gone() {
			m.beat, m.asked = now+m.timing.Heartbeat, false
			m.send(scheduler, m.message(wire.TypeBye), nil)
		}
		return
	}
	if now < m.beat-m.timing.Heartbeat+m.timing.Resend/8 {
		return // a view was asked for a moment ago
	}
	m.beat, m.asked = now+m.timing.Heartbeat, false
	if m.inc == 0 {
		hello := wire.Hello{Nonce: m.nonce, Rank: int32(m.self.Rank), Addr: m.addr}
		m.body = hello.Append(m.body[:0])
		msg := m.message(wire.TypeHello)
		msg.Payload = m.body
		m.send(scheduler, msg, nil)
		return
	}
	m.body = h.Append(m.body[:0])
	msg := m.message(wire.TypeHeartbeat)
	msg.Payload = m.body
	msg.SetViewNumber(m.number())
	m.send(scheduler, msg, nil)
}

// adopt takes over a view if it is newer than ours. It reports whether it did.
func (m *member) adopt(msg *wire.Message) bool {
	if msg.ViewNumber() <= m.number() {
		return false
	}
	v, err := wire.DecodeView(msg.Payload)
	if err == nil && (v.Job != m.job || v.Number != msg.ViewNumber() || len(v.Workers) != m.size) {
		err = fmt.Errorf("view %d of job %#x with %d workers, want view %d of job %#x with %d",
			v.Number, v.Job, len(v.Workers), msg.ViewNumber(), m.job, m.size)
	}
	if err != nil {
		m.out.event(EventViewFailed, scheduler, 0, 0, err.Error())
		return false
	}
	me := v.Member(m.self)
	switch {
	case me == nil:
		m.out.event(EventViewFailed, scheduler, 0, 0, fmt.Sprintf("view %d has no place for %s",
			v.Number, m.self))
		return false
	case me.Nonce == m.nonce && m.inc == 0:
		m.inc = me.Incarnation
		m.out.event(EventJoined, m.self, 0, 0, "")
	case me.Nonce != m.nonce && m.inc != 0:
		m.fenced = true
		m.out.event(EventFenced, m.self, 0, 0, "")
	}
	m.view, m.asked = v, true // the scheduler waits for a heartbeat that names it
	return true
}

// ours reports whether a message belongs to this job, comes from the node that it names, and is not
// for another process in this place: numbers of pushes and requests begin anew with every process.
func (m *member) ours(from wire.Node, msg *wire.Message) bool {
	return msg.Job == m.job && msg.From == from && !m.fenced &&
		(msg.Target == 0 || msg.Target == m.inc)
}

// unpack passes on the items of a batch one by one, and any other message as it is.
func (m *member) unpack(msg *wire.Message) error {
	if msg.Type != wire.TypeBatch {
		m.dispatch(msg)
		return nil
	}
	items := msg.Items()
	for {
		if ok, err := items.Next(&m.item); !ok {
			m.item = wire.Message{} // its payload belongs to the transport
			return err
		}
		m.dispatch(&m.item)
	}
}

// bye tells the scheduler that we leave, with every tick from now on until it has heard.
func (m *member) bye() {
	m.left, m.asked = true, true
}

// gone reports whether the scheduler knows that we have left, or does not know us at all.
func (m *member) gone() bool {
	return m.left && (m.inc == 0 || m.fenced || m.view.Member(m.self).Left)
}

// evicted takes in the scheduler's word that another process has this one's place: its views no
// longer come here. One that has no place yet is named by its nonce.
func (m *member) evicted(msg *wire.Message) bool {
	r := msg.Refusal()
	if msg.Type != wire.TypeReject || r.Reason != wire.ReasonIncarnation {
		return false
	}
	if m.inc == 0 && r.Seq != m.nonce || m.inc != 0 && msg.Target != m.inc {
		return false
	}
	m.fenced = true
	m.out.event(EventFenced, m.self, 0, 0, "")
	return true
}
