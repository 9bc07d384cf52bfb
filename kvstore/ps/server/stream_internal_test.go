package server

import (
	"encoding/binary"
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
// it. Neither takes memory for more than some rows, beside the rows themselves and their index, which
// are outside of the Go heap.
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
		t.Errorf("writing a part of %d bytes takes %d bytes, want at most %d", sn.snap.file.size, used,
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
