package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// snapshotFile returns a part of a snapshot: shard 0 at clock 5, with key 1 after one round of two
// workers.
func snapshotFile(t *testing.T) []byte {
	t.Helper()
	h := testHost(t, 2, nil)
	rp, e := testReplica(t, h)
	rp.step(roundOf(h, e, 1, floats(5, 6, 7, 8), 0, 1))
	rp.ranks[1].away = true
	sn := snapshots{host: h, seat: rp.seat, replica: rp}
	sn.startSnapshot(wire.SnapshotOrder{Clock: 5, Try: 3, All: true})
	if n := len(h.me.Out.Saves); n != 1 {
		t.Fatalf("%d parts to save, want 1", n)
	}
	save := &h.me.Out.Saves[0]
	if save.Shard != 0 || save.Clock != 5 || save.Try != 3 {
		t.Errorf("part %+v, want shard 0, clock 5, attempt 3", save)
	}
	var b bytes.Buffer
	write(t, &b, save)
	return b.Bytes()
}

// sourceOf returns a Config.Restore that opens the same part again and again.
func sourceOf(part []byte) func(uint32) *wire.Source {
	return func(uint32) *wire.Source {
		if part == nil {
			return nil
		}
		return wire.SourceFrom(bytes.NewReader(part), uint64(len(part)))
	}
}

// sealed returns a copy of a snapshot's part after a change, with a checksum that is right.
func sealed(file []byte, change func(b []byte) []byte) []byte {
	b := change(bytes.Clone(file[:len(file)-4]))
	return binary.LittleEndian.AppendUint32(b, wire.Checksum(b))
}

// put returns a change that writes a byte.
func put(at int, v byte) func(b []byte) []byte {
	return func(b []byte) []byte {
		b[at] = v
		return b
	}
}

// TestAStateHasOneEncoding compares the head and part of a state, byte by byte, with their
// description.
func TestAStateHasOneEncoding(t *testing.T) {
	h := testHost(t, 2, nil)
	rp, e := testReplica(t, h)
	rp.ranks[1].away, rp.ranks[1].low = true, 8
	le := binary.LittleEndian
	spec := rp.spec.Append(nil)
	want := append(le.AppendUint32(nil, uint32(len(spec))), spec...)
	want = le.AppendUint32(want, 2)
	for i := range rp.ranks {
		r := &rp.ranks[i]
		want = le.AppendUint32(want, r.incarnation)
		want = le.AppendUint32(want, uint32(len(r.bits)))
		for _, v := range []uint64{r.low, 0, uint64(i)} {
			want = le.AppendUint64(want, v)
		}
		want = append(want, make([]byte, 8*(len(r.bits)+len(r.fates)))...)
	}
	if got := rp.appendHead(nil); !bytes.Equal(got, want) {
		t.Errorf("head % x, want % x", got, want)
	}
	e.clocks[0], e.clocks[1], e.starts[1], e.version = 3, 4, 5, 6
	want = le.AppendUint32(nil, 1)
	want = append(want, 0, 0, 1, 0, byte(e.dtype), 0, 0, 0)
	want = le.AppendUint32(want, 2)
	for _, v := range []uint64{16, 16, 0, 6, 3, e.starts[0], 4, 5, 0} {
		want = le.AppendUint64(want, v)
	}
	want = append(want, floats(1, 2, 3, 4)...)
	if got := rp.appendPart(nil, e); !bytes.Equal(got, want) {
		t.Errorf("part % x, want % x", got, want)
	}
	e.direct = true
	if got := rp.appendPart(nil, e); got[9] != 1 {
		t.Errorf("bits %d of a key without rounds, want 1", got[9])
	}
}

// TestRestoredState reads a part of a snapshot: values and clocks stay, sequences do not.
func TestRestoredState(t *testing.T) {
	file := snapshotFile(t)
	if info, err := CheckSnapshot(wire.SourceOf(file)); info.Shard != 0 || info.Clock != 5 ||
		info.Workers != 2 || err != nil {
		t.Errorf("%+v, %v, want shard 0 at clock 5 of 2 workers", info, err)
	}
	h := testHost(t, 2, func(c *Config) { c.Restore = sourceOf(file) })
	rp := newReplica(h, &seat{epoch: 1})
	rp.restore()
	e := rp.entries[ps.ID{Key: 1}]
	if len(h.me.Out.Events) > 0 || e == nil {
		t.Fatalf("entries %v, events %+v", rp.entries, h.me.Out.Events)
	}
	if !bytes.Equal(e.value.data(), floats(5, 6, 7, 8)) || e.version != 1 || e.closed != 1 ||
		e.clocks[0] != 1 || e.clocks[1] != 1 || e.prev != nil {
		t.Errorf("version %d, closed %d, clocks %v, value %v", e.version, e.closed, e.clocks,
			e.value.data())
	}
	for i := range rp.ranks {
		if r := &rp.ranks[i]; r.incarnation != 0 || r.low != 0 || r.away || r.has(1) ||
			e.starts[i] != 0 {
			t.Errorf("worker %d: %+v, start %d, want none", i, r, e.starts[i])
		}
	}
	if rp.restoring {
		t.Error("it goes on restoring")
	}
}

