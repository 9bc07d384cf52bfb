package server

import (
	"errors"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// checkWanted checks the list of rows that a pull asks for.
func checkWanted(e *entry, m *wire.Message) error {
	switch {
	case e.sparse == nil:
		return errors.New("pull of rows of a key that has none")
	case m.Flags&wire.FlagRows == 0:
		return errors.New("pull of all rows of a sparse key")
	}
	return e.sparse.CheckWanted(m.Payload, node.MaxSlice)
}

// applySparse changes rows of a sparse key by one push, or by the sum of a round. Without an
// optimizer the sum of a round replaces the rows that it has, and a push is added to them; to a
// table it always is.
func (rp *replica) applySparse(e *entry, contributors int, payload []byte) {
	// Keys without rounds have no repeated rounds: the values of before are not kept for them.
	slots, grads := e.sparse.Begin(payload, !e.direct)
	if rp.updater.Active() && !e.table {
		rp.updater.UpdateRows(RowUpdate{ID: e.id, Store: e.sparse.Store, Slots: slots, Grad: grads,
			Contributors: contributors, Count: rp.cfg.Workers})
		return
	}
	row := e.sparse.Store.Spec.Row
	for i, slot := range slots {
		dst, src := e.sparse.Store.Row(0, slot), grads[i*row:(i+1)*row]
		if e.direct {
			ps.Plain{}.Add(dst, src, e.dtype, 0)
		} else {
			copy(dst, src)
		}
	}
}
