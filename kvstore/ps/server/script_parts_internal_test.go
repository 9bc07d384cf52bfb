package server

import (
	"encoding/binary"
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// spread is an arithmetic with an encoding: one number that stands for all.
type spread struct{ ps.Plain }

func (s spread) Check(b []byte, n int, t dtype.Type, codec uint8) error {
	if codec == 1 {
		return s.Plain.Check(b, 4, t, 0)
	}
	return s.Plain.Check(b, n, t, codec)
}

func (s spread) plain(n int, b []byte, codec uint8) (out []byte) {
	if codec == 0 {
		return b
	}
	for len(out) < n {
		out = append(out, b...)
	}
	return out
}

func (s spread) Store(dst, b []byte, t dtype.Type, codec uint8) {
	s.Plain.Store(dst, s.plain(len(dst), b, codec), t, 0)
}

func (s spread) Add(dst, b []byte, t dtype.Type, codec uint8) {
	s.Plain.Add(dst, s.plain(len(dst), b, codec), t, 0)
}

// steps is an optimizer whose values show all that it was told: a step adds the gradient, and
// version, contributors, workers and steps so far to the four numbers.
type steps struct {
	active bool
	count  map[ps.ID]uint64
}

func (u *steps) SetSpec(wire.Spec) error { u.active = true; return nil }
func (u *steps) Active() bool            { return u.active }

func (u *steps) Update(x Update) {
	u.count[x.ID]++
	copy(x.Dst, x.Value)
	ps.Plain{}.Add(x.Dst, x.Grad, x.DType, 0)
	ps.Plain{}.Add(x.Dst, floats(float32(x.Version)*1000, float32(x.Contributors)*1000,
		float32(x.Count)*1000, float32(u.count[x.ID])*1000), x.DType, 0)
}

func (u *steps) UpdateRows(x RowUpdate) { u.count[x.ID]++ }

func (u *steps) AppendState(dst []byte, id ps.ID) []byte {
	return binary.LittleEndian.AppendUint64(dst, u.count[id])
}

func (u *steps) SetState(id ps.ID, state []byte) error {
	if len(state) != 8 {
		return fmt.Errorf("%w: %d bytes of an optimizer", errState, len(state))
	}
	u.count[id] = binary.LittleEndian.Uint64(state)
	return nil
}
