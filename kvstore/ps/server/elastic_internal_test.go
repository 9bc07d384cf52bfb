package server

import (
	"bytes"
	"errors"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// TestPeersOfANewView keeps, moves or forgets a primary's knowledge of other copies.
func TestPeersOfANewView(t *testing.T) {
	one, two := wire.Replica{Server: 1, Incarnation: 2}, wire.Replica{Server: 2, Incarnation: 3}
	for name, tt := range map[string]struct {
		place       wire.Shard
		peer, third wire.Replica
	}{
		"nothing new": {wire.Shard{Epoch: 1, Backup: one, Third: two, Attempt: 4}, one, two},
		"third copy in the backup's place": {wire.Shard{Epoch: 1, Backup: two, Attempt: 4}, two,
			wire.Replica{}},
		"third copy given up": {wire.Shard{Epoch: 1, Backup: one, Attempt: 4}, one, wire.Replica{}},
		"third copy made anew": {wire.Shard{Epoch: 1, Backup: one, Third: two, Attempt: 5}, one,
			wire.Replica{}},
		"backup given up": {wire.Shard{Epoch: 1, Third: two, Attempt: 4}, wire.Replica{}, two},
		"another epoch": {wire.Shard{Epoch: 2, Backup: one, Third: two, Attempt: 4},
			wire.Replica{}, wire.Replica{}},
		"another epoch, third copy in the backup's place": {wire.Shard{Epoch: 2, Backup: two},
			wire.Replica{}, wire.Replica{}},
	} {
		sh, _ := testShard(t, nil)
		sh.peer, sh.third = &peer{replica: one}, &peer{replica: two, attempt: 4}
		sh.checks[0].index = 7
		sh.keepPeers(tt.place)
		if got := replicaOf(sh.peer); got != tt.peer {
			t.Errorf("%s: backup %+v, want %+v", name, got, tt.peer)
		}
		if got := replicaOf(sh.third); got != tt.third {
			t.Errorf("%s: third copy %+v, want %+v", name, got, tt.third)
		}
		// Checksums are of the backup that acknowledged them.
		if forgot := sh.checks[0].index == 0; forgot != (tt.peer == two) {
			t.Errorf("%s: checksums are forgotten: %v", name, forgot)
		}
	}
}

// replicaOf returns the copy that a peer is, the zero one of nil.
func replicaOf(p *peer) wire.Replica {
	if p == nil {
		return wire.Replica{}
	}
	return p.replica
}

// TestWhichCopyTheLogWaitsFor asks for the copy that lacks entries of the log.
func TestWhichCopyTheLogWaitsFor(t *testing.T) {
	server := func(r uint16) wire.Node { return wire.Node{Role: wire.Server, Rank: r} }
	for name, tt := range map[string]struct {
		third   *peer
		backup  bool
		pending bool
		want    wire.Node
	}{
		"all is committed":        {&peer{phase: ended}, true, false, wire.Node{}},
		"backup":                  {nil, true, true, server(1)},
		"no backup":               {nil, false, true, wire.Node{}},
		"third copy":              {&peer{phase: ended}, true, true, server(2)},
		"third copy that has it":  {&peer{phase: ended, acked: 1 << 20}, true, true, server(1)},
		"third copy being copied": {&peer{phase: streaming}, true, true, server(1)},
	} {
		sh, e := testShard(t, nil)
		if sh.third = tt.third; tt.third != nil {
			tt.third.replica = wire.Replica{Server: 2, Incarnation: 3}
		}
		if tt.backup {
			sh.place.Backup = wire.Replica{Server: 1, Incarnation: 2}
		}
		if tt.pending {
			sh.next++
		}
		if got := sh.behind(); got != tt.want {
			t.Errorf("%s: the log waits for %s, want %s", name, got, tt.want)
		}
		// A round that is in the log, or whose workers have all contributed, waits for a copy too.
		if got := sh.blameRound(e, 0); got != tt.want {
			t.Errorf("%s: a closed round waits for %s, want %s", name, got, tt.want)
		}
		for r := range e.starts {
			e.starts[r] = 9
		}
		if got := sh.blameRound(e, 1); got != tt.want {
			t.Errorf("%s: a round without workers waits for %s, want %s", name, got, tt.want)
		}
	}
}

// TestAPlaceThatTheViewLacksDoesNotCount asks about workers beyond the view, and about rounds that
// nobody is missing in.
func TestAPlaceThatTheViewLacksDoesNotCount(t *testing.T) {
	sh, e := testShard(t, nil)
	for rank, want := range map[int]bool{0: true, 2: true, 3: false, 99: false} {
		if got := sh.counts(rank); got != want {
			t.Errorf("worker %d counts: %v, want %v", rank, got, want)
		}
	}
	rd := sh.newRound(e, 1)
	for r := range rd.have {
		if got := sh.missing(e, rd); got != r {
			t.Errorf("a round waits for %d, want %d", got, r)
		}
		rd.have[r].in = true
	}
	if got := sh.missing(e, rd); got != -1 {
		t.Errorf("a round that has all waits for %d, want -1", got)
	}
	// Room for fewer workers changes nothing.
	e.grow(1)
	if len(e.clocks) != 3 || len(e.starts) != 3 {
		t.Errorf("clocks of %d workers, want 3", len(e.clocks))
	}
	clear(rd.have)
	sh.freeRound(rd)
}

// addRows makes a sparse key of rows of 8 bytes, with one state of 4 bytes for each row.
func addRows(rp *replica, id ps.ID, ids ...uint32) *rows.Part {
	le := rp.newEntry(kindInit)
	le.head()
	le.own = rows.AppendSpec(le.own, rows.Spec{Rows: 100, Row: 8, DType: dtype.Float32})
	le.id, le.slices, le.sparse, le.dtype, le.total = id, 1, true, uint8(dtype.Float32), 800
	rp.step(le)
	part := rp.entries[id].sparse
	part.Store.SetStates([]int{4}, 3)
	for _, i := range ids {
		slot := part.Store.Touch(i)
		copy(part.Store.Row(1, slot), floats(float32(10*i)))
	}
	return part
}

// TestStatesOfRowsComeWithAnOptimizer takes states of rows out of a server, and gives them to
// another one with an optimizer.
func TestStatesOfRowsComeWithAnOptimizer(t *testing.T) {
	sh, e := testShard(t, nil)
	id := ps.ID{Key: 7}
	addRows(&sh.replica, id, 1, 2, 5)
	s := &Server{host: sh.host, shards: []*shard{nil, sh}}
	st, ok := s.RowStates(id, wire.RowsAsk{}, 1<<10)
	if !ok || st.ID != id || st.Rows != 3 || st.Tag != 3 || len(st.Records) != 3*8 {
		t.Fatalf("states %+v, %v; want 3 rows of key 7", st, ok)
	}
	for name, id := range map[string]ps.ID{"no rows": e.id, "no such key": {Key: 9}} {
		if _, ok := s.RowStates(id, wire.RowsAsk{}, 1<<10); ok {
			t.Errorf("%s: there are states", name)
		}
	}
	sh.role = backup
	if _, ok := s.RowStates(id, wire.RowsAsk{}, 1<<10); ok {
		t.Error("a backup shows states as its own")
	}
	other := st
	other.ID = ps.ID{Key: 8} // of another shard
	wide := st
	wide.Records = wide.Records[:len(wide.Records)-1]
	good := other.Append(st.Append(nil))
	for name, tt := range map[string]struct {
		states []byte
		want   float32
		fails  bool
	}{
		"states":            {good, 50, false},
		"damaged":           {good[:len(good)-1], 50, true},
		"nonsense":          {[]byte{1, 2, 3}, 0, true},
		"of another length": {wide.Append(nil), 0, true},
	} {
		h := testHost(t, 1, nil)
		rp, _ := testReplica(t, h)
		part := addRows(rp, id)
		h.me.Out.Reset()
		le := h.newEntry(kindSpec)
		le.head()
		spec := wire.Spec{Version: 1, Name: "sgd", Rows: tt.states}
		le.own = spec.Append(le.own)
		rp.step(le)
		if events := h.me.Out.Events; len(events) > 0 != tt.fails {
			t.Errorf("%s: events %+v, want one: %v", name, events, tt.fails)
		}
		if slot, ok := part.Store.Find(5); ok != (tt.want != 0) ||
			ok && !bytes.Equal(part.Store.Row(1, slot), floats(tt.want)) {
			t.Errorf("%s: row 5 is there: %v, want state %g", name, ok, tt.want)
		}
		if rp.spec.Version != 1 || rp.spec.Rows != nil {
			t.Errorf("%s: optimizer %+v, want version 1 without states", name, rp.spec)
		}
	}
}

// TestAPartWithoutItsShardCannotBeRead gives a shard up while a part of a snapshot is written.
func TestAPartWithoutItsShardCannotBeRead(t *testing.T) {
	h := testHost(t, 1, nil)
	rp, e := testReplica(t, h)
	part := addRows(rp, ps.ID{Key: 7}, 1, 2, 5)
	sn := snapshots{host: h, seat: rp.seat, replica: rp}
	sn.startSnapshot(wire.SnapshotOrder{Clock: 5, Try: 3, All: true})
	save := &h.me.Out.Saves[0]
	part.Close()
	var err error
	for n := 0; err == nil && n < 100; n++ {
		var piece []byte
		if piece, err = save.Rest(); err == nil && piece == nil {
			t.Fatal("a part ends well whose rows are gone")
		}
	}
	if e.value.refs != 1 {
		t.Errorf("%d references to a value behind it, want 1", e.value.refs)
	}
	sn.dropSnapshot()
	if _, err := save.Rest(); !errors.Is(err, errGone) {
		t.Errorf("the rest of a part that is given up: %v, want %v", err, errGone)
	}
}

// TestAServerMayLeave asks in jobs with different servers whether one of them may leave.
func TestAServerMayLeave(t *testing.T) {
	member := func(r uint16) wire.Member {
		return wire.Member{Node: wire.Node{Role: wire.Server, Rank: r}, Alive: true}
	}
	copies := wire.Shard{Epoch: 1, Backup: wire.Replica{Server: 1, Incarnation: 2}}
	for name, tt := range map[string]struct {
		change func(s *Server, v *wire.View)
		want   bool
	}{
		"one other for two copies": {func(_ *Server, v *wire.View) {
			v.Servers = v.Servers[:2]
		}, false},
		"two others for two copies": {func(*Server, *wire.View) {}, true},
		"one of the others leaves": {func(_ *Server, v *wire.View) {
			v.Servers[2].Leaves = true
		}, false},
		"one of the others has left": {func(_ *Server, v *wire.View) {
			v.Servers[2].Left = true
		}, false},
		"one of the others is dead": {func(_ *Server, v *wire.View) {
			v.Servers[2].Alive = false
		}, false},
		"one other for one copy that moves": {func(_ *Server, v *wire.View) {
			v.Servers, v.Shards[0].Moving = v.Servers[:2], true
		}, true},
		"none for one copy": {func(_ *Server, v *wire.View) {
			v.Servers, v.Shards[0].Backup = v.Servers[:1], wire.Replica{}
		}, false},
		"it has no place":     {func(s *Server, _ *wire.View) { s.me.Inc = 0 }, false},
		"there are no shards": {func(_ *Server, v *wire.View) { v.Shards = nil }, false},
		"it wants so already": {func(s *Server, v *wire.View) {
			s.leaves, v.Servers = true, v.Servers[:1]
		}, true},
	} {
		h := testHost(t, 1, nil)
		s := &Server{host: h, rounds: &rounds{host: h}}
		s.me.View.Servers = []wire.Member{member(0), member(1), member(2)}
		s.me.View.Shards = []wire.Shard{copies}
		tt.change(s, s.me.View)
		if got := s.WantLeave(); got != tt.want || s.me.Asked != tt.want ||
			s.heartbeat().Leaves != tt.want {
			t.Errorf("%s: it may leave: %v, its heartbeat says %v, which is due: %v; want %v", name,
				got, s.heartbeat().Leaves, s.me.Asked, tt.want)
		}
	}
}

// TestNobodyWaitsForANewPlaceWithoutRounds makes room for workers in entries of both kinds.
func TestNobodyWaitsForANewPlaceWithoutRounds(t *testing.T) {
	for direct, want := range map[bool]uint64{false: 0, true: never} {
		_, e := testShard(t, nil)
		e.direct = direct
		e.grow(5)
		if len(e.clocks) != 5 || e.starts[2] != 0 || e.starts[3] != want || e.starts[4] != want {
			t.Errorf("without rounds %v: starts %v, want %d for the last two of 5", direct,
				e.starts, want)
		}
	}
}

// TestASuccessorDoesNotEnter replaces a worker that has entered while the job runs: its successor
// goes on where it was, and need not say where it starts.
func TestASuccessorDoesNotEnter(t *testing.T) {
	sh, e := testShard(t, nil)
	w := wire.Member{Node: wire.Node{Role: wire.Worker, Rank: 3}, Incarnation: 30, Alive: true,
		Enter: 30}
	sh.me.View.Workers = append(sh.me.View.Workers, w)
	sh.membersChanged()
	if rk := &sh.ranks[3]; !rk.away || rk.incarnation != 30 || e.starts[3] != 0 {
		t.Fatalf("%+v, start %d; want one that has entered and not started", rk, e.starts[3])
	}
	sh.ranks[3].away = false
	sh.me.View.Workers[3].Incarnation = 31
	sh.membersChanged()
	if rk := &sh.ranks[3]; rk.away || rk.incarnation != 31 {
		t.Errorf("successor %+v, want one that goes on at once", rk)
	}
}
