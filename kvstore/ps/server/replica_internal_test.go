package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// TestReplicaAppliesItsLog goes through every kind of entry and looks at the state after it.
func TestReplicaAppliesItsLog(t *testing.T) {
	h := testHost(t, 2, nil)
	rp, e := testReplica(t, h)
	rp.step(roundOf(h, e, 1, floats(5, 6, 7, 8), 0, 1))
	if !bytes.Equal(e.value.data(), floats(5, 6, 7, 8)) ||
		!bytes.Equal(e.prev.data(), floats(1, 2, 3, 4)) {
		t.Errorf("after round 1: %v, before it %v", e.value.data(), e.prev.data())
	}
	if e.version != 1 || e.closed != 1 || e.clocks[0] != 1 || e.clocks[1] != 1 ||
		!rp.ranks[1].has(1) || rp.ranks[1].has(2) {
		t.Errorf("after round 1: version %d, closed %d, clocks %v, pushes of rank 1 up to %d",
			e.version, e.closed, e.clocks, rp.ranks[1].low)
	}
	old := roundOf(h, e, 2, floats(0, 0, 0, 0), 0)
	wire.PutContributor(old.body(), 0, wire.Contributor{Rank: 0, Outcome: wire.Applied,
		Incarnation: 9, Seq: 2})
	rp.step(old)
	if rp.ranks[0].has(2) {
		t.Error("a push of an incarnation that has been replaced counts as one of its successor")
	}
	join := h.newEntry(kindJoin)
	join.head()
	join.id.Key, join.clock, join.total = 1, 20, 1
	rp.step(join)
	if rk := &rp.ranks[1]; rk.incarnation != 20 || !rk.away || rk.has(1) || e.starts[1] != never {
		t.Errorf("after a join: %+v, it starts behind %d", rk, e.starts[1])
	}
	for _, inc := range []uint64{19, 20} {
		start := h.newEntry(kindStart)
		start.head()
		start.id.Key, start.clock = 1, inc
		for _, v := range []uint64{7, 8, 9} {
			start.own = binary.LittleEndian.AppendUint64(start.own, v)
		}
		rp.step(start)
		if rk := &rp.ranks[1]; rk.away != (inc == 19) || inc == 20 && e.starts[1] != 7 {
			t.Errorf("after a start of incarnation %d: %+v, it starts behind %d", inc, rk,
				e.starts[1])
		}
	}
	again := h.newEntry(kindInit)
	again.head()
	again.id = e.id
	rp.step(again)
	if rp.entries[e.id] != e || len(rp.order) != 1 || h.mem.slices != 16 {
		t.Errorf("a second creation changes something: %d entries of %d bytes", len(rp.order),
			h.mem.slices)
	}
	spec := func(version uint64) *logEntry {
		le := h.newEntry(kindSpec)
		le.head()
		le.own = (&wire.Spec{Version: version, Name: "sgd"}).Append(le.own)
		return le
	}
	rp.step(spec(3))
	rp.step(spec(2))
	if rp.spec.Version != 3 {
		t.Errorf("optimizer of version %d, want 3", rp.spec.Version)
	}
}

// refusing is an updater that accepts nothing.
type refusing struct{ noUpdater }

func (refusing) SetSpec(wire.Spec) error { return errors.New("no such optimizer") }

// TestReplicaSaysWhyItHasNoOptimizer wants an event for an optimizer that cannot be set.
func TestReplicaSaysWhyItHasNoOptimizer(t *testing.T) {
	h := testHost(t, 1, func(c *Config) {
		c.Updater = func(
			uint32) Updater {
			return refusing{}
		}
	})
	rp, _ := testReplica(t, h)
	le := h.newEntry(kindSpec)
	le.head()
	le.own = (&wire.Spec{Version: 1, Name: "sgd"}).Append(le.own)
	rp.step(le)
	if n := len(h.me.Out.Events); n != 1 ||
		!strings.Contains(h.me.Out.Events[0].Text, "no such optimizer") {
		t.Errorf("got events %+v, want one that names the error", h.me.Out.Events)
	}
	other := newReplica(h, &seat{})
	if err := other.setHead(wire.SourceOf(rp.appendHead(nil))); err == nil ||
		!strings.Contains(err.Error(), "no such optimizer") {
		t.Errorf("a transfer of the optimizer: got %v", err)
	}
}

