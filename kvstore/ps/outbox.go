package ps

import (
	"slices"

	"gomx/kvstore/wire"
)

// Send asks for a message to be sent.
type Send struct {
	To  wire.Node
	Msg wire.Message
	// Hold owns the payload: pass it to Release, in the driver's goroutine, when the transport is
	// done with the payload. When it is nil the payload must be copied before the outbox is reset.
	Hold *Loan
}

// Done says that a call of a worker ended.
type Done struct {
	ID      uint64
	Err     error
	Outcome wire.Outcome // of a push: the highest of its slices
	Clock   uint64       // round of a push, version of a value
}

// Save asks for one shard's part of a snapshot to be written. The driver calls Saved when it is
// durable.
type Save struct {
	Shard uint32
	Clock uint64
	// Epoch of the shard, and attempt at a snapshot of this clock: each file has a name of its own. A
	// server that leads the shard again writes its part again, with other sequences of workers.
	Epoch uint64
	Try   uint32
	Data  []byte // the first bytes
	// Rest returns the bytes behind Data piece by piece, and none at the end. A piece is valid until
	// the next call. The driver calls it in its goroutine, like all that is the machine's; an error,
	// which comes when the snapshot has been given up, ends the attempt (SaveFailed).
	Rest func() ([]byte, error)
}

// Part is a shard's part of a snapshot, by the name that Saved was given.
type Part struct {
	Clock uint64
	Name  string
}

// EventKind is the subject of an event.
type EventKind uint8

// Kinds of events: state changes worth a line in a log.
const (
	EventJoined     EventKind = iota + 1 // a node got its place, or saw another join
	EventDead                            // the scheduler gave a node up, or saw it again
	EventLeft                            // a node said goodbye
	EventPromoted                        // a server serves a shard from now on
	EventDropped                         // a server gave up its copy of a shard
	EventTransfer                        // a copy of a shard is being made
	EventInSync                          // a copy of a shard may be promoted
	EventDiverged                        // two copies of a shard differ
	EventLost                            // all copies of a shard are lost
	EventFenced                          // the node's place has been taken
	EventRefused                         // a message made no sense and was dropped
	EventSnapshot                        // a snapshot is complete
	EventViewFailed                      // a view could not be adopted
	EventWaiting                         // a call waits for a node for long
	EventSwapped                         // the copies of a shard change places
)

// Event is a state change worth a line in a log.
type Event struct {
	Kind  EventKind
	Node  wire.Node
	Shard uint32
	Epoch uint64
	Text  string
}

// Outbox is the work that a state machine hands to its driver, which carries everything out, in the
// order of the fields, and resets it.
type Outbox struct {
	// View, when set, is to be made durable, however long that takes: call Persisted then. It must
	// not be changed.
	View *wire.View
	// Manifest, when set, completes a snapshot, all files of which are durable. Call Recorded when
	// it is so too, or cannot be.
	Manifest *wire.Manifest
	// Discard are parts of snapshots that have failed, which may be removed.
	Discard []Part
	// Sends are messages, to be sent in this order.
	Sends []Send
	// Recall are nodes that read memory which must come back: when the messages above are sent, the
	// connections to them are dropped, with all that is on its way, and made anew.
	Recall []wire.Node
	// Saves are parts of snapshots to be written.
	Saves []Save
	// Done are calls that ended.
	Done []Done
	// Events are for logs.
	Events []Event
	// Fatal is why the machine cannot go on.
	Fatal error

	fuse fuser
}

// Empty reports whether there is nothing to do.
func (o *Outbox) Empty() bool {
	return o.View == nil && len(o.Sends) == 0 && len(o.Recall) == 0 && len(o.Saves) == 0 &&
		o.Manifest == nil && len(o.Discard) == 0 && len(o.Done) == 0 &&
		len(o.Events) == 0 && o.Fatal == nil
}

