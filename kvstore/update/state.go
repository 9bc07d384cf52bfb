package update

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"gomx/dtype"
	"gomx/kvstore/ps"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// The state of a slice travels as the numbers of optimizer.Progress, then the number of arrays,
// then for each array its element type, its length in bytes, and its values.
//
// ProgressSize is the length in bytes of the numbers of optimizer.Progress.
const ProgressSize = 2*8 + 4*8

// AppendState implements server.Updater. A state that waits for its optimizer is passed on as it is.
func (u *Updater) AppendState(dst []byte, id ps.ID) []byte {
	s := u.slots[id]
	switch {
	case s == nil:
		return dst
	case s.pending != nil:
		return append(dst, s.pending...)
	case u.updater == nil:
		return dst
	}
	le := binary.LittleEndian
	dst = appendProgress(dst, u.updater.Progress(index(id)))
	arrays := u.updater.State(index(id))
	dst = le.AppendUint32(dst, uint32(len(arrays)))
	for _, a := range arrays {
		dst = append(dst, byte(a.DType()))
		dst = le.AppendUint32(dst, uint32(a.Bytes()))
		n := len(dst)
		dst = append(dst, make([]byte, a.Bytes())...)
		if err := a.ReadBytes(context.Background(), dst[n:]); err != nil {
			clear(dst[n:]) // a failed operation left nothing better
		}
	}
	return dst
}

// appendProgress appends the numbers at the begin of a state.
func appendProgress(dst []byte, p optimizer.Progress) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, uint64(p.Count))
	dst = le.AppendUint64(dst, uint64(p.Updates))
	for _, m := range []optimizer.Memory{p.Own, p.Shared} {
		for _, v := range m {
			dst = le.AppendUint64(dst, math.Float64bits(v))
		}
	}
	return dst
}

// progressOf reads the numbers at the begin of a state, which has at least ProgressSize bytes.
func progressOf(b []byte) (p optimizer.Progress) {
	le := binary.LittleEndian
	p.Count, p.Updates = int(le.Uint64(b)), int(le.Uint64(b[8:]))
	for i := range 4 {
		v := math.Float64frombits(le.Uint64(b[16+8*i:]))
		if i < 2 {
			p.Own[i] = v
		} else {
			p.Shared[i-2] = v
		}
	}
	return p
}

// SetState implements server.Updater. The first update, which names the key, checks the state.
func (u *Updater) SetState(id ps.ID, state []byte) error {
	if len(state) == 0 {
		return nil
	}
	if len(state) < ProgressSize+4 {
		return fmt.Errorf("kvstore: optimizer state of %d bytes, want at least %d", len(state),
			ProgressSize+4)
	}
	s := u.slots[id]
	if s == nil {
		s = &updaterSlot{}
		u.slots[id] = s
		u.name(id)
	}
	s.pending = append([]byte(nil), state...)
	return nil
}

var errStateLength = errors.New("kvstore: optimizer state ends early")

// take gives a state to the optimizer.
func (u *Updater) take(id ps.ID, s *updaterSlot, b []byte) error {
	le := binary.LittleEndian
	p := progressOf(b)
	n := le.Uint32(b[ProgressSize:])
	b = b[ProgressSize+4:]
	arrays, err := u.arrays(s, int(n), b)
	if err != nil {
		return err
	}
	if p != (optimizer.Progress{}) { // states from files have arrays alone
		u.updater.SetProgress(index(id), p)
	}
	if n > 0 {
		u.updater.SetState(index(id), arrays)
	}
	return nil
}

// arrays reads the arrays of a state into those that the optimizer makes.
func (u *Updater) arrays(s *updaterSlot, n int, b []byte) ([]*nd.Array, error) {
	if n == 0 {
		return nil, nil
	}
	own := u.updater.NewState(s.weight)
	if len(own) != n {
		return nil, fmt.Errorf("kvstore: optimizer state of %d arrays, want %d", n, len(own))
	}
	for i, a := range own {
		if len(b) < 5 {
			return nil, errStateLength
		}
		t, size := b[0], int(binary.LittleEndian.Uint32(b[1:]))
		if b = b[5:]; t != byte(a.DType()) || size != a.Bytes() {
			return nil, fmt.Errorf("kvstore: optimizer state %d has %d bytes of type %d, want "+
				"%d of %v", i, size, t, a.Bytes(), a.DType())
		}
		if len(b) < size {
			return nil, errStateLength
		}
		if err := a.WriteBytes(b[:size]); err != nil {
			return nil, err
		}
		b = b[size:]
	}
	return own, nil
}

// Array is an array of an encoded state.
type Array struct {
	Type dtype.Type
	Data []byte
}

// ParseState reads the bytes that Updater.AppendState writes.
func ParseState(b []byte) ([]Array, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if len(b) < ProgressSize+4 {
		return nil, errStateLength
	}
	n := binary.LittleEndian.Uint32(b[ProgressSize:])
	b = b[ProgressSize+4:]
	var list []Array
	for range n {
		if len(b) < 5 {
			return nil, errStateLength
		}
		t, size := dtype.Type(b[0]), uint64(binary.LittleEndian.Uint32(b[1:]))
		if b = b[5:]; uint64(len(b)) < size {
			return nil, errStateLength
		}
		list = append(list, Array{t, append([]byte(nil), b[:size]...)})
		b = b[size:]
	}
	return list, nil
}
