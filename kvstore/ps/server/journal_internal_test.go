package server

import (
	"slices"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// testJournal returns the log of a primary whose backup, server 1, is in sync, and notes what it
// commits.
func testJournal(t *testing.T, h *host) (j *journal, e *entry, committed *[]uint64) {
	t.Helper()
	rp, e := testReplica(t, h)
	committed = &[]uint64{}
	rp.role, rp.place = primary, wire.Shard{Epoch: 1, Backup: wire.Replica{Server: 1,
		Incarnation: 2}, InSync: true}
	j = &journal{host: h, seat: rp.seat, replica: rp, next: rp.commit,
		committed: func(le *logEntry) { *committed = append(*committed, le.index) }}
	j.log.reset(j.commit)
	j.peer = newPeer(j.place, j.next)
	return j, e, committed
}

// sent returns the log entries that have been sent, and forgets them.
func (h *host) sent() (list []uint64) {
	for i := range h.me.Out.Sends {
		if m := &h.me.Out.Sends[i].Msg; m.Type == wire.TypeReplicate {
			list = append(list, m.LogPlace().Index)
		}
	}
	h.me.Out.Reset()
	return list
}

// acknowledge says that the backup has all entries up to an index.
func (j *journal) acknowledge(r wire.LogReceipt) {
	m := wire.Message{Type: wire.TypeReplicated}
	m.SetLogReceipt(r)
	j.replicated(&m)
}

func TestJournalCommitsWhatTheBackupHas(t *testing.T) {
	h := testHost(t, 1, nil)
	j, e, committed := testJournal(t, h)
	first := j.next + 1
	for clock := range uint64(4) {
		j.append(roundOf(h, e, clock+1, floats(1, 1, 1, 1), 0))
	}
	if got := h.sent(); !slices.Equal(got, []uint64{first, first + 1, first + 2, first + 3}) ||
		len(*committed) > 0 || e.version != 0 {
		t.Fatalf("sent %v, committed %v before the backup has anything", got, *committed)
	}
	j.acknowledge(wire.LogReceipt{Index: first + 9})
	if len(*committed) > 0 {
		t.Fatalf("committed %v: the backup cannot have what there is not", *committed)
	}
	j.acknowledge(wire.LogReceipt{Index: first + 1})
	j.acknowledge(wire.LogReceipt{Index: first})
	if !slices.Equal(*committed, []uint64{first, first + 1}) || e.version != 2 ||
		j.log.Len() != 2 || j.log.First != first+2 {
		t.Errorf("committed %v, version %d, %d entries from %d on in the log", *committed,
			e.version, j.log.Len(), j.log.First)
	}
	if got := h.sent(); len(got) > 0 {
		t.Errorf("entries %v are sent again to a backup that has missed none", got)
	}
	if n := j.behind(); n != (wire.Node{Role: wire.Server, Rank: 1}) {
		t.Errorf("the log waits for %s, want server 1", n)
	}
	j.acknowledge(wire.LogReceipt{Index: first + 3})
	if len(*committed) != 4 || !j.log.Empty() || !j.behind().IsZero() {
		t.Errorf("committed %v, %d entries left, behind %s", *committed, j.log.Len(), j.behind())
	}
}

func TestJournalRepeatsWhatIsLost(t *testing.T) {
	h := testHost(t, 1, nil)
	j, e, _ := testJournal(t, h)
	first := j.next + 1
	for clock := range uint64(resendBurst + 10) {
		j.append(roundOf(h, e, clock+1, floats(1, 1, 1, 1), 0))
	}
	h.sent()
	h.now = h.me.Timing.Resend - 1
	j.tickPeers()
	if got := h.sent(); len(got) > 0 {
		t.Fatalf("%v sent again before it is time", got)
	}
	h.now++
	j.tickPeers()
	if got := h.sent(); len(got) != resendBurst || got[0] != first {
		t.Fatalf("%d entries sent again from %d on, want %d from %d on", len(got), got[0],
			resendBurst, first)
	}
	j.acknowledge(wire.LogReceipt{Index: first + 4})
	if got := h.sent(); len(got) != 5 || got[0] != first+resendBurst {
		t.Errorf("%v sent when 5 have arrived, want the next 5", got)
	}
	j.acknowledge(wire.LogReceipt{Index: j.next})
	h.now += h.me.Timing.Resend
	j.tickPeers()
	if got := h.sent(); len(got) > 0 || j.peer.again != 0 {
		t.Errorf("%v sent to a backup that has everything", got)
	}
}

// TestJournalRepeatsWhatIsLostWhileItGrows loses the first entries for a copy that is being made,
// while others follow without a pause: they are sent again in time.
func TestJournalRepeatsWhatIsLostWhileItGrows(t *testing.T) {
	h := testHost(t, 1, nil)
	j, e, committed := testJournal(t, h)
	j.third = &peer{replica: wire.Replica{Server: 2, Incarnation: 3}, acked: j.next}
	first := j.next + 1
	j.advance() // begins the transfer
	h.sent()
	again := 0
	const every = 10 // entries in the time after which one is repeated
	for i := range 3 * every {
		h.now += h.me.Timing.Resend / every
		j.append(roundOf(h, e, uint64(i+1), floats(1, 1, 1, 1), 0))
		j.acknowledge(wire.LogReceipt{Index: j.next}) // of the backup
		h.sent()
		j.tickPeers()
		if list := h.sent(); len(list) > 0 && list[0] == first {
			again++
		}
	}
	if len(*committed) < 3*every {
		t.Errorf("%d entries are committed, want %d or more: the backup has all", len(*committed),
			3*every)
	}
	if again < 2 || again > 3 {
		t.Errorf("the first entry is sent again %d times within three times Resend, want 2 or 3",
			again)
	}
}

// TestJournalComparesCopies acknowledges entries with checksums: one that differs is reported, late
// ones are passed over.
func TestJournalComparesCopies(t *testing.T) {
	diverged := func(h *host) (n int) {
		for i := range h.me.Out.Sends {
			if m := &h.me.Out.Sends[i].Msg; m.Type == wire.TypeDiverged &&
				m.CopyIncarnation() == 2 {
				n++
			}
		}
		return n
	}
	for _, wrong := range []uint32{0, 1} {
		h := testHost(t, 1, nil)
		j, e, _ := testJournal(t, h)
		at := j.next + 1
		j.append(roundOf(h, e, 1, floats(1, 1, 1, 1), 0))
		twin, other := testReplica(t, h)
		twin.step(roundOf(h, other, 1, floats(1, 1, 1, 1), 0))
		sum := twin.sum(other)
		j.acknowledge(wire.LogReceipt{Index: at, CheckAt: at, Checksum: sum + wrong})
		if n := diverged(h); n != int(wrong) {
			t.Errorf("%d reports of checksums that differ by %d", n, wrong)
		}
		later := at + uint64(len(j.checks))
		j.compare(later, sum, true)
		j.compare(at, sum, true)
		if c := j.checks[at%uint64(len(j.checks))]; c.index != later {
			t.Errorf("an old comparison replaces a new one: %+v", c)
		}
	}
}

// TestJournalBuildsABackup lets a backup be made from nothing: the state travels in the log, and
// counts from the end of the transfer on.
func TestJournalBuildsABackup(t *testing.T) {
	h := testHost(t, 1, nil)
	j, e, committed := testJournal(t, h)
	j.place.InSync = false
	j.peer = newPeer(j.place, j.next)
	j.advance()
	for range 20 {
		j.acknowledge(wire.LogReceipt{Index: j.next})
	}
	if j.peer.phase != ended {
		t.Fatalf("phase %d after the transfer, want %d", j.peer.phase, ended)
	}
	var kinds []kind
	for i := range h.me.Out.Sends {
		if m := &h.me.Out.Sends[i].Msg; m.Type == wire.TypeReplicate {
			kinds = append(kinds, kind(m.LogPlace().Kind))
		}
	}
	if !slices.Equal(kinds, []kind{kindBegin, kindPart, kindEnd}) {
		t.Errorf("sent kinds %v, want begin, part, end", kinds)
	}
	n := len(*committed)
	j.append(roundOf(h, e, 1, floats(1, 1, 1, 1), 0))
	if len(*committed) != n {
		t.Error("an entry is committed that the new backup does not have")
	}
	j.peer.phase, j.log = streaming, logRing{}
	for range logLimit + 1 {
		j.log.push(&logEntry{index: j.log.First + uint64(j.log.Len())})
	}
	j.peer.end, j.busy = 1, true
	h.me.Out.Reset()
	j.tickPeers()
	if len(h.me.Out.Events) != 1 || h.me.Out.Events[0].Kind != ps.EventDiverged {
		t.Errorf("events %+v about a backup that does not keep up", h.me.Out.Events)
	}
	h.me.Out.Reset()
	j.peer.phase = ended
	if j.tickPeers(); len(h.me.Out.Events) > 0 {
		t.Errorf("a backup that counts is given up: %+v", h.me.Out.Events)
	}
}
