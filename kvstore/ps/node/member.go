package node

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// Identity names a process and its job.
type Identity struct {
	Self  wire.Node
	Job   uint64 // drawn at the start of the job
	Nonce uint64 // drawn by the process; not 0
	Size  int    // workers with which the job began
	Addr  string // where the process listens, "" if it does not
	Inc   uint32 // incarnation; 0 until a view names the process
}

// Member is the part of a server or worker that keeps its place in the job: it says hello until a
// view names it, then sends heartbeats, and adopts newer views. The scheduler answers a heartbeat
// that names an old view with the current one, so that no view needs to be acknowledged.
//
// Invariants:
//  1. The number of View never falls.
//  2. Inc changes once, from 0 to the incarnation of the first view that names Nonce.
//  3. Fenced and Left are never taken back: another process has the place then, or will.
//  4. Messages of schedulers change nothing if their term is lower than one heard of before.
type Member struct {
	Identity
	View   *wire.View // last view; nil until one has come
	Timing ps.Timing
	Out    ps.Outbox
	// Dispatch takes in one message that is no batch. The machine sets it.
	Dispatch func(m *wire.Message)

	Asked  bool // a view is to be asked for: a message of a newer one has been seen
	Alone  bool // the scheduler has been silent for longer than Timing.Patience
	Fenced bool // another process has the place
	Left   bool // the process has begun to say goodbye

	awake Wakefulness
	term  uint64       // highest term of a scheduler that has been heard of
	heard ps.Time      // awake time at which the scheduler was heard of last
	beat  ps.Time      // when to say hello or send a heartbeat next
	body  []byte       // payload of the hello or heartbeat that was made last
	item  wire.Message // of the batch that is being handled
}

// NewMember returns a process that has no place yet.
func NewMember(id Identity, t ps.Timing) Member { return Member{Identity: id, Timing: t} }

// number returns the number of the view that the process knows, 0 when it knows none.
func (m *Member) number() uint64 {
	if m.View == nil {
		return 0
	}
	return m.View.Number
}

// Wake begins a reaction. It reports whether the process has stood still: then nothing that it has
// not heard means anything yet.
func (m *Member) Wake(now ps.Time) (stood bool) {
	stood = m.awake.React(now, &m.Timing)
	if stood {
		m.heard = max(m.heard, m.awake.Time+m.Timing.Dead-m.Timing.Patience)
	}
	return stood
}

// Hear notes a word of the scheduler. One that knows less than we do is not ours.
func (m *Member) Hear(msg *wire.Message) {
	if t := msg.Type; (t == wire.TypeView || t == wire.TypeHeartbeat) &&
		msg.ViewNumber() < m.number() {
		return
	}
	m.heard, m.Alone = m.awake.Time, false
}

// Silent says how long the scheduler has not been heard of.
func (m *Member) Silent() error {
	return fmt.Errorf("%w: it has said nothing for %.0f s", ps.ErrNoScheduler,
		float64(m.awake.Time-m.heard)/float64(ps.Second))
}

// Message returns a message of ours without contents.
func (m *Member) Message(t wire.Type) wire.Message {
	x := wire.Message{Type: t, Job: m.Job, From: m.Self, Incarnation: m.Inc}
	if m.View != nil {
		x.Group = uint16(m.View.Group.Number)
	}
	return x
}

// Send puts a message into the outbox. Hold stands for the payload where a machine lends it; a
// payload without it must stay as it is until the outbox has been emptied.
func (m *Member) Send(to wire.Node, msg wire.Message, hold *ps.Loan) {
	m.Out.Sends = append(m.Out.Sends, ps.Send{To: to, Msg: msg, Hold: hold})
}

// Scheduler is the node of the scheduler, of which a job has one.
var Scheduler = wire.Node{Role: wire.Scheduler}

// Tick sends the hello, heartbeat or goodbye that the scheduler waits for. One leaves in every
// heartbeat interval, and at once when a view is to be asked for, but not twice within an eighth of
// the time after which messages are repeated.
func (m *Member) Tick(now ps.Time, h wire.Heartbeat) {
	m.Alone = m.Alone || m.awake.Time-m.heard > m.Timing.Patience
	if m.Fenced || now < m.beat && !m.Asked {
		return
	}
	if m.Left {
		if !m.Gone() {
			m.beat, m.Asked = now+m.Timing.Heartbeat, false
			m.Send(Scheduler, m.Message(wire.TypeBye), nil)
		}
		return
	}
	if now < m.beat-m.Timing.Heartbeat+m.Timing.Resend/8 {
		return // a view was asked for a moment ago
	}
	m.beat, m.Asked = now+m.Timing.Heartbeat, false
	if m.Inc == 0 {
		hello := wire.Hello{Nonce: m.Nonce, Rank: int32(m.Self.Rank), Addr: m.Addr}
		m.body = hello.Append(m.body[:0])
		msg := m.Message(wire.TypeHello)
		msg.Payload = m.body
		m.Send(Scheduler, msg, nil)
		return
	}
	m.body = h.Append(m.body[:0])
	msg := m.Message(wire.TypeHeartbeat)
	msg.Payload = m.body
	msg.SetViewNumber(m.number())
	m.Send(Scheduler, msg, nil)
}

