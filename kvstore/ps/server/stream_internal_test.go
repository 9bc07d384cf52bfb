package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// allocated returns how many bytes of the Go heap f takes, with what it gives back.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// write writes a part of a snapshot as a driver does.
func write(t *testing.T, w io.Writer, save *ps.Save) {
	t.Helper()
	for piece := save.Data; len(piece) > 0; {
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
		var err error
		if piece, err = save.Rest(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPartsOfRowsStream writes a part with many rows, while rows change, and restores a shard from
// it. Neither takes memory for more than some rows, beside the rows themselves and their index,
// which are outside of the Go heap.
func TestPartsOfRowsStream(t *testing.T) {
	const n, row = 600_000, 64
	h := testHost(t, 2, nil)
	rp, _ := testReplica(t, h)
	le := h.newEntry(kindInit)
	le.head()
	spec := rows.Spec{Rows: 1 << 30, Row: row, DType: dtype.Float32}
	le.own = rows.AppendSpec(le.own, spec)
	le.id, le.slices, le.sparse, le.direct = ps.ID{Key: 7}, 1, true, true
	rp.step(le)
	part := rp.entries[ps.ID{Key: 7}].sparse
	part.Store.SetStates([]int{row}, 3)
	for i := range uint32(n) {
		slot := part.Store.Touch(i * 700)
		binary.LittleEndian.PutUint32(part.Store.Row(0, slot), i)
		binary.LittleEndian.PutUint32(part.Store.Row(1, slot), i*i)
	}
	want := part.Checksum()
	file, err := os.Create(filepath.Join(t.TempDir(), "part"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sn := snapshots{host: h, seat: rp.seat, replica: rp}
	sn.startSnapshot(wire.SnapshotOrder{Clock: 5, Try: 3, All: true})
	save := &h.me.Out.Saves[0]
	step := uint32(0)
	rest := save.Rest
	save.Rest = func() ([]byte, error) {
		for range 1000 {
			step++
			clear(part.Store.Row(0, part.Store.Touch(step*7919%n*700)))
		}
		return rest()
	}
	const most = 16 << 20
	if used := allocated(func() { write(t, file, save) }); used > most {
		t.Errorf("writing a part of %d bytes takes %d bytes, want at most %d", sn.snap.file.size,
			used,
			most)
	}
	source := func(uint32) *wire.Source {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		return wire.SourceFrom(io.NopCloser(file), sn.snap.file.size)
	}
	info, err := CheckSnapshot(source(0))
	if err != nil || info.Checksum != sn.snap.file.sum {
		t.Fatalf("the part is %+v, %v, want checksum %#x", info, err, sn.snap.file.sum)
	}
	h.cfg.Restore = source
	h.me.Out.Reset()
	other := newReplica(h, &seat{epoch: 1})
	if used := allocated(other.restore); used > most/2 {
		t.Errorf("reading it takes %d bytes, want at most %d", used, most/2)
	}
	e := other.entries[ps.ID{Key: 7}]
	if len(h.me.Out.Events) > 0 || e == nil || e.sparse.Checksum() != want {
		t.Errorf("restored %v, events %+v: it has other rows than the moment of the snapshot", e,
			h.me.Out.Events)
	}
}

// TestPartsOfValuesStream takes a snapshot of a large value without a copy: the value that is read
// stays as it is while pushes change the key, and its memory is free when it has been read or the
// snapshot is given up.
func TestPartsOfValuesStream(t *testing.T) {
	const size = 8 << 20
	h := testHost(t, 2, nil)
	rp, small := testReplica(t, h)
	le := h.newEntry(kindInit)
	le.head()
	le.own = append(le.own, make([]byte, size)...)
	le.id, le.slices, le.total, le.direct = ps.ID{Key: 7}, 1, size, true
	rp.step(le)
	e := rp.entries[ps.ID{Key: 7}]
	sn := snapshots{host: h, seat: rp.seat, replica: rp}
	try := uint32(0)
	begin := func() *ps.Save {
		h.me.Out.Reset()
		try++
		sn.startSnapshot(wire.SnapshotOrder{Clock: 1, Try: try, All: true})
		return &h.me.Out.Saves[0]
	}
	change := func() {
		b := make([]byte, size)
		b[3] = 0x40 // 2
		push := h.newEntry(kindDirect)
		push.head(wire.Contributor{Outcome: wire.Applied, Incarnation: 10, Seq: e.version + 1})
		push.own = append(push.own, b...)
		push.clock, push.entry, push.id = e.version+1, e, e.id
		rp.step(push)
	}
	var save *ps.Save
	if used := allocated(func() { save = begin() }); used > size/8 {
		t.Errorf("a snapshot of %d bytes begins with %d bytes", size, used)
	}
	change()
	var b bytes.Buffer
	write(t, &b, save)
	h.cfg.Restore = sourceOf(b.Bytes())
	other := newReplica(h, &seat{epoch: 1})
	other.restore()
	if got := other.entries[e.id]; got == nil || got.value.data()[3] != 0 ||
		e.value.data()[3] != 0x40 {
		t.Errorf("the snapshot has another value than at its moment")
	}
	if e.value.refs != 1 || small.value.refs != 1 {
		t.Errorf("%d and %d references to values after the snapshot, want 1", e.value.refs,
			small.value.refs)
	}
	save = begin()
	if _, err := save.Rest(); err != nil {
		t.Fatal(err)
	}
	sn.dropSnapshot()
	if _, err := save.Rest(); !errors.Is(err, errGone) {
		t.Errorf("a snapshot that was given up is read: %v", err)
	}
	if begin(); e.value.refs != 2 {
		t.Errorf("%d references to a value that a snapshot reads, want 2", e.value.refs)
	}
	if begin(); e.value.refs != 2 {
		t.Errorf("%d references after another snapshot has begun, want 2", e.value.refs)
	}
	sn.failSnapshot(wire.FailureUnwritten)
	if e.value.refs != 1 || small.value.refs != 1 {
		t.Errorf("%d and %d references to values after snapshots that failed, want 1", e.value.refs,
			small.value.refs)
	}
}