// Reset empties the outbox, when all has been carried out.
func (o *Outbox) Reset() {
	clear(o.Sends)
	clear(o.Done)
	clear(o.Saves)
	clear(o.Events)
	o.View, o.Manifest, o.Fatal = nil, nil, nil
	o.Discard = o.Discard[:0]
	o.Recall = o.Recall[:0]
	o.Sends, o.Saves, o.Done, o.Events = o.Sends[:0], o.Saves[:0], o.Done[:0], o.Events[:0]
	o.fuse.final = 0
	for i := range o.fuse.slots {
		o.fuse.slots[i].body = o.fuse.slots[i].base[:0]
	}
}

// Report adds an event. It is for the machine that owns the outbox, as TakeBack and Pack are.
func (o *Outbox) Report(k EventKind, n wire.Node, shard uint32, epoch uint64, text string) {
	o.Events = append(o.Events, Event{Kind: k, Node: n, Shard: shard, Epoch: epoch, Text: text})
}

// TakeBack adds servers to Recall.
func (o *Outbox) TakeBack(servers []uint16) {
	for _, rank := range servers {
		if n := (wire.Node{Role: wire.Server, Rank: rank}); !slices.Contains(o.Recall, n) {
			o.Recall = append(o.Recall, n)
		}
	}
}

// fuser puts small messages to one peer into batches: a wake-up costs more than the bytes of a
// small key.
type fuser struct {
	final int // sends that have been through it
	spare []Send
	slots []fuseSlot
}

// fuseSlot collects messages to one peer.
type fuseSlot struct {
	to    wire.Node
	first Send // kept apart until a second comes
	n     int
	base  []byte // the largest body so far, to begin with after a reset
	body  []byte
}

const (
	// fuseItem is the longest payload that goes into a batch, fuseBatch where a batch ends.
	fuseItem  = 16 << 10
	fuseBatch = 256 << 10
)

// Pack puts small messages to the same peer into batches. The order of messages to one peer stays.
func (o *Outbox) Pack() {
	f := &o.fuse
	if len(o.Sends)-f.final < 2 {
		f.final = len(o.Sends)
		return
	}
	out := append(f.spare[:0], o.Sends[:f.final]...)
	for i := f.final; i < len(o.Sends); i++ {
		s := &o.Sends[i]
		slot := f.slot(s.To)
		small := len(s.Msg.Payload) <= fuseItem && !s.Msg.Type.Control() &&
			s.Msg.Flags&wire.FlagPayloadCRC == 0
		if !small || slot.n > 0 && (len(slot.body) > fuseBatch ||
			slot.first.Msg.Target != s.Msg.Target || slot.first.Msg.Group != s.Msg.Group) {
			out = slot.flush(out)
		}
		if small {
			slot.add(s)
		} else {
			out = append(out, *s)
		}
	}
	for i := range f.slots {
		out = f.slots[i].flush(out)
	}
	f.spare, o.Sends, f.final = o.Sends[:0], out, len(out)
	clear(f.spare[:cap(f.spare)])
}

func (f *fuser) slot(to wire.Node) *fuseSlot {
	for i := range f.slots {
		if f.slots[i].to == to {
			return &f.slots[i]
		}
	}
	f.slots = append(f.slots, fuseSlot{to: to})
	return &f.slots[len(f.slots)-1]
}

func (s *fuseSlot) add(x *Send) {
	s.n++
	if s.n == 1 {
		s.first = *x
		return
	}
	if s.n == 2 {
		s.body = wire.AppendItem(s.body, &s.first.Msg)
		s.first.Hold.Return()
		s.first.Hold = nil
	}
	s.body = wire.AppendItem(s.body, &x.Msg)
	x.Hold.Return()
}

// flush appends the collected messages to out.
func (s *fuseSlot) flush(out []Send) []Send {
	switch {
	case s.n == 1:
		out = append(out, s.first)
	case s.n > 1:
		m := &s.first.Msg
		out = append(out, Send{To: s.to, Msg: wire.Message{
			Type: wire.TypeBatch, Job: m.Job, From: m.From, Incarnation: m.Incarnation,
			Target: m.Target, Group: m.Group, Payload: s.body,
		}})
		if cap(s.body) > cap(s.base) {
			s.base = s.body[:0]
		}
		s.body = s.body[len(s.body):] // the message refers to the bytes in front
	}
	s.n, s.first = 0, Send{}
	return out
}
