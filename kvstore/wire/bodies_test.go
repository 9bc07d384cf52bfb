package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"gomx/kvstore/wire"
)

func sampleView() *wire.View {
	return &wire.View{
		Job: 5, Number: 17, Next: 9, Barrier: 2, Snapshot: 40,
		Servers: []wire.Member{
			{Node: wire.Node{Role: wire.Server}, Incarnation: 2, Alive: true, Nonce: 77,
				Addr: "tcp://h:1"},
			{Node: wire.Node{Role: wire.Server, Rank: 1}, Incarnation: 8, Left: true, Nonce: 78},
		},
		Workers: []wire.Member{{Node: wire.Node{Role: wire.Worker}, Incarnation: 3, Alive: true,
			Nonce: 1}},
		Shards: []wire.Shard{
			{Epoch: 4, Primary: wire.Replica{Server: 0, Incarnation: 2},
				Backup: wire.Replica{Server: 1, Incarnation: 8}, InSync: true},
			{Epoch: 1, Lost: true},
			{Epoch: 9, Primary: wire.Replica{Server: 0, Incarnation: 2},
				Backup: wire.Replica{Server: 1, Incarnation: 8}, InSync: true, Swapped: true},
		},
	}
}

func sampleCursor() wire.Cursor {
	return wire.Cursor{Away: true, Entries: []wire.CursorEntry{
		{Key: 1, Slice: 1, Slices: 2, DType: 4, Total: 99, Clock: 7, Version: 8},
		{Key: 2, Direct: true},
		{Key: 3, Direct: true, Table: true, Slices: 1},
	}}
}

func sampleManifest() *wire.Manifest {
	return &wire.Manifest{Job: 1, Clock: 100,
		Files: []wire.SnapshotFile{{Shard: 0, Checksum: 1, Size: 2, Name: "shard-0"},
			{Shard: 1, Name: "shard-1"}}}
}

// bodies are the decoders with a value each, for tests that treat them alike.
var bodies = map[string]struct {
	encoded []byte
	want    any
	decode  func([]byte) (any, error)
}{
	"view": {sampleView().Append(nil), sampleView(),
		func(b []byte) (any, error) { return wire.DecodeView(b) }},
	"cursor": {ptr(sampleCursor()).Append(nil), sampleCursor(),
		func(b []byte) (any, error) { return wire.DecodeCursor(b) }},
	"manifest": {sampleManifest().Append(nil), sampleManifest(),
		func(b []byte) (any, error) { return wire.DecodeManifest(b) }},
	"hello": {(&wire.Hello{Nonce: 1, Rank: -1, Addr: "x"}).Append(nil),
		wire.Hello{Nonce: 1, Rank: -1, Addr: "x"},
		func(b []byte) (any, error) { return wire.DecodeHello(b) }},
	"heartbeat": {(&wire.Heartbeat{Clock: 1, Queue: 2, Parked: 3, Waiting: -1}).Append(nil),
		wire.Heartbeat{Clock: 1, Queue: 2, Parked: 3, Waiting: -1},
		func(b []byte) (any, error) { return wire.DecodeHeartbeat(b) }},
	"optimizer": {(&wire.Spec{Version: 3, Name: "adam", Params: []byte{1}}).Append(nil),
		wire.Spec{Version: 3, Name: "adam", Params: []byte{1}},
		func(b []byte) (any, error) { return wire.DecodeSpec(b) }},
}

func ptr[T any](v T) *T { return &v }

func TestBodiesSurvive(t *testing.T) {
	for name, b := range bodies {
		got, err := b.decode(b.encoded)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(got, b.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, b.want)
		}
		for i := range b.encoded {
			if _, err := b.decode(b.encoded[:i]); err == nil {
				t.Errorf("%s cut to %d of %d bytes: no error", name, i, len(b.encoded))
			}
		}
		if _, err := b.decode(append(b.encoded[:len(b.encoded):len(b.encoded)], 0)); err == nil {
			t.Errorf("%s with one byte more: no error", name)
		}
	}
}

func TestClaimsAreNotBelieved(t *testing.T) {
	huge := append(make([]byte, 36), 0xff, 0xff, 0xff, 0xff)
	if n := testing.AllocsPerRun(10, func() { _, _ = wire.DecodeView(huge) }); n > 8 {
		t.Errorf("a view that claims 4 billion servers makes %v allocations", n)
	}
	if _, err := wire.DecodeView(huge); err == nil || !strings.Contains(err.Error(), "ends early") {
		t.Errorf("got %v, want an error that the view ends early", err)
	}
}

func TestViewLookups(t *testing.T) {
	v := sampleView()
	if m := v.Member(wire.Node{Role: wire.Server, Rank: 1}); m == nil || m.Incarnation != 8 {
		t.Errorf("got %+v, want server 1", m)
	}
	for _, n := range []wire.Node{{Role: wire.Server, Rank: 2}, {Role: wire.Scheduler}, {}} {
		if m := v.Member(n); m != nil {
			t.Errorf("%s: got %+v, want none", n, m)
		}
	}
	if !v.Current(wire.Node{Role: wire.Worker}, 3) || v.Current(wire.Node{Role: wire.Worker}, 2) {
		t.Error("worker 0 has incarnation 3")
	}
	c := v.Clone()
	c.Shards[0].Epoch, c.Servers[0].Addr = 9, "y"
	if v.Shards[0].Epoch != 4 || v.Servers[0].Addr != "tcp://h:1" {
		t.Error("a clone shares memory with its original")
	}
}

func TestBatchSurvives(t *testing.T) {
	var payload []byte
	var want []wire.Message
	for i := range 20 {
		m := sample()
		m.Seq, m.Payload = uint64(i), make([]byte, i)
		want = append(want, m)
		payload = wire.AppendItem(payload, &m)
	}
	batch := sample()
	batch.Type, batch.Payload = wire.TypeBatch, payload
	items := batch.Items()
	var got wire.Message
	for i := range want {
		if ok, err := items.Next(&got); !ok || err != nil {
			t.Fatalf("item %d: got %v, %v", i, ok, err)
		}
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("item %d: got %+v, want %+v", i, got, want[i])
		}
	}
	if ok, err := items.Next(&got); ok || err != nil {
		t.Errorf("at the end: got %v, %v", ok, err)
	}
	batch.Payload = wire.AppendItem(nil, &batch)
	items = batch.Items()
	if _, err := items.Next(&got); err == nil {
		t.Error("a batch inside a batch is accepted")
	}
}

func TestAcksAndEntries(t *testing.T) {
	a, err := wire.DecodeAcks(wire.AppendAck(wire.AppendAck(nil, 5, wire.Applied), 9, wire.Late))
	if err != nil || a.Len() != 2 {
		t.Fatalf("got %d acks, %v", a.Len(), err)
	}
	if seq, o := a.At(1); seq != 9 || o != wire.Late {
		t.Errorf("got %d %s, want 9 late", seq, o)
	}
	c := wire.Contributor{Rank: 3, Outcome: wire.Known, Incarnation: 4, Seq: 5}
	b := make([]byte, wire.EntrySize(2), wire.EntrySize(2)+3)
	wire.PutEntry(b, 2)
	wire.PutContributor(b, 0, wire.Contributor{Outcome: wire.Applied})
	wire.PutContributor(b, 1, c)
	e, err := wire.DecodeEntry(append(b, "sum"...))
	if err != nil {
		t.Fatal(err)
	}
	if e.Len() != 2 || e.At(1) != c || string(e.Payload) != "sum" {
		t.Errorf("got %+v with %+v", e, e.At(1))
	}
}
