package wire

import "strconv"

// Type is the kind of a message.
type Type uint8

// Types of messages. Their numbers are part of the format.
const (
	// Hello asks the scheduler for a place in the job (body Hello).
	TypeHello Type = 1
	// View tells a node the current view (ViewNumber, body View).
	TypeView Type = 2
	// Heartbeat says that a node lives, and which view it knows (ViewNumber, body Heartbeat). The
	// scheduler answers with one that has no body, or with its view where that is newer.
	TypeHeartbeat Type = 3
	// Bye says that a node leaves for good.
	TypeBye Type = 4
	// Barrier is a worker's call for a barrier (BarrierCall). BarrierDone says how many of its
	// calls have ended (BarrierCalls).
	TypeBarrier     Type = 5
	TypeBarrierDone Type = 6
	// InSync is a primary's request that its backup of Shard may be promoted from now on
	// (CopyIncarnation).
	TypeInSync Type = 7
	// Diverged is a primary's report that the state of its backup of Shard differs from its own
	// (CopyIncarnation).
	TypeDiverged Type = 8
	// Snapshot asks the scheduler, and the scheduler the servers, for a snapshot (SnapshotOrder);
	// SnapshotDone reports one shard's part, or the end of the whole (SnapshotResult).
	TypeSnapshot     Type = 9
	TypeSnapshotDone Type = 10
	// Pin tells a peer's transport the certificate of the sender's. Only transports see it.
	TypePin Type = 11
	// Regroup is a worker's call for a change of the group (GroupCall; the payload is a note). The
	// answer is a view with another group.
	TypeRegroup Type = 12

	// Init creates a key's slice on its shard; the payload is its first value.
	TypeInit Type = 16
	// Push adds a gradient; Pull asks for a value; PushPull does both.
	TypePush     Type = 17
	TypePull     Type = 18
	TypePushPull Type = 19
	// Ack tells a worker the outcomes of its pushes (Receipt, body Acks).
	TypeAck Type = 21
	// Value answers a pull (Answer).
	TypeValue Type = 22
	// Reject says that a message was refused (Refusal); Epoch is the shard's epoch at the sender.
	TypeReject Type = 23
	// Batch holds several messages to one peer.
	TypeBatch Type = 24
	// AskCursor asks a shard how far the sender's pushes are committed; Cursor answers (body
	// Cursor). With FlagStart the sender says where it starts (StartPoint), and the answer has no
	// body.
	TypeAskCursor Type = 25
	TypeCursor    Type = 26
	// Optimizer sets the optimizer of a shard (body Spec), or says which one is set (SpecVersion).
	TypeOptimizer Type = 27
	// Waiting tells a worker for which node one of its calls waits, when it repeats the call's
	// message (Wait).
	TypeWaiting Type = 28
	// Probe asks for the outcomes of the pushes from sequence Seq on.
	TypeProbe Type = 29

	// Replicate passes an entry of a shard's log to the backup (LogPlace, body Entry and payload);
	// Replicated acknowledges all entries up to one (LogReceipt).
	TypeReplicate  Type = 32
	TypeReplicated Type = 33

	// Contribution is a worker's part of a collective round, for the worker that adds up this slice
	// (CollectivePlace); Sum is the sum of all contributions to a slice.
	TypeContribution Type = 40
	TypeSum          Type = 41
	// Missing asks a worker for the slices of a round that the sender lacks (body Ranges).
	TypeMissing Type = 42
	// Received confirms the bytes of Contributions and Sums that the sender has received.
	TypeReceived Type = 43
	// Greet asks a worker how far its collective rounds are; Greeting answers (CollectiveStart).
	TypeGreet    Type = 44
	TypeGreeting Type = 45

	// Ask and Tell are for the processes that drive the state machines, which ignore them.
	TypeAsk  Type = 48
	TypeTell Type = 49

	// Tensor carries a slice of a value from one stage of a pipeline to another (TensorPlace);
	// Credit says how many bytes of tensors the sender has used (Total). Report says which stage
	// the sender waits for, or which stage has failed (Report).
	TypeTensor Type = 56
	TypeCredit Type = 57
	TypeReport Type = 58
)

// names lists the types by number.
func (t Type) name() string {
	switch t {
	case TypeHello:
		return "hello"
	case TypeView:
		return "view"
	case TypeHeartbeat:
		return "heartbeat"
	case TypeBye:
		return "bye"
	case TypeBarrier:
		return "barrier"
	case TypeBarrierDone:
		return "barrier done"
	case TypeInSync:
		return "in sync"
	case TypeDiverged:
		return "diverged"
	case TypeSnapshot:
		return "snapshot"
	case TypeSnapshotDone:
		return "snapshot done"
	case TypePin:
		return "pin"
	case TypeRegroup:
		return "regroup"
	case TypeReplicate:
		return "replicate"
	case TypeReplicated:
		return "replicated"
	case TypeAsk:
		return "ask"
	case TypeTell:
		return "tell"
	case TypeTensor:
		return "tensor"
	case TypeCredit:
		return "credit"
	case TypeReport:
		return "report"
	}
	return t.dataName()
}

