package wire

// The words of a header hold other things in messages of other types. The structs below name the
// fields of each type: a Set method of Message writes them into the header, the method of the same
// name reads them. Pushes and pulls use the fields of Message itself.

// ViewNumber returns the number of the view that a View holds, or that the sender of a Heartbeat
// knows.
func (m *Message) ViewNumber() uint64 { return m.Seq }

// SetViewNumber sets the result of ViewNumber.
func (m *Message) SetViewNumber(n uint64) { m.Seq = n }

// CopyIncarnation returns the incarnation of the backup that an InSync or a Diverged is about.
func (m *Message) CopyIncarnation() uint32 { return uint32(m.Seq) }

// SetCopyIncarnation sets the result of CopyIncarnation.
func (m *Message) SetCopyIncarnation(n uint32) { m.Seq = uint64(n) }

// BarrierCall is the content of a Barrier.
type BarrierCall struct {
	Number uint64 // of the call, counted from 1 by the process that makes it
	Begun  uint64 // steps begun when the call was made, steps of earlier processes included
	Before uint64 // steps that earlier processes in the place have ended
}

// BarrierCall returns the content of a Barrier.
func (m *Message) BarrierCall() BarrierCall { return BarrierCall{m.Seq, m.Clock, m.Need} }

// SetBarrierCall makes m a Barrier with this content.
func (m *Message) SetBarrierCall(c BarrierCall) {
	m.Seq, m.Clock, m.Need = c.Number, c.Begun, c.Before
}

// BarrierCalls returns how many calls of the receiver have ended, which a BarrierDone says.
func (m *Message) BarrierCalls() uint64 { return m.Seq }

// SetBarrierCalls sets the result of BarrierCalls.
func (m *Message) SetBarrierCalls(n uint64) { m.Seq = n }

// RowsAsk is a question for the rows of a sparse slice that exist.
type RowsAsk struct {
	From uint64 // first row, in the order of the copy that answers
	Bare bool   // the numbers of the rows are wanted, without states
}

// RowsAsk returns the question.
func (m *Message) RowsAsk() RowsAsk { return RowsAsk{m.Clock, m.Need != 0} }

// SetRowsAsk sets the question.
func (m *Message) SetRowsAsk(w RowsAsk) {
	m.Clock, m.Need = w.From, 0
	if w.Bare {
		m.Need = 1
	}
}

// GroupCall is the content of a Regroup, beside the note for workers that come later.
type GroupCall struct {
	Number uint64 // of the group that the sender knows, and which is to change
	Round  uint64 // rounds of the group so far, earlier groups included
	Leaves bool   // the sender wants to leave
}

// GroupCallOf returns the content of a Regroup.
func GroupCallOf(m *Message) GroupCall { return GroupCall{m.Seq, m.Clock, m.Need != 0} }

// Set makes m a Regroup with this content.
func (c GroupCall) Set(m *Message) {
	m.Seq, m.Clock, m.Need = c.Number, c.Round, 0
	if c.Leaves {
		m.Need = 1
	}
}

// SnapshotOrder is the content of a Snapshot.
type SnapshotOrder struct {
	Clock uint64
	Try   uint32 // number of the attempt, from the scheduler to servers
	All   bool   // everything as it is, when all workers have asked
}

// SnapshotOrder returns the content of a Snapshot.
func (m *Message) SnapshotOrder() SnapshotOrder {
	return SnapshotOrder{m.Clock, m.Key, m.Flags&FlagAll != 0}
}

// SetSnapshotOrder sets the content of a Snapshot.
func (m *Message) SetSnapshotOrder(o SnapshotOrder) {
	m.Clock, m.Key = o.Clock, o.Try
	m.set(FlagAll, o.All)
}

// Failure says why there is no snapshot; 0: there is one.
type Failure uint8

// Reasons why a snapshot fails.
const (
	// FailureLate says that a key has passed the clock.
	FailureLate Failure = iota + 1
	// FailureUnwritten says that a server or the scheduler could not write its part.
	FailureUnwritten
)

// SnapshotResult is the content of a SnapshotDone. From a server it is about one shard's part,
// whose name is the payload; from the scheduler it is about the whole.
type SnapshotResult struct {
	Clock    uint64
	Try      uint32 // of the order
	Failure  Failure
	Size     uint64 // bytes of the part
	Checksum uint32 // CRC-32C of the part without its last 4 bytes, which hold this number
}

// SnapshotResult returns the content of a SnapshotDone.
func (m *Message) SnapshotResult() SnapshotResult {
	return SnapshotResult{m.Clock, m.Key, Failure(min(m.Need, 255)), m.Total, uint32(m.Seq)}
}

// SetSnapshotResult sets the content of a SnapshotDone.
func (m *Message) SetSnapshotResult(r SnapshotResult) {
	m.Clock, m.Key, m.Need, m.Total, m.Seq = r.Clock, r.Try, uint64(r.Failure), r.Size,
		uint64(r.Checksum)
}

// Refusal is the content of a Reject.
type Refusal struct {
	Reason Reason
	Of     Type   // of the message that was refused
	Seq    uint64 // of that message; the nonce of a process that asked the scheduler for a place
}

// Refusal returns the content of a Reject.
func (m *Message) Refusal() Refusal { return Refusal{Reason(m.Clock), typeOf(m.Need), m.Seq} }