// TestReplicaTravels makes a copy of a copy by its parts, and wants damaged parts to be refused.
func TestReplicaTravels(t *testing.T) {
	h := testHost(t, 2, nil)
	rp, e := testReplica(t, h)
	rp.step(roundOf(h, e, 1, floats(5, 6, 7, 8), 0))
	part, head := rp.appendPart(nil, e), rp.appendHead(nil)
	fresh := func() *replica {
		other := newReplica(h, &seat{epoch: 1})
		return &other
	}
	other := fresh()
	for range 2 { // the second time it is there already
		from := wire.SourceOf(append(part[:len(part):len(part)], "rest"...))
		if err := other.setPart(from); err != nil || from.Left() != 4 {
			t.Fatalf("%d bytes are left, %v", from.Left(), err)
		}
		from = wire.SourceOf(append(head[:len(head):len(head)], "rest"...))
		if err := other.setHead(from); err != nil || from.Left() != 4 {
			t.Fatalf("%d bytes are left, %v", from.Left(), err)
		}
	}
	other.commit = rp.commit
	if got, want := other.checksum(), rp.checksum(); got != want {
		t.Errorf("the copy has checksum %#x, want %#x", got, want)
	}
	if got, want := other.sum(other.order[0]), rp.sum(e); got != want {
		t.Errorf("its entry has checksum %#x, want %#x", got, want)
	}
	for i := range part {
		if err := fresh().setPart(wire.SourceOf(part[:i])); !errors.Is(err, errState) {
			t.Errorf("part cut to %d of %d bytes: got %v", i, len(part), err)
		}
	}
	for i := range head {
		if err := fresh().setHead(wire.SourceOf(head[:i])); !errors.Is(err, errState) {
			t.Errorf("head cut to %d of %d bytes: got %v", i, len(head), err)
		}
	}
	le := binary.LittleEndian
	for name, change := range map[string]func(b []byte){
		"clocks of 3 workers": func(b []byte) { le.PutUint32(b[12:], 3) },
		"a huge slice":        func(b []byte) { le.PutUint64(b[24:], node.MaxSlice+1) },
		"a row too long":      func(b []byte) { le.PutUint64(b[32:], 17) },
		"an unknown type":     func(b []byte) { b[8] = 99 },
	} {
		bad := bytes.Clone(part)
		change(bad)
		if err := fresh().setPart(wire.SourceOf(bad)); !errors.Is(err, errState) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	longer := bytes.Clone(part)
	le.PutUint64(longer[24:], 12)
	if err := other.setPart(wire.SourceOf(longer)); !errors.Is(err, errState) {
		t.Errorf("an entry that shrinks: got %v", err)
	}
	narrow := testHost(t, 2, func(c *Config) { c.Window = 64 })
	small := newReplica(narrow, &seat{})
	if err := small.setHead(wire.SourceOf(head)); !errors.Is(err, errState) {
		t.Errorf("a head with another window: got %v", err)
	}
}

// TestRanksRememberTheirWindow marks sequences in a random order: each is known once it is marked,
// and those outside of the window never are.
func TestRanksRememberTheirWindow(t *testing.T) {
	r := rankState{bits: make([]uint64, 1), fates: make([]uint64, 4)}
	for _, seq := range []uint64{3, 64, 2, 65} {
		r.mark(seq, wire.Late)
	}
	for seq, want := range map[uint64]bool{1: false, 2: true, 3: true, 4: false, 64: true,
		65: false, 66: false} {
		if got := r.has(seq); got != want {
			t.Errorf("push %d is in the log: %v, want %v", seq, got, want)
		}
	}
	r.mark(1, wire.Applied)
	if r.low != 3 || r.outcome(1) != wire.Applied || r.outcome(2) != wire.Late {
		t.Errorf("all up to %d are in the log, want 3; outcomes %s, %s", r.low, r.outcome(1),
			r.outcome(2))
	}
	r.mark(2, wire.Known)
	if r.outcome(2) != wire.Late {
		t.Error("a push in the log gets another outcome")
	}
	wide := rankState{bits: make([]uint64, 2), fates: make([]uint64, 8)}
	wide.mark(2, wire.Applied)
	wide.mark(128, wire.Applied)
	wide.mark(129, wire.Applied)
	if !wide.has(2) || !wide.has(128) || wide.has(129) || wide.has(130) {
		t.Error("a window of 128 pushes holds others than 2 and 128")
	}
	r.mark(65, wire.Known)
	r.mark(66, wire.Known)
	if !r.has(65) || !r.has(66) || r.has(67) || r.outcome(66) != wire.Known {
		t.Error("the window does not move with the lowest sequence that is missing")
	}
}
