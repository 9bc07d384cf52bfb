package wire_test

import (
	"reflect"
	"testing"

	"gomx/kvstore/wire"
)

// field is a set of named fields of a type of message.
type field struct {
	typ  wire.Type
	want any
	set  func(m *wire.Message)
	get  func(m *wire.Message) any
}

func fields() map[string]field {
	return map[string]field{
		"view": {wire.TypeView, uint64(1 << 40), func(m *wire.Message) { m.SetViewNumber(1 << 40) },
			func(m *wire.Message) any { return m.ViewNumber() }},
		"copy": {wire.TypeInSync, uint32(7), func(m *wire.Message) { m.SetCopyIncarnation(7) },
			func(m *wire.Message) any { return m.CopyIncarnation() }},
		"barrier": {wire.TypeBarrier, wire.BarrierCall{Number: 1, Begun: 2, Before: 3},
			func(m *wire.Message) {
				m.SetBarrierCall(wire.BarrierCall{Number: 1, Begun: 2, Before: 3})
			},
			func(m *wire.Message) any { return m.BarrierCall() }},
		"barrier done": {wire.TypeBarrierDone, uint64(4),
			func(m *wire.Message) { m.SetBarrierCalls(4) },
			func(m *wire.Message) any { return m.BarrierCalls() }},
		"snapshot": {wire.TypeSnapshot, wire.SnapshotOrder{Clock: 9, Try: 2, All: true},
			func(m *wire.Message) {
				m.SetSnapshotOrder(wire.SnapshotOrder{Clock: 9, Try: 2, All: true})
			},
			func(m *wire.Message) any { return m.SnapshotOrder() }},
		"snapshot done": {wire.TypeSnapshotDone, wire.SnapshotResult{Clock: 9, Try: 2,
			Failure: wire.FailureUnwritten, Size: 5, Checksum: 6},
			func(m *wire.Message) {
				m.SetSnapshotResult(wire.SnapshotResult{Clock: 9, Try: 2,
					Failure: wire.FailureUnwritten, Size: 5, Checksum: 6})
			}, func(m *wire.Message) any { return m.SnapshotResult() }},
		"reject": {wire.TypeReject, wire.Refusal{Reason: wire.ReasonGone, Of: wire.TypePull,
			Seq: 3},
			func(m *wire.Message) {
				m.SetRefusal(wire.Refusal{Reason: wire.ReasonGone, Of: wire.TypePull, Seq: 3})
			},
			func(m *wire.Message) any { return m.Refusal() }},
		"waiting": {wire.TypeWaiting, wire.Wait{On: wire.Node{Role: wire.Worker, Rank: 3},
			Of: wire.TypePush, Seq: 8},
			func(m *wire.Message) {
				m.SetWait(wire.Wait{On: wire.Node{Role: wire.Worker, Rank: 3}, Of: wire.TypePush,
					Seq: 8})
			}, func(m *wire.Message) any { return m.Wait() }},
		"replicate": {wire.TypeReplicate, wire.LogPlace{Index: 5, Clock: 6, Kind: 7},
			func(m *wire.Message) { m.SetLogPlace(wire.LogPlace{Index: 5, Clock: 6, Kind: 7}) },
			func(m *wire.Message) any { return m.LogPlace() }},
		"replicated": {wire.TypeReplicated, wire.LogReceipt{Index: 5, CheckAt: 6, Checksum: 7},
			func(m *wire.Message) {
				m.SetLogReceipt(wire.LogReceipt{Index: 5, CheckAt: 6, Checksum: 7})
			},
			func(m *wire.Message) any { return m.LogReceipt() }},
		"start": {wire.TypeAskCursor, wire.StartPoint{Round: 5, Push: 6, Step: 7},
			func(m *wire.Message) { m.SetStartPoint(wire.StartPoint{Round: 5, Push: 6, Step: 7}) },
			func(m *wire.Message) any { return m.StartPoint() }},
		"ack": {wire.TypeAck, wire.Receipt{Received: 5, Gap: true, Probed: true},
			func(m *wire.Message) {
				m.SetReceipt(wire.Receipt{Received: 5, Gap: true, Probed: true})
			},
			func(m *wire.Message) any { return m.Receipt() }},
		"value": {wire.TypeValue, wire.Answer{Seq: 1, Version: 2, Received: 3, Fused: true,
			Outcome: wire.Late},
			func(m *wire.Message) {
				m.SetAnswer(wire.Answer{Seq: 1, Version: 2, Received: 3, Fused: true,
					Outcome: wire.Late})
			}, func(m *wire.Message) any { return m.Answer() }},
		"optimizer": {wire.TypeOptimizer, uint64(3), func(m *wire.Message) { m.SetSpecVersion(3) },
			func(m *wire.Message) any { return m.SpecVersion() }},
	}
}

// TestFieldsSurvive sends the named fields of every type in a message of its own and in a batch.
func TestFieldsSurvive(t *testing.T) {
	for name, f := range fields() {
		m := wire.Message{Type: f.typ, From: wire.Node{Role: wire.Server}}
		f.set(&m)
		var got wire.Message
		if err := wire.Decode(m.AppendHeader(nil), nil, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if v := f.get(&got); !reflect.DeepEqual(v, f.want) {
			t.Errorf("%s: got %+v, want %+v", name, v, f.want)
		}
		batch := wire.Message{Type: wire.TypeBatch, From: m.From, Payload: wire.AppendItem(nil, &m)}
		items := batch.Items()
		if ok, err := items.Next(&got); !ok || err != nil {
			t.Fatalf("%s in a batch: %v, %v", name, ok, err)
		}
		if v := f.get(&got); !reflect.DeepEqual(v, f.want) {
			t.Errorf("%s in a batch: got %+v, want %+v", name, v, f.want)
		}
	}
}

// TestFieldsThatWereMadeWrong reads numbers that no sender writes: none is taken for another one.
func TestFieldsThatWereMadeWrong(t *testing.T) {
	m := wire.Message{Clock: 1 << 40, Need: 1<<32 + uint64(wire.TypePush)}
	if w := m.Wait(); !w.On.IsZero() || w.Of != 0 {
		t.Errorf("got %+v, want nobody and no type", w)
	}
	if r := m.Refusal(); r.Of != 0 {
		t.Errorf("got %+v, want no type", r)
	}
	if p := m.LogPlace(); p.Kind != 255 {
		t.Errorf("got kind %d, want 255", p.Kind)
	}
	if r := m.SnapshotResult(); r.Failure == 0 {
		t.Error("a failure without meaning is success")
	}
	m = wire.Message{Flags: wire.FlagGap | wire.FlagProbed | wire.FlagFused | wire.FlagAll,
		Priority: -3}
	if a := m.Answer(); a.Outcome != 0 {
		t.Errorf("got %s, want no outcome", a.Outcome)
	}
	m.SetReceipt(wire.Receipt{})
	m.SetAnswer(wire.Answer{})
	m.SetSnapshotOrder(wire.SnapshotOrder{})
	if m.Flags != 0 {
		t.Errorf("flags %#x stay set", m.Flags)
	}
}
