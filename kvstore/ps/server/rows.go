package server

import (
	"encoding/binary"
	"errors"
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// Rows of a table. A table is a key that is cut into blocks of whole rows. The payload of a pull
// lists row numbers within the block, 4 bytes each. The payload of a push has one group for each
// block: key, slice, number of rows, bytes of deltas, then the rows' numbers and one delta per row,
// each part padded to 8 bytes.
//
// The rows that a worker pushes in one step are kept until its tick comes and become one entry of
// the log: a step is on a shard as a whole or not at all, so that a worker that repeats a step
// after a crash knows which rows are there.

// checkIndices checks row numbers of an entry, and that the rows fit into a message. Everything
// that is done with rows later relies on it.
func checkIndices(e *entry, rows []byte) error {
	if e.row == 0 || len(rows)%4 != 0 || len(rows) == 0 {
		return fmt.Errorf("%d bytes of row numbers for rows of %d bytes", len(rows), e.row)
	}
	if n := len(rows) / 4; n > node.TickLimit/e.row {
		return fmt.Errorf("%d rows of %d bytes, want at most %d bytes", n, e.row, node.TickLimit)
	}
	for i := 0; i < len(rows); i += 4 {
		if n := binary.LittleEndian.Uint32(rows[i:]); uint64(n) >= uint64(e.size/e.row) {
			return fmt.Errorf("row %d of a block of %d", n, e.size/e.row)
		}
	}
	return nil
}

// checkWanted checks a list of rows that a pull asks for.
func checkWanted(e *entry, m *wire.Message) error {
	if e.sparse == nil {
		return checkIndices(e, m.Payload)
	}
	if m.Flags&wire.FlagRows == 0 {
		return errors.New("pull of all rows of a sparse key")
	}
	return e.sparse.CheckWanted(m.Payload, node.MaxSlice)
}

// applySparse changes rows of a sparse key by one push, or by the sum of a round. Without an
// optimizer the sum of a round replaces the rows that it has, and a push is added to them.
func (rp *replica) applySparse(e *entry, contributors int, payload []byte) {
	// Keys without rounds have no repeated rounds: the values of before are not kept for them.
	slots, grads := e.sparse.Begin(payload, !e.direct)
	if rp.updater.Active() {
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

// checkRows checks the payload of a push. A copy that is being made may lack blocks.
func (rp *replica) checkRows(b []byte) error {
	for len(b) > 0 {
		g, rest, ok := wire.NextRows(b)
		if !ok {
			return fmt.Errorf("%d bytes are no rows of a table", len(b))
		}
		b = rest
		e := rp.entries[ps.ID{Key: g.Key, Slice: g.Slice}]
		if e == nil && rp.rebuilding {
			continue
		}
		if e == nil {
			return fmt.Errorf("table %d block %d is not known", g.Key, g.Slice)
		}
		if err := checkIndices(e, g.Numbers); err != nil {
			return err
		}
		if len(g.Deltas) != len(g.Numbers)/4*e.row {
			return fmt.Errorf("%d bytes for %d rows of %d", len(g.Deltas), len(g.Numbers)/4, e.row)
		}
	}
	return nil
}

// step is the rows that a worker has pushed since its last tick. It belongs to the receipt of the
// worker: a new primary has none, and the worker repeats the step.
type step struct {
	seqs  []uint64 // sequences of the pushes
	bytes []byte   // their rows, in groups
}

// clear empties a step. It keeps memory for the next one, up to 1 MiB.
func (t *step) clear() {
	t.seqs, t.bytes = t.seqs[:0], t.bytes[:0]
	if cap(t.bytes) > 1<<20 {
		t.bytes = nil
	}
}

// pushRows keeps rows until their tick. They are acknowledged with the tick, because they are in
// the log only then.
func (in *intake) pushRows(m *wire.Message) {
	t := &in.receipt(int(m.From.Rank)).step
	t.seqs = append(t.seqs, m.Seq)
	t.bytes = append(t.bytes, m.Payload...)
	in.stats.Held += uint64(len(m.Payload))
}

// tick puts a worker's step into the log. A step that is there, because a predecessor has made it,
// contributes its sequences and no rows.
func (in *intake) tick(m *wire.Message) {
	t := &in.receipt(int(m.From.Rank)).step
	in.stats.Held -= uint64(len(t.bytes))
	le := in.newEntry(kindTick)
	le.clock, le.n = m.Clock, len(t.seqs)+1
	size := wire.EntrySize(le.n)
	le.own = append(le.own, make([]byte, size)...)
	wire.PutEntry(le.own, le.n)
	for i, seq := range t.seqs {
		c := contributor(m, wire.Applied)
		c.Seq = seq
		wire.PutContributor(le.own, i, c)
	}
	wire.PutContributor(le.own, le.n-1, contributor(m, wire.Applied))
	if m.Clock > in.ranks[m.From.Rank].tick {
		le.own = append(le.own, t.bytes...)
	}
	t.clear()
	in.append(le)
}

// applyRows adds a step to the rows. The payload has been checked before it went into the log
// (checkRows), and on a backup when it arrived.
func (rp *replica) applyRows(b []byte) {
	for len(b) > 0 {
		g, rest, ok := wire.NextRows(b)
		if !ok {
			return
		}
		b = rest
		e := rp.entries[ps.ID{Key: g.Key, Slice: g.Slice}]
		if e == nil {
			continue // its state comes later and contains this
		}
		e.version++
		value := e.writable()
		for i := 0; i < len(g.Numbers); i += 4 {
			at := int(binary.LittleEndian.Uint32(g.Numbers[i:])) * e.row
			rp.cfg.Arithmetic.Add(value[at:at+e.row], g.Deltas[:e.row], e.dtype, 0)
			g.Deltas = g.Deltas[e.row:]
		}
	}
}

// answerRows answers a pull of rows when the puller's own clock is committed and the clocks of all
// reach the one that the pull needs.
func (pl *pulls) answerRows(p *parked) bool {
	low := uint64(1<<64 - 1)
	for r := range pl.ranks {
		if pl.counts(r) && !pl.ranks[r].away {
			low = min(low, pl.ranks[r].tick)
		}
	}
	if low < p.need || pl.ranks[p.from.Rank].tick < p.own {
		return false
	}
	e := p.entry
	size := e.row
	start := len(pl.temp)
	for i := 0; i < len(p.rows); i += 4 {
		at := int(binary.LittleEndian.Uint32(p.rows[i:])) * size
		pl.temp = append(pl.temp, e.value.data()[at:at+size]...)
	}
	m := pl.valueMessage(p, low)
	m.Flags |= wire.FlagRows
	m.DType, m.Payload = uint8(e.dtype), pl.temp[start:]
	pl.me.Send(p.from, m, nil)
	return true
}
