package ps_test

import (
	"bytes"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// TestACopyThatDiffersIsMadeAnew damages a log entry on its way to the backup: the copies are to be
// compared, and the backup made again from the primary's state, while pushes go on.
func TestACopyThatDiffersIsMadeAnew(t *testing.T) {
	x := newSwapping(t)
	damaged, noticed, dropped := false, 0, 0
	x.n.lose = func(_, _ wire.Node, m *wire.Message) bool {
		if m.Type == wire.TypeReplicate && m.Shard == x.shard && m.Key == 1 && !damaged {
			damaged = true
			m.Payload = bytes.Clone(m.Payload)
			m.Payload[len(m.Payload)-1] ^= 0x40
		}
		return false
	}
	x.n.events = func(e ps.Event) {
		if e.Kind == ps.EventDiverged && e.Text == "" {
			dropped++
		} else if e.Kind == ps.EventDiverged {
			noticed++
		}
	}
	x.push(t, 70) // the copies are compared every 64 entries
	x.n.pass(2 * ps.Second)
	x.push(t, 5)
	x.n.pass(ps.Second)
	if !damaged || noticed == 0 || dropped != 1 {
		t.Fatalf("damaged: %v, noticed %d times, copies dropped: %d, want 1", damaged, noticed,
			dropped)
	}
	if n := x.ended(t); n != 75 {
		t.Errorf("%d pushes have ended, want 75", n)
	}
	x.want(t, wire.Node{Role: wire.Server, Rank: x.place().Primary.Server}, 75, 2)
}

// TestASnapshotLeavesOutWhatComesLater creates a key when a snapshot has begun, and lets it pass
// the snapshot's clock before the others do.
func TestASnapshotLeavesOutWhatComesLater(t *testing.T) {
	spec := worker.KeySpec{Total: 64}
	n, list := newNet(t, 1, 1, 1, spec, nil)
	n.initKey(t, list, 2, spec)
	if _, err := list[0].Snapshot(n.now, 1, 0); err != nil {
		t.Fatal(err)
	}
	n.settle()
	n.initKey(t, list, 3, spec)
	for _, key := range []uint32{3, 1, 2} {
		if len(n.saves) > 0 {
			t.Fatal("the snapshot is complete without all keys")
		}
		n.pushKey(t, list[0], key)
		n.until(t, 1)
	}
	if len(n.saves) != 1 {
		t.Fatalf("%d snapshots, want 1", len(n.saves))
	}
	srv := restored(t, n.saves[0].Data)
	for key, want := range map[uint32]bool{1: true, 2: true, 3: false} {
		if _, version, ok := srv.Value(ps.ID{Key: key}); ok != want || ok && version != 1 {
			t.Errorf("key %d is in the snapshot: %v, at version %d, want %v", key, ok, version,
				want)
		}
	}
}

// TestWhatIsGoneIsSaid asks for exactly a version that is no longer kept.
func TestWhatIsGoneIsSaid(t *testing.T) {
	x := newTested(t)
	grads, outs := buffers(2, 64), buffers(2, 64)
	for range 3 {
		x.n.round(t, x.list, grads, outs)
	}
	for need, want := range map[uint64]wire.Type{1: wire.TypeReject, 2: wire.TypeValue,
		3: wire.TypeValue} {
		m := x.message(wire.TypePull, func(m *wire.Message) {
			m.Key, m.Flags, m.Need, m.Clock = 1,
				wire.FlagExact, need, 0
		})
		x.srv.Handle(x.n.now, m.From, m)
		out := x.srv.Out()
		if len(out.Sends) != 1 || out.Sends[0].Msg.Type != want || want == wire.TypeReject &&
			wire.Reason(out.Sends[0].Msg.Clock) != wire.ReasonGone {
			t.Errorf("version %d: got %v, want %s", need, out.Sends, want)
		}
		for i := range out.Sends {
			x.srv.Release(out.Sends[i].Hold)
		}
		out.Reset()
	}
}

// TestABackupThatMissedManyEntriesCatchesUp loses all that the primary sends to its backup for a
// while. What has been committed before the next repetition shows that the entries that were lost
// follow each other without one pause for every few of them.
func TestABackupThatMissedManyEntriesCatchesUp(t *testing.T) {
	const pushes = 1000
	x := newSwapping(t)
	x.apart(func(_ wire.Node, m *wire.Message) bool { return m.Type == wire.TypeReplicate })
	x.push(t, pushes)
	if n := x.ended(t); n != 0 {
		t.Fatalf("%d pushes are committed that the backup does not have", n)
	}
	sent, most := 0, 0
	x.n.lose = func(_, _ wire.Node, m *wire.Message) bool {
		if m.Type == wire.TypeReplicate && m.Shard == x.shard {
			sent++
			most = max(most, sent)
		} else if m.Type == wire.TypeReplicated && m.Shard == x.shard {
			sent = 0
		}
		return false
	}
	// more than one pause before something is sent again, less than two
	x.n.pass(500 * ps.Millisecond)
	if n := x.ended(t); n != pushes {
		t.Errorf("%d of %d pushes are committed", n, pushes)
	}
	if most > 32 {
		t.Errorf("%d entries were on their way at once, want at most 32", most)
	}
	x.want(t, x.first, pushes, 2)
}