// TestPartsThatCannotBeRead changes parts of snapshots, whose checksums are right.
func TestPartsThatCannotBeRead(t *testing.T) {
	file := snapshotFile(t)
	const head = 36
	h := testHost(t, 2, nil)
	n := len((&wire.Spec{}).Append(nil))
	for name, tt := range map[string]struct {
		change  func(b []byte) []byte
		checked bool // CheckSnapshot notices it
	}{
		"magic":           {put(0, 'x'), true},
		"version":         {put(8, 3), true},
		"nothing":         {func([]byte) []byte { return nil }, true},
		"a byte short":    {func(b []byte) []byte { return b[:head-1] }, true},
		"no head":         {func(b []byte) []byte { return b[:head] }, true},
		"half a spec":     {func(b []byte) []byte { return b[:head+6] }, true},
		"no workers":      {func(b []byte) []byte { return b[:head+4+n] }, true},
		"bad spec":        {put(head+4+8, 255), true},
		"another shard":   {put(12, 1), false},
		"another number":  {put(head+4+n, 3), false},
		"another window":  {put(head+4+n+8, 3), false},
		"entries missing": {put(32, 2), false},
		"entries too few": {put(32, 0), false},
		"bytes too many":  {func(b []byte) []byte { return append(b, 0) }, false},
		"a byte cut":      {func(b []byte) []byte { return b[:len(b)-1] }, false},
	} {
		b := sealed(file, tt.change)
		info, err := CheckSnapshot(wire.SourceOf(b))
		if (err != nil) != tt.checked || err != nil && info != (SnapshotInfo{}) {
			t.Errorf("%s: checked as %+v, %v", name, info, err)
		}
		h.cfg.Restore = sourceOf(b)
		rp := newReplica(h, &seat{epoch: 4})
		h.me.Out.Reset()
		rp.restore()
		if e := h.me.Out.Events; len(e) != 1 || e[0].Kind != ps.EventLost || e[0].Epoch != 4 {
			t.Errorf("%s: events %+v, want that the shard is lost", name, e)
		}
	}
	h.cfg.Restore = func(uint32) *wire.Source { return nil }
	h.me.Out.Reset()
	rp := newReplica(h, &seat{})
	if rp.restore(); len(h.me.Out.Events) > 0 || len(rp.order) > 0 {
		t.Errorf("without a part: %+v", h.me.Out.Events)
	}
}

// TestPartsHaveChecksumsOfTheirOwn compares the checksums of parts that differ in a value.
func TestPartsHaveChecksumsOfTheirOwn(t *testing.T) {
	file := snapshotFile(t)
	other := sealed(file, put(len(file)-5, 1))
	for _, b := range [][]byte{file, other} {
		want := binary.LittleEndian.Uint32(b[len(b)-4:])
		if info, err := CheckSnapshot(wire.SourceOf(b)); err != nil || info.Checksum != want {
			t.Errorf("checksum %#x, want %#x; %v", info.Checksum, want, err)
		}
	}
	if bytes.Equal(file[len(file)-4:], other[len(other)-4:]) {
		t.Errorf("two parts have the checksum % x", file[len(file)-4:])
	}
	other[len(other)-1]++
	if _, err := CheckSnapshot(wire.SourceOf(other)); !errors.Is(err, errState) {
		t.Errorf("a part with a wrong checksum: got %v", err)
	}
}

// TestTheHeadBringsTheOptimizer takes over heads with versions of the optimizer.
func TestTheHeadBringsTheOptimizer(t *testing.T) {
	h := testHost(t, 2, nil)
	rp := newReplica(h, &seat{})
	for _, tt := range []struct {
		version uint64
		restore bool
		want    uint64
	}{{0, false, 0}, {9, true, RestoredVersion}, {5, false, 5}, {4, false, 5}, {9, true, 5}} {
		from := newReplica(h, &seat{})
		from.spec = wire.Spec{Version: tt.version, Name: "sgd"}
		rp.restoring = tt.restore
		if err := rp.setHead(wire.SourceOf(from.appendHead(nil))); err != nil ||
			rp.spec.Version != tt.want {
			t.Errorf("%+v: version %d, %v", tt, rp.spec.Version, err)
		}
	}
}

// TestSavedPartsAreReported saves a part of the snapshot that is made, and of one given up.
func TestSavedPartsAreReported(t *testing.T) {
	h := testHost(t, 2, nil)
	sn := snapshots{host: h, seat: &seat{epoch: 6}, snap: &snapshot{clock: 5, try: 3,
		file: &stream{size: 6, sum: 99}}}
	for _, try := range []uint32{2, 3} {
		save := &ps.Save{Clock: 5, Try: try, Data: []byte{1, 2, 3, 4, 5, 6}}
		h.me.Out.Reset()
		sn.saved(save, "part")
		want, epoch := wire.SnapshotResult{Clock: 5, Try: try}, uint64(0)
		if try == 3 {
			want.Size, want.Checksum, epoch = 6, 99, 6
		}
		m := &h.me.Out.Sends[0].Msg
		if m.SnapshotResult() != want || m.Epoch != epoch || string(m.Payload) != "part" ||
			sn.snap.saved != (try == 3) {
			t.Errorf("attempt %d: %+v in epoch %d, want %+v", try, m.SnapshotResult(), m.Epoch,
				want)
		}
	}
}
