package worker

import (
	"testing"

	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// TestRowsOfARoundFitIntoOneMessage pushes rows in rounds, in a group of two workers and when a
// third one has come.
func TestRowsOfARoundFitIntoOneMessage(t *testing.T) {
	d := joinedDrill(t, Config{}, 1)
	// One row is half of the largest slice, with its list.
	spec := KeySpec{Sparse: &rows.Spec{Rows: 9, Row: node.MaxSlice/2 - 16}}
	if _, err := d.Init(d.at, 1, spec, nil, 0); err != nil {
		t.Fatal(err)
	}
	d.created()
	push := func() error {
		_, err := d.Push(d.at, PushOp{Key: 1, IDs: []uint64{3}, Codec: 1,
			Codes: [][]byte{make([]byte, 8)}})
		return err
	}
	if err := push(); err != nil {
		t.Fatal(err)
	}
	m := d.one(wire.TypePush)
	if n := cap(m.Payload); n > 1<<10 {
		t.Errorf("a compressed push of %d bytes has memory for %d", len(m.Payload), n)
	}
	d.ack(m)
	d.done(1)
	d.v.Workers = append(d.v.Workers, wire.Member{Node: wire.Node{Role: wire.Worker, Rank: 2},
		Incarnation: 12, Alive: true})
	d.v.Group = wire.Group{Number: 1, Ranks: []uint16{0, 1, 2}}
	d.tell()
	d.refused("half of the largest slice in a group of three", push())
}
