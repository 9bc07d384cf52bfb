package server

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// testShard returns the copy of a shard that leads alone, whose 3 workers have joined, with key 1.
func testShard(t *testing.T, change func(c *Config)) (*shard, *entry) {
	t.Helper()
	h := testHost(t, 3, change)
	sh := newShard(h, &rounds{host: h}, 0, wire.Shard{Epoch: 1})
	sh.role = primary
	sh.log.reset(0)
	m := wire.Message{Type: wire.TypeInit, Flags: wire.FlagCreate,
		From: wire.Node{Role: wire.Worker}, Incarnation: 10, KeySlice: wire.KeySlice{Key: 1,
			Slices: 1, Total: 16},
		Payload: floats(0, 0, 0, 0)}
	sh.fromWorker(&m)
	sh.membersChanged()
	sh.flush()
	h.me.Out.Reset()
	return sh, sh.entries[ps.ID{Key: 1}]
}

// pushOf returns a push of key 1.
func pushOf(rank int, seq uint64, v ...float32) *wire.Message {
	return &wire.Message{Type: wire.TypePush, From: wire.Node{Role: wire.Worker,
		Rank: uint16(rank)}, Incarnation: uint32(10 + rank), Epoch: 1,
		Seq: seq, Clock: seq, KeySlice: wire.KeySlice{Key: 1, Slices: 1, Total: 16},
		Payload: floats(v...)}
}

// TestSumsDoNotDependOnTheOrder pushes numbers whose sum depends on the order of additions, in
// every order of arrival.
func TestSumsDoNotDependOnTheOrder(t *testing.T) {
	values := [][]float32{{1e8, 1, 0, 0}, {-1e8, 1e8, 0, 0}, {1, -1e8, 0, 0}}
	want := floats(1, 0, 0, 0)
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1},
		{2, 1, 0}} {
		sh, e := testShard(t, nil)
		for i, r := range order {
			if e.version != 0 {
				t.Errorf("order %v: the round is closed after %d pushes", order, i)
			}
			sh.fromWorker(pushOf(r, 1, values[r]...))
		}
		if e.version != 1 || !bytes.Equal(e.value.data(), want) {
			t.Errorf("order %v: %v at version %d, want %v", order, e.value.data(), e.version, want)
		}
		if sh.stats.Held != 0 || len(e.rounds) != 0 {
			t.Errorf("order %v: %d bytes and %d rounds are kept", order, sh.stats.Held,
				len(e.rounds))
		}
	}
}

// TestBackupWorkersAreLeftOut closes a round when two of three have pushed.
func TestBackupWorkersAreLeftOut(t *testing.T) {
	sh, e := testShard(t, func(c *Config) { c.Backups = 1 })
	for r := range sh.ranks {
		sh.ranks[r].away = false
	}
	clear(e.starts)
	sh.fromWorker(pushOf(2, 1, 1, 1, 1, 1))
	if e.version != 0 {
		t.Fatal("one of three is enough")
	}
	sh.fromWorker(pushOf(0, 1, 2, 2, 2, 2))
	if e.version != 1 || !bytes.Equal(e.value.data(), floats(3, 3, 3, 3)) {
		t.Fatalf("%v at version %d", e.value.data(), e.version)
	}
	sh.fromWorker(pushOf(1, 1, 4, 4, 4, 4))
	if sh.stats.Late != 1 || e.version != 1 || sh.ranks[1].outcome(1) != wire.Late ||
		e.clocks[1] != 1 {
		t.Errorf("the third push is %s, %d are late, version %d", sh.ranks[1].outcome(1),
			sh.stats.Late, e.version)
	}
}

// TestLedgerOwesOneAcknowledgement takes in pushes: receipts wait for company, outcomes do not.
func TestLedgerOwesOneAcknowledgement(t *testing.T) {
	sh, _ := testShard(t, func(c *Config) { c.Credit = 64 })
	acks := func() (list []wire.Receipt) {
		sh.flush()
		for i := range sh.me.Out.Sends {
			if m := &sh.me.Out.Sends[i].Msg; m.Type == wire.TypeAck {
				list = append(list, m.Receipt())
			}
		}
		sh.me.Out.Reset()
		return list
	}
	sh.fromWorker(pushOf(1, 1, 1, 1, 1, 1))
	if got := acks(); len(got) > 0 {
		t.Fatalf("acknowledged %+v at once", got)
	}
	sh.now += sh.me.Timing.AckDelay
	sh.tickPrimary()
	if got := acks(); len(got) != 1 || got[0] != (wire.Receipt{Received: 1}) {
		t.Fatalf("acknowledged %+v after the delay, want push 1", got)
	}
	sh.fromWorker(pushOf(1, 3, 1, 1, 1, 1))
	if got := acks(); len(got) != 1 || got[0] != (wire.Receipt{Received: 1, Gap: true}) {
		t.Errorf("acknowledged %+v behind a gap", got)
	}
	sh.fromWorker(pushOf(1, 2, 1, 1, 1, 1))
	if got := acks(); len(got) != 0 {
		t.Errorf("acknowledged %+v with half of the credit left", got)
	}
	probe := pushOf(1, 1)
	probe.Type, probe.Payload = wire.TypeProbe, nil
	sh.fromWorker(probe)
	if got := acks(); len(got) != 1 || got[0] != (wire.Receipt{Received: 2, Probed: true}) {
		t.Errorf("acknowledged %+v to a probe", got)
	}
	if n := len(sh.ledger.receipts[1].acks); n != 0 {
		t.Errorf("%d bytes are owed twice", n)
	}
	sh.forgetAll()
	if rc := &sh.ledger.receipts[1]; rc.received != 0 || rc.told != 0 {
		t.Errorf("after a new beginning: %+v", rc)
	}
}