// SetRefusal sets the content of a Reject.
func (m *Message) SetRefusal(r Refusal) {
	m.Clock, m.Need, m.Seq = uint64(r.Reason), uint64(r.Of), r.Seq
}

// Wait is the content of a Waiting.
type Wait struct {
	On  Node   // waited for; no valid role when the message is malformed
	Of  Type   // of the receiver's message that waits
	Seq uint64 // of that message
}

// Wait returns the content of a Waiting.
func (m *Message) Wait() Wait {
	on, ok := NodeOf(m.Clock)
	if !ok {
		on = Node{}
	}
	return Wait{on, typeOf(m.Need), m.Seq}
}

// SetWait sets the content of a Waiting.
func (m *Message) SetWait(w Wait) { m.Clock, m.Need, m.Seq = w.On.Number(), uint64(w.Of), w.Seq }

// typeOf reads a type from a word of the header. Numbers of no type become 0, which is none.
func typeOf(n uint64) Type {
	if n > 255 {
		return 0
	}
	return Type(n)
}

// LogPlace is where the entry of a Replicate is in the log of its shard.
type LogPlace struct {
	Index uint64
	Clock uint64 // of the entry, as its kind says
	Kind  uint8  // a number of package ps; 255 when the message is malformed
	// Attempt is Shard.Attempt modulo 128 for a third copy, and tells its transfer from an earlier
	// one.
	Attempt uint8
}

// LogPlace returns the content of a Replicate.
func (m *Message) LogPlace() LogPlace {
	return LogPlace{m.Seq, m.Clock, uint8(min(m.Need, 255)), uint8(m.Priority)}
}

// SetLogPlace sets the content of a Replicate.
func (m *Message) SetLogPlace(p LogPlace) {
	m.Seq, m.Clock, m.Need, m.Priority = p.Index, p.Clock, uint64(p.Kind), int8(p.Attempt)
}

// LogReceipt is the content of a Replicated.
type LogReceipt struct {
	Index    uint64 // the backup has all entries up to here
	CheckAt  uint64 // index at which Checksum was taken; 0: none was
	Checksum uint32 // of the backup's state
}

// LogReceipt returns the content of a Replicated.
func (m *Message) LogReceipt() LogReceipt { return LogReceipt{m.Seq, m.Clock, uint32(m.Need)} }

// SetLogReceipt sets the content of a Replicated.
func (m *Message) SetLogReceipt(r LogReceipt) {
	m.Seq, m.Clock, m.Need = r.Index, r.CheckAt, uint64(r.Checksum)
}

// StartPoint is where a worker starts when rounds may have closed without it. The worker begins
// with the one behind each number.
type StartPoint struct {
	Round uint64 // of keys with rounds
	Push  uint64 // to keys without rounds
	Step  uint64 // of tables
}

// StartPoint returns the content of an AskCursor with FlagStart.
func (m *Message) StartPoint() StartPoint { return StartPoint{m.Clock, m.Need, m.Total} }

// SetStartPoint makes an AskCursor say where its sender starts.
func (m *Message) SetStartPoint(p StartPoint) {
	m.Clock, m.Need, m.Total = p.Round, p.Push, p.Step
	m.set(FlagStart, true)
}

// Receipt is the content of an Ack beside its body, which lists the outcomes of pushes.
type Receipt struct {
	Received uint64 // highest sequence received without a gap
	Gap      bool   // a push behind a gap has been dropped
	Probed   bool   // answers a Probe
}

// Receipt returns the content of an Ack.
func (m *Message) Receipt() Receipt {
	return Receipt{m.Need, m.Flags&FlagGap != 0, m.Flags&FlagProbed != 0}
}

// SetReceipt sets the content of an Ack.
func (m *Message) SetReceipt(r Receipt) {
	m.Need = r.Received
	m.set(FlagGap, r.Gap)
	m.set(FlagProbed, r.Probed)
}

// Answer is the content of a Value beside the values.
type Answer struct {
	Seq      uint64  // of the pull, or of the push and pull
	Version  uint64  // of the value
	Received uint64  // as in Receipt
	Fused    bool    // answers a push and pull
	Outcome  Outcome // of the push that is answered with it; 0 when it is not committed
}

// Answer returns the content of a Value.
func (m *Message) Answer() Answer {
	return Answer{m.Seq, m.Clock, m.Need, m.Flags&FlagFused != 0, Outcome(max(0, m.Priority))}
}

// SetAnswer sets the content of a Value.
func (m *Message) SetAnswer(a Answer) {
	m.Seq, m.Clock, m.Need, m.Priority = a.Seq, a.Version, a.Received, int8(a.Outcome)
	m.set(FlagFused, a.Fused)
}

// SpecVersion returns the version of the optimizer that an Optimizer is about. From a server it is
// the one that is set; an Optimizer from a worker has it in its body.
func (m *Message) SpecVersion() uint64 { return m.Clock }

// SetSpecVersion sets the result of SpecVersion.
func (m *Message) SetSpecVersion(n uint64) { m.Clock = n }

// set sets or clears a flag.
func (m *Message) set(f Flags, on bool) {
	if on {
		m.Flags |= f
	} else {
		m.Flags &^= f
	}
}
