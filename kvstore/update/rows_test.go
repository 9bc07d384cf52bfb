package update_test

import (
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/rows"
	"gomx/kvstore/update"
	"gomx/optimizer"
)

// TestUpdatesOfRowsTakeLittleMemory updates about as many rows again and again: the arrays of an
// update serve the next one.
func TestUpdatesOfRowsTakeLittleMemory(t *testing.T) {
	const n, width = 20_000, 16
	spec, err := (&update.Spec{Names: []string{"w"}}).Encode(1, optimizer.AdaGrad{LR: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	u := newUpdater(t)
	if err := u.SetSpec(spec); err != nil {
		t.Fatal(err)
	}
	s := rows.New(rows.Spec{Rows: 1 << 20, Row: 4 * width, DType: dtype.Float32})
	defer s.Close()
	pool, err := device.PoolOf(device.CPU())
	if err != nil {
		t.Fatal(err)
	}
	before := pool.Usage()
	grad := make([]byte, 2*n*4*width) // more than one update has
	for i := range 60 {
		var slots []uint32
		for id := range uint32(n + i*i/2) {
			slots = append(slots, s.Touch(id))
		}
		u.UpdateRows(server.RowUpdate{ID: ps.ID{}, Store: s, Slots: slots, Grad: grad[:len(slots)*
			4*width], Contributors: 1, Count: 1})
	}
	after := pool.Usage()
	// A weight, a gradient, a state and the optimizer's own results, in two or three sizes.
	if grown := after.Total() + after.Cached - before.Total() -
		before.Cached; grown > 36*n*4*width {
		t.Errorf("memory of arrays grows by %d bytes, for updates of %d bytes", grown, n*4*width)
	}
	if s.N() < n || len(u.AppendState(nil, ps.ID{})) == 0 {
		t.Errorf("%d rows", s.N())
	}
}