func (t Type) dataName() string {
	switch t {
	case TypeInit:
		return "init"
	case TypePush:
		return "push"
	case TypePull:
		return "pull"
	case TypePushPull:
		return "push and pull"
	case TypeAck:
		return "ack"
	case TypeValue:
		return "value"
	case TypeReject:
		return "reject"
	case TypeBatch:
		return "batch"
	case TypeAskCursor:
		return "ask cursor"
	case TypeCursor:
		return "cursor"
	case TypeOptimizer:
		return "optimizer"
	case TypeWaiting:
		return "waiting"
	case TypeProbe:
		return "probe"
	}
	return t.collectiveName()
}

func (t Type) collectiveName() string {
	switch t {
	case TypeContribution:
		return "contribution"
	case TypeSum:
		return "sum"
	case TypeMissing:
		return "missing"
	case TypeReceived:
		return "received"
	case TypeGreet:
		return "greet"
	case TypeGreeting:
		return "greeting"
	}
	return ""
}

// Valid reports whether t is a type of this version of the format.
func (t Type) Valid() bool { return t.name() != "" }

// Control reports whether t belongs to the scheduler's traffic, which must never wait behind
// payloads.
func (t Type) Control() bool { return t < TypeInit }

// String returns the type's name.
func (t Type) String() string {
	if s := t.name(); s != "" {
		return s
	}
	return "message type " + strconv.Itoa(int(t))
}

// Flags modify a message.
type Flags uint16

// Flags. Bits of this version that are not listed must be zero.
const (
	// FlagPayloadCRC says that the header holds the payload's CRC-32C.
	FlagPayloadCRC Flags = 1 << iota
	// FlagRows says that the payload of a pull names the rows that are wanted, or that of a value
	// has rows; in an init, that the key is a table, to which pushes are added.
	FlagRows
	// FlagExact asks for exactly version Need of a value, not a newer one.
	FlagExact
	// FlagFused marks the value that answers a push and pull.
	FlagFused
	// FlagDirect says that a key's pushes are applied one by one, not in rounds.
	FlagDirect
	// FlagCreate lets an init or an optimizer create, where nothing is there: worker 0's has it.
	FlagCreate
	// FlagRetry marks a message that was sent before.
	FlagRetry
	// FlagGap says in an ack that a push was dropped because one in front of it is missing.
	FlagGap
	// FlagProbed marks the ack that answers a probe.
	FlagProbed
	// FlagAll asks for a snapshot of everything as it is, when all workers have asked for it.
	FlagAll
	// FlagStart marks an ask cursor that says where its sender starts, and its answer.
	FlagStart
	// FlagShared says that the payload is a descriptor of shared memory that holds the real one.
	// Only transports see it.
	FlagShared
	// FlagTraced says that the place of a span follows the payload. Only the processes that drive
	// the state machines see it.
	FlagTraced
	// FlagSparse says that a key has rows that are made at their first touch: the payload of an
	// init describes them (SparseInit).
	FlagSparse

	knownFlags = FlagSparse<<1 - 1
)

// Reason says why a message was refused.
type Reason uint64

// Reasons for a refusal.
const (
	// ReasonEpoch says that the sender's view of the shard is old.
	ReasonEpoch Reason = iota + 1
	// ReasonIncarnation says that the sender has been replaced.
	ReasonIncarnation
	// ReasonNotPrimary says that the receiver does not serve the shard.
	ReasonNotPrimary
	// ReasonUnknownKey says that the key has not been initialized.
	ReasonUnknownKey
	// ReasonShape says that length or element type do not fit the key.
	ReasonShape
	// ReasonMemory says that the server cannot hold a round of this key.
	ReasonMemory
	// ReasonGone says that the version asked for exactly is no longer kept.
	ReasonGone
	// ReasonDenied says that the sender may not send this.
	ReasonDenied
	// ReasonLost says that all copies of the shard are lost.
	ReasonLost
)

// String says the reason in words.
func (r Reason) String() string {
	switch r {
	case ReasonEpoch:
		return "old epoch"
	case ReasonIncarnation:
		return "replaced by a newer incarnation"
	case ReasonNotPrimary:
		return "not the primary"
	case ReasonUnknownKey:
		return "key not initialized"
	case ReasonShape:
		return "length or element type do not fit the key"
	case ReasonMemory:
		return "no memory for a round of this key"
	case ReasonGone:
		return "version no longer kept"
	case ReasonDenied:
		return "not allowed"
	case ReasonLost:
		return "all copies of the shard are lost"
	}
	return "reason " + strconv.FormatUint(uint64(r), 10)
}