// TestFollowerTakesTheNextEntryOnly sends a backup the log of a primary in a random order, with
// repetitions: it applies each entry once, in order, and refuses those that make no sense.
func TestFollowerTakesTheNextEntryOnly(t *testing.T) {
	const rounds = 20
	sh, e := testShard(t, nil)
	sh.place.Backup = wire.Replica{Server: 1, Incarnation: 2}
	sh.peer = newPeer(wire.Shard{Backup: sh.place.Backup, InSync: true}, sh.next)
	h := testHost(t, 3, nil)
	rp, twin := testReplica(t, h)
	rp.role = backup
	f := &follower{host: h, seat: rp.seat, replica: rp, journal: &journal{host: h, seat: rp.seat,
		replica: rp}}
	f.commit = sh.commit
	for seq := range uint64(rounds) {
		for r := range 3 {
			sh.fromWorker(pushOf(r, seq+1, float32(seq), 1, 2, 3))
		}
		sh.acknowledge(wire.LogReceipt{Index: sh.next})
	}
	var log []wire.Message
	for i := range sh.me.Out.Sends {
		if m := sh.me.Out.Sends[i].Msg; m.Type == wire.TypeReplicate {
			m.Payload = bytes.Clone(m.Payload)
			log = append(log, m)
		}
	}
	if len(log) != rounds {
		t.Fatalf("%d entries sent, want %d", len(log), rounds)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for f.commit < sh.commit {
		m := log[rng.IntN(len(log))]
		before := f.commit
		f.replicate(&m)
		if next := m.LogPlace().Index == before+1; f.commit != before && !next || next &&
			f.commit != before+1 {
			t.Fatalf("entry %d after %d: now at %d", m.LogPlace().Index, before, f.commit)
		}
	}
	if !bytes.Equal(twin.value.data(), e.value.data()) || twin.version != e.version {
		t.Errorf("the backup has %v at version %d, want %v at %d", twin.value.data(), twin.version,
			e.value.data(), e.version)
	}
	bad := log[0]
	bad.SetLogPlace(wire.LogPlace{Index: f.commit + 1, Clock: 1, Kind: uint8(kindRound)})
	bad.Payload = bad.Payload[:20]
	f.replicate(&bad)
	if f.commit != sh.commit || h.stats.Refused != 1 {
		t.Errorf("an entry without a head: at %d, %d refused", f.commit, h.stats.Refused)
	}
}

// TestQuestionsWait parks a question until what it is about is in the log.
func TestQuestionsWait(t *testing.T) {
	h := testHost(t, 2, nil)
	rp, e := testReplica(t, h)
	var asked []uint64
	q := &questions{host: h, seat: rp.seat, replica: rp, journal: &journal{host: h, seat: rp.seat,
		replica: rp},
		again: func(m *wire.Message) { asked = append(asked, m.Seq) }}
	ask := func(seq uint64, key uint32) *wire.Message {
		return &wire.Message{Type: wire.TypeInit, From: wire.Node{Role: wire.Worker},
			Incarnation: 10, Seq: seq, KeySlice: wire.KeySlice{Key: key}, Payload: []byte("x")}
	}
	q.park(ask(1, e.id.Key), wire.Node{})
	q.park(ask(2, 9), wire.Node{})
	if len(q.asks) != 2 || q.asks[0].m.Payload != nil {
		t.Fatalf("%d questions are kept, the first with payload %q", len(q.asks),
			q.asks[0].m.Payload)
	}
	q.answerAsks()
	if len(asked) != 1 || asked[0] != 1 || len(q.asks) != 1 {
		t.Errorf("asked again %v, %d wait", asked, len(q.asks))
	}
	q.park(ask(2, 9), wire.Node{Role: wire.Worker, Rank: 1})
	if n := len(h.me.Out.Sends); n != 1 ||
		h.me.Out.Sends[0].Msg.Wait() != (wire.Wait{On: wire.Node{Role: wire.Worker, Rank: 1},
			Of: wire.TypeInit, Seq: 2}) {
		t.Errorf("sent %+v to a worker that repeats itself", h.me.Out.Sends)
	}
	h.now += h.me.Timing.Park
	q.answerAsks()
	if len(asked) != 1 || len(q.asks) != 0 {
		t.Errorf("asked again %v, %d wait after a question has been forgotten", asked, len(q.asks))
	}
	for seq := range uint64(3 * h.cfg.Window) {
		q.park(ask(seq, 9), wire.Node{})
	}
	if len(q.asks) != 2*h.cfg.Window {
		t.Errorf("%d questions of one worker wait, want %d", len(q.asks), 2*h.cfg.Window)
	}
}

// TestAPullThatIsNotRepeatedIsDropped parks one pull, whose worker does not ask again.
func TestAPullThatIsNotRepeatedIsDropped(t *testing.T) {
	sh, e := testShard(t, nil)
	pull := &wire.Message{Type: wire.TypePull, From: wire.Node{Role: wire.Worker, Rank: 1},
		Incarnation: 11, Epoch: 1, Seq: 5, Need: 1, KeySlice: wire.KeySlice{Key: 1, Slices: 1}}
	sh.fromWorker(pull)
	sh.tickPrimary()
	if sh.parked != 1 || len(e.parked) != 1 || sh.waiting[1] != 1 {
		t.Fatalf("%d pulls wait, %d of the entry", sh.parked, len(e.parked))
	}
	sh.now = sh.me.Timing.Park - 1
	sh.tickPrimary()
	if sh.parked != 1 {
		t.Error("it is dropped too soon")
	}
	sh.now = 2 * sh.me.Timing.Park
	sh.tickPrimary()
	if sh.parked != 0 || len(e.parked) != 0 || sh.waiting[1] != 0 || len(sh.me.Out.Sends) != 0 {
		t.Errorf("%d pulls wait, sent %+v", sh.parked, sh.me.Out.Sends)
	}
}

// TestCreationsAreBounded fills the log of a shard with entries that are being created.
func TestCreationsAreBounded(t *testing.T) {
	sh, _ := testShard(t, nil)
	m := &wire.Message{Type: wire.TypeInit, From: wire.Node{Role: wire.Worker}, Incarnation: 10,
		Payload: make([]byte, 16)}
	add := func(k kind, n int) {
		sh.next++
		sh.log.push(&logEntry{kind: k, index: sh.next, own: make([]byte, n)})
	}
	add(kindInit, logBytes-15)
	if !sh.crowded(m) {
		t.Error("an entry is created beside one that fills the log")
	}
	sh.me.Out.Reset()
	sh.log.Pop()
	sh.commit = sh.next
	add(kindRound, 100)
	if sh.crowded(m) {
		t.Error("a round keeps entries from being created")
	}
	add(kindInit, logBytes-16)
	if sh.crowded(m) {
		t.Errorf("an entry is put off that fills the log with %d bytes", logBytes)
	}
	add(kindSpec, 1)
	if !sh.crowded(m) {
		t.Errorf("an entry is created that fills the log with more than %d bytes", logBytes)
	}
	sh.place.Backup = wire.Replica{Server: 1, Incarnation: 2}
	sh.crowded(m)
	if n := len(sh.me.Out.Sends); n != 1 ||
		sh.me.Out.Sends[0].Msg.Wait().On != (wire.Node{Role: wire.Server, Rank: 1}) {
		t.Errorf("sent %+v, want the word that server 1 is waited for", sh.me.Out.Sends)
	}
}

// TestValuesAcknowledgeTheirPushes lets the last of three fused pushes close a round: every worker
// gets the value, and no acknowledgement beside it.
func TestValuesAcknowledgeTheirPushes(t *testing.T) {
	sh, _ := testShard(t, nil)
	for rank := range 3 {
		m := pushOf(rank, 1, 1, 2, 3, 4)
		m.Type, m.Need = wire.TypePushPull, 1
		sh.fromWorker(m)
	}
	sh.flush()
	for i := range sh.me.Out.Sends {
		s := &sh.me.Out.Sends[i]
		if a := s.Msg.Answer(); s.Msg.Type != wire.TypeValue || a.Outcome != wire.Applied {
			t.Errorf("to %s: %s with outcome %v, want a value with outcome %v", s.To,
				s.Msg.Type, a.Outcome, wire.Applied)
		}
	}
	if n := len(sh.me.Out.Sends); n != 3 {
		t.Errorf("%d messages, want 3 values", n)
	}
}