// Adopt takes over a view if it is newer than ours. It reports whether it did.
func (m *Member) Adopt(msg *wire.Message) bool {
	if msg.ViewNumber() <= m.number() {
		return false
	}
	v, err := wire.DecodeView(msg.Payload)
	if err == nil && (v.Job != m.Job || v.Number != msg.ViewNumber() || len(v.Workers) < m.Size) {
		err = fmt.Errorf("view %d of job %#x with %d workers, want view %d of job %#x with "+
			"at least %d",
			v.Number, v.Job, len(v.Workers), msg.ViewNumber(), m.Job, m.Size)
	}
	if err != nil {
		m.Out.Report(ps.EventViewFailed, Scheduler, 0, 0, err.Error())
		return false
	}
	me := v.Member(m.Self)
	switch {
	case me == nil:
		m.Out.Report(ps.EventViewFailed, Scheduler, 0, 0, fmt.Sprintf("view %d has no place for %s",
			v.Number, m.Self))
		return false
	case me.Nonce == m.Nonce && m.Inc == 0:
		m.Inc = me.Incarnation
		m.Out.Report(ps.EventJoined, m.Self, 0, 0, "")
	case me.Nonce != m.Nonce && m.Inc != 0:
		m.Fenced = true
		m.Out.Report(ps.EventFenced, m.Self, 0, 0, "")
	}
	m.View, m.Asked = v, true // the scheduler waits for a heartbeat that names it
	return true
}

// Ours reports whether a message belongs to this job, comes from the node that it names, and is not
// for another process in this place: numbers of pushes and requests begin anew with every process.
// A message of a scheduler that another one has replaced is refused.
func (m *Member) Ours(from wire.Node, msg *wire.Message) bool {
	return msg.Job == m.Job && msg.From == from && !m.Fenced &&
		(msg.Target == 0 || msg.Target == m.Inc) &&
		(from.Role != wire.Scheduler || m.inTerm(msg))
}

// inTerm reports whether a message comes from the scheduler of the latest term that is known, and
// notes a later term. A scheduler that was replaced does not know it while it stands still or is
// cut off. The transport of a scheduler refuses processes without a term: it has seen a later
// process in their place, which holds in every term.
func (m *Member) inTerm(msg *wire.Message) bool {
	term := msg.Epoch
	if term == 0 && msg.Type == wire.TypeReject {
		return true
	}
	if term < m.term {
		return false
	}
	m.term = term
	return true
}

// Unpack passes on to Dispatch the items of a batch one by one, and any other message as it is. It
// returns an error for a batch that is damaged, whose first items may have been passed on.
func (m *Member) Unpack(msg *wire.Message) error {
	if msg.Type != wire.TypeBatch {
		m.Dispatch(msg)
		return nil
	}
	items := msg.Items()
	for {
		if ok, err := items.Next(&m.item); !ok {
			m.item = wire.Message{} // its payload belongs to the transport
			return err
		}
		m.Dispatch(&m.item)
	}
}

// Leave tells the scheduler that we leave, with every tick from now on until it has heard.
func (m *Member) Leave() {
	m.Left, m.Asked = true, true
}

// Gone reports whether the scheduler knows that we have left, or does not know us at all.
func (m *Member) Gone() bool {
	return m.Left && (m.Inc == 0 || m.Fenced || m.View.Member(m.Self).Left)
}

// Evicted takes in the scheduler's word that another process has this one's place: its views no
// longer come here. One that has no place yet is named by its nonce.
func (m *Member) Evicted(msg *wire.Message) bool {
	r := msg.Refusal()
	if msg.Type != wire.TypeReject || r.Reason != wire.ReasonIncarnation {
		return false
	}
	if m.Inc == 0 && r.Seq != m.Nonce || m.Inc != 0 && msg.Target != m.Inc {
		return false
	}
	m.Fenced = true
	m.Out.Report(ps.EventFenced, m.Self, 0, 0, "")
	return true
}
