package ps_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// snapshotOf returns the only shard's part of a snapshot of a small job, and the value that is in
// it.
func snapshotOf(t testing.TB) (file, value []byte) {
	n, list := newNet(t, 1, 1, 1, worker.KeySpec{Total: 64}, nil)
	grads := buffers(1, 64)
	for i := range grads[0] {
		grads[0][i] = byte(i)
	}
	n.round(t, list, grads, buffers(1, 64))
	if _, err := list[0].Snapshot(n.now, 1, 0); err != nil {
		t.Fatal(err)
	}
	srv := n.machines[wire.Node{Role: wire.Server}].(*server.Server)
	for range 10 {
		n.settle()
		if len(n.saves) > 0 {
			save := n.saves[0]
			srv.Saved(&save, "shard-0")
			n.until(t, 1)
			return save.Data, grads[0]
		}
	}
	t.Fatal("there is no snapshot")
	return nil, nil
}

// wholePart reads a part of a snapshot to its end.
func wholePart(save *ps.Save) []byte {
	b := bytes.Clone(save.Data)
	for {
		piece, err := save.Rest()
		if err != nil {
			panic(err)
		}
		if len(piece) == 0 {
			return b
		}
		b = append(b, piece...)
	}
}

// restored returns a server that has got its place in a job which continues from a snapshot.
func restored(t testing.TB, file []byte) *server.Server {
	s, err := server.New(server.Config{Job: job, Nonce: 1, Workers: 1,
		Restore: func(uint32) *wire.Source { return wire.SourceOf(file) }})
	if err != nil {
		t.Fatal(err)
	}
	v := &wire.View{Job: job, Number: 1, Next: 2,
		Servers: []wire.Member{{Node: wire.Node{Role: wire.Server}, Incarnation: 1, Alive: true,
			Nonce: 1}},
		Workers: []wire.Member{{Node: wire.Node{Role: wire.Worker}}},
		Shards:  []wire.Shard{{Epoch: 1, Primary: wire.Replica{Server: 0, Incarnation: 1}}},
	}
	m := viewOf(v)
	s.Handle(0, m.From, &m)
	return s
}

func TestSnapshotSurvives(t *testing.T) {
	file, want := snapshotOf(t)
	info, err := server.CheckSnapshot(wire.SourceOf(file))
	if err != nil || info.Shard != 0 || info.Clock != 1 || info.Workers != 1 {
		t.Errorf("got %+v, %v, want shard 0 at clock 1 of one worker", info, err)
	}
	got, version, ok := restored(t, file).Value(ps.ID{Key: 1})
	if !ok || version != 1 || !bytes.Equal(got, want) {
		t.Errorf("got %v at version %d, want %v at version 1", got, version, want)
	}
}

func TestDamagedSnapshotIsNoticed(t *testing.T) {
	file, _ := snapshotOf(t)
	for i := range file {
		bad := bytes.Clone(file)
		bad[i] ^= 4
		if _, err := server.CheckSnapshot(wire.SourceOf(bad)); err == nil {
			t.Errorf("byte %d of %d changed: no error", i, len(file))
		}
		if _, err := server.CheckSnapshot(wire.SourceOf(file[:i])); err == nil {
			t.Errorf("cut to %d of %d bytes: no error", i, len(file))
		}
	}
	bad := bytes.Clone(file)
	bad[len(bad)-1] ^= 1
	s := restored(t, bad)
	lost := false
	for _, e := range s.Out().Events {
		lost = lost || e.Kind == ps.EventLost
	}
	if !lost {
		t.Error("a server that starts from a damaged snapshot does not say so")
	}
}

// FuzzSnapshot lets a server start from files with a right checksum over wrong contents.
func FuzzSnapshot(f *testing.F) {
	file, _ := snapshotOf(f)
	f.Add(file)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 4 {
			return
		}
		b = bytes.Clone(b)
		binary.LittleEndian.PutUint32(b[len(b)-4:], wire.Checksum(b[:len(b)-4]))
		restored(t, b)
	})
}

// TestASnapshotSurvivesTheLossOfABackup loses the report of a shard's part, and the shard's backup
// before the report is repeated: the part is that of the epoch in which it is reported.
func TestASnapshotSurvivesTheLossOfABackup(t *testing.T) {
	n, list := newNet(t, 2, 1, 2, worker.KeySpec{Total: 64}, nil)
	if _, err := list[0].SnapshotAll(n.now, 1, n.now+30*ps.Second); err != nil {
		t.Fatal(err)
	}
	n.settle()
	srv := n.machines[leader].(*server.Server)
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return m.Type == wire.TypeSnapshotDone && to.Role == wire.Scheduler || from == follower ||
			to == follower
	}
	saved := func() {
		for i := range n.saves {
			srv.Saved(&n.saves[i], "part")
		}
		n.saves = n.saves[:0]
	}
	saved()
	n.pass(5 * ps.Second) // the other server is given up, and its shard's part is made anew
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return from == follower ||
			to == follower
	}
	for range 10 {
		n.pass(100 * ps.Millisecond)
		saved()
	}
	n.until(t, 1)
}

// TestSnapshotsAreCutOff checks parts that were cut off in the head, with a checksum that is right.
func TestSnapshotsAreCutOff(t *testing.T) {
	file, _ := snapshotOf(t)
	const head = 36 // what is in front of the state
	for _, end := range []int{head, head + 2, head + 4, head + 10, head + 20} {
		b := append([]byte(nil), file[:end]...)
		b = binary.LittleEndian.AppendUint32(b, wire.Checksum(b))
		if info, err := server.CheckSnapshot(wire.SourceOf(b)); err == nil {
			t.Errorf("%d bytes are enough for %+v", len(b), info)
		}
	}
	bad := append([]byte(nil), file[:len(file)-4]...)
	binary.LittleEndian.PutUint32(bad[head+4+8:], 1<<20) // length of the optimizer's name
	bad = binary.LittleEndian.AppendUint32(bad, wire.Checksum(bad))
	if _, err := server.CheckSnapshot(wire.SourceOf(bad)); err == nil {
		t.Error("an optimizer that cannot be read is accepted")
	}
}
