package update

import (
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// UpdateRows implements server.Updater. The optimizer sees a value that has these rows alone, and
// states for them: so every optimizer that treats elements alike is lazy. Rows begin with states of
// zeros. When an optimizer fails the rows stay as they are.
func (u *Updater) UpdateRows(p server.RowUpdate) {
	t, row := p.Store.DType, p.Store.Spec.Row
	if !t.IsFloat() || slices.Contains(u.added, p.ID.Key) {
		for i, slot := range p.Slots {
			ps.Plain{}.Add(p.Store.Row(0, slot), p.Grad[i*row:(i+1)*row], t, 0)
		}
		return
	}
	_ = u.updateRows(p) // as Update does
}

func (u *Updater) updateRows(p server.RowUpdate) error {
	// A push without rows counts as an update: it is made of one row that is forgotten.
	s, err := u.slot(p.ID, p.Store.DType, roomFor(len(p.Slots))*p.Store.Spec.Row)
	if err != nil {
		return err
	}
	if err := u.rowStates(p, s); err != nil {
		return err
	}
	if err := u.write(s.grad, append(u.buf[:0], p.Grad...)); err != nil {
		return err
	}
	if u.rounds && p.Contributors != p.Count && p.Contributors > 0 { // as if all had contributed
		s.grad.MulScalarInPlace(float64(p.Count) / float64(p.Contributors))
	}
	columns := append([]*nd.Array{s.weight}, s.states...)
	for c, a := range columns {
		if err := u.gather(a, p, c); err != nil {
			return err
		}
	}
	u.updater.SetState(index(p.ID), s.states)
	err = u.updater.Update(index(p.ID), s.weight, s.grad)
	u.updater.SetState(index(p.ID), nil) // they are in the store
	if err != nil {
		return err
	}
	for c, a := range columns {
		if err := u.scatter(a, p, c); err != nil {
			return err
		}
	}
	return nil
}

// gather copies a column of rows into an array.
func (u *Updater) gather(a *nd.Array, p server.RowUpdate, column int) error {
	b := u.buf[:0]
	for _, slot := range p.Slots {
		b = append(b, p.Store.Row(column, slot)...)
	}
	return u.write(a, b)
}

// write writes bytes that were appended to buf to an array, and zeros behind them.
func (u *Updater) write(a *nd.Array, b []byte) error {
	n := len(b)
	b = slices.Grow(b, a.Bytes()-n)[:a.Bytes()]
	clear(b[n:])
	u.buf = b
	return a.WriteBytes(b)
}

// roomFor returns for how many rows the arrays of an update are made: at most an eighth more than
// n, so that pushes of about as many rows use the same arrays.
func roomFor(n int) int {
	n = max(1, n)
	step := max(1, 1<<bits.Len(uint(n))>>4)
	return (n + step - 1) / step * step
}

// scatter copies an array into a column of rows.
func (u *Updater) scatter(a *nd.Array, p server.RowUpdate, column int) error {
	b := slices.Grow(u.buf[:0], a.Bytes())[:a.Bytes()]
	u.buf = b
	if err := a.ReadBytes(context.Background(), b); err != nil {
		return err
	}
	for _, slot := range p.Slots {
		b = b[copy(p.Store.Row(column, slot), b):]
	}
	return nil
}

// rowStates gives the rows of a store room for the states of the optimizer, which are zero at
// first, and makes the arrays in which the optimizer finds them.
func (u *Updater) rowStates(p server.RowUpdate, s *updaterSlot) error {
	tag := rowTag(u.encoded)
	if s.states == nil || s.tag != tag || s.of != s.weight {
		for _, a := range s.states {
			a.Close()
		}
		one := nd.Ones(s.weight.Shape(), nd.As(s.weight.DType()), nd.Using(u.eng))
		s.states, s.tag, s.of = u.updater.NewState(one), tag, s.weight
		one.Close()
	}
	var widths []int
	for i, a := range s.states {
		if a.Size() != s.weight.Size() {
			return fmt.Errorf("state %d has %d elements for %d of the value: the optimizer "+
				"looks at "+
				"keys as a whole", i, a.Size(), s.weight.Size())
		}
		widths = append(widths, p.Store.Spec.Row/p.Store.DType.Size()*a.DType().Size())
	}
	if had, of := p.Store.States(); of != tag || !slices.Equal(had, widths) {
		p.Store.SetStates(widths, tag)
	}
	return nil
}

// rowTag returns the tag of the states that an optimizer keeps for rows.
func rowTag(encoded string) uint64 { return 1<<32 | uint64(wire.Checksum([]byte(encoded))) }

// RowTag returns the tag of the states that servers keep for rows with an optimizer.
func RowTag(o optimizer.Optimizer) (uint64, error) {
	s, err := (&Spec{}).Encode(1, o)
	if err != nil {
		return 0, err
	}
	var params Spec
	if err := json.Unmarshal(s.Params, &params); err != nil {
		return 0, fmt.Errorf("kvstore: optimizer %s: %w", s.Name, err)
	}
	return rowTag(string(params.Optimizer)), nil
}

// RowStates returns an error if an optimizer cannot work on rows that are made when they are
// touched: their states begin with zeros.
func RowStates(newState func(weight *nd.Array) []*nd.Array, t dtype.Type) error {
	one := nd.Ones(nd.Shape{2}, nd.As(t))
	for i, a := range newState(one) {
		v, err := a.Float64s()
		if err != nil {
			return err
		}
		if len(v) != 2 || v[0] != 0 || v[1] != 0 {
			return fmt.Errorf("state %d begins with %v, want zeros: the optimizer cannot work on "+
				"rows that exist from their first touch on", i, v)
		}
	}
	return nil
}
