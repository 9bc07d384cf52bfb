package rows

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// Part is the state of a slice of a sparse key on one copy of its shard: the rows, and the values
// before the last round for workers that repeat it. A nil Part is of a key that is not sparse.
//
// Pushes, sums and lists of wanted rows are of the form of wire.Sparse.
type Part struct {
	Store *Store
	// Touched are the rows that the last change of the key has changed, in ascending order.
	Touched []uint32
	slots   []uint32 // of the touched rows
	undo    []byte   // touched rows before the last round; nil: there has been none
}

// headSize is the length of a description on its way.
const headSize = 16 + InitSize

// AppendSpec appends the description of a sparse key as it travels: rows of the matrix and bytes
// of a row, 8 bytes each, then Init. The rows that the key begins with may follow.
func AppendSpec(dst []byte, s Spec) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, s.Rows)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.Row))
	return s.Init.Append(dst)
}

// DecodeSpec reads what AppendSpec has written, for a slice of a key, and returns the rest.
func DecodeSpec(id ps.ID, parts uint16, t dtype.Type, b []byte) (s Spec, first []byte, err error) {
	if len(b) < headSize {
		return s, nil, fmt.Errorf("rows: description of %d bytes, want %d", len(b), headSize)
	}
	s = Spec{Key: id.Key, Part: int(id.Slice), Parts: int(parts), DType: t,
		Rows: binary.LittleEndian.Uint64(b)}
	if row := binary.LittleEndian.Uint64(b[8:]); row <= 1<<28 {
		s.Row = int(row)
	}
	if s.Init, err = DecodeInit(b[16:]); err == nil {
		err = s.Check()
	}
	first = b[headSize:]
	if err == nil && len(first) > 0 {
		_, err = wire.DecodeSparse(first, s.Row, s.Len())
	}
	return s, first, err
}

// NewPart returns a part that begins with rows, if there are any.
func NewPart(spec Spec, first []byte) *Part {
	p := &Part{Store: New(spec)}
	if list, err := p.List(first); err == nil && len(first) > 0 {
		for i, id := range list.IDs(nil) {
			copy(p.Store.Row(0, p.Store.Touch(id)), list.Rows[i*spec.Row:])
		}
	}
	return p
}

// List reads rows with values.
func (p *Part) List(payload []byte) (wire.Sparse, error) {
	return wire.DecodeSparse(payload, p.Store.Spec.Row, p.Store.Len())
}

// Check refuses a push that makes no sense, or has more than most bytes when its values are plain.
func (p *Part) Check(payload []byte, codec uint8, a ps.Arithmetic, most int) error {
	s, err := wire.DecodeCoded(payload, p.Store.Len())
	if err != nil {
		return err
	}
	values := s.N * p.Store.Spec.Row
	if plain := len(payload) - len(s.Rows) + values; plain > most {
		return fmt.Errorf("rows of %d bytes, want at most %d", plain, most)
	}
	if codec == 0 {
		_, err = p.List(payload)
		return err
	}
	return a.Check(s.Rows, values, p.Store.DType, codec)
}

// Plain returns a push that has been checked with its values decoded.
func (p *Part) Plain(payload []byte, codec uint8, a ps.Arithmetic) []byte {
	if codec == 0 {
		return payload
	}
	s, err := wire.DecodeCoded(payload, p.Store.Len())
	if err != nil {
		panic(fmt.Sprint("rows: a push that is not checked: ", err))
	}
	head := len(payload) - len(s.Rows)
	out := make([]byte, head+s.N*p.Store.Spec.Row)
	copy(out, payload[:head])
	a.Store(out[head:], s.Rows, p.Store.DType, codec)
	return out
}

// CheckWanted refuses a list of wanted rows that makes no sense, or whose values have more than most
// bytes.
func (p *Part) CheckWanted(payload []byte, most int) error {
	s, err := wire.DecodeSparse(payload, 0, p.Store.Len())
	if err == nil && s.N*p.Store.Spec.Row > most {
		err = fmt.Errorf("%d rows of %d bytes are wanted at once, want at most %d bytes", s.N,
			p.Store.Spec.Row, most)
	}
	return err
}

// Merge returns the sum of two pushes: where both have a row, b's is added to a's.
func (p *Part) Merge(a, b []byte) []byte {
	x, errX := p.List(a)
	y, errY := p.List(b)
	if errX != nil || errY != nil {
		panic(fmt.Sprint("rows: pushes that are not checked: ", errX, errY))
	}
	xs, ys := x.IDs(nil), y.IDs(nil)
	ids := union(xs, ys)
	row := p.Store.Spec.Row
	out := wire.AppendIDs(make([]byte, 0, 16+(5+row)*len(ids)), ids)
	at := len(out)
	out = slices.Grow(out, row*len(ids))[:at+row*len(ids)]
	for i, id := range ids {
		to := out[at+i*row : at+(i+1)*row]
		inX, inY := len(xs) > 0 && xs[0] == id, len(ys) > 0 && ys[0] == id
		if inX {
			copyRow(to, x.Rows[:row])
			xs, x.Rows = xs[1:], x.Rows[row:]
		}
		if !inY {
			continue
		}
		if inX {
			addRow(to, y.Rows[:row], p.Store.DType)
		} else {
			copyRow(to, y.Rows[:row])
		}
		ys, y.Rows = ys[1:], y.Rows[row:]
	}
	return out
}

// copyRow copies a row. Rows of one number are worth an instruction of their own.
func copyRow(dst, src []byte) {
	if len(src) == 4 {
		binary.NativeEndian.PutUint32(dst, binary.NativeEndian.Uint32(src))
		return
	}
	copy(dst, src)
}

// addRow adds a row to another one.
func addRow(dst, src []byte, t dtype.Type) {
	if len(src) != 4 || t != dtype.Float32 {
		ps.Plain{}.Add(dst, src, t, 0)
		return
	}
	sum := math.Float32frombits(binary.LittleEndian.Uint32(dst)) +
		math.Float32frombits(binary.LittleEndian.Uint32(src))
	binary.LittleEndian.PutUint32(dst, math.Float32bits(sum))
}

// union returns the numbers of two ascending lists in ascending order, each once.
func union(a, b []uint32) []uint32 {
	out := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		out = append(out, min(x, y))
		if x <= y {
			a = a[1:]
		}
		if y <= x {
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Begin begins a change by a push or a sum: it makes the rows and returns their slots and
// gradients. A round keeps the values of before.
func (p *Part) Begin(payload []byte, round bool) (slots []uint32, grads []byte) {
	list, err := p.List(payload)
	if err != nil {
		panic(fmt.Sprint("rows: a push that is not checked: ", err))
	}
	p.Touched = list.IDs(p.Touched[:0])
	p.slots = p.slots[:0]
	for _, id := range p.Touched {
		p.slots = append(p.slots, p.Store.Touch(id))
	}
	if round {
		p.undo = wire.AppendIDs(p.undo[:0], p.Touched)
		at, row := len(p.undo), p.Store.Spec.Row
		p.undo = slices.Grow(p.undo, len(p.slots)*row)[:at+len(p.slots)*row]
		for i, slot := range p.slots {
			copyRow(p.undo[at+i*row:], p.Store.Row(0, slot))
		}
	}
	return p.slots, list.Rows
}

// Forget says that a change of the key has changed no rows.
func (p *Part) Forget() {
	if p != nil {
		p.Touched = p.Touched[:0]
	}
}

// Undoes reports whether the values before the last round are known.
func (p *Part) Undoes() bool { return p != nil && p.undo != nil }

// AppendRows appends the values of the wanted rows, as they are or as they were before the last
// round.
func (p *Part) AppendRows(dst, wanted []byte, before bool) []byte {
	s, err := wire.DecodeSparse(wanted, 0, p.Store.Len())
	if err != nil {
		panic(fmt.Sprint("rows: wanted rows that are not checked: ", err))
	}
	var old wire.Sparse
	var had []uint32
	if before {
		old, _ = p.List(p.undo)
		had = old.IDs(nil)
	}
	row := p.Store.Spec.Row
	dst = slices.Grow(dst, s.N*row)
	for _, id := range s.IDs(nil) {
		at := len(dst)
		dst = dst[:at+row]
		if i, ok := slices.BinarySearch(had, id); ok {
			copyRow(dst[at:], old.Rows[i*row:(i+1)*row])
		} else if slot, ok := p.Store.Find(id); ok {
			copyRow(dst[at:], p.Store.Row(0, slot))
		} else {
			p.Store.first(id, dst[at:])
		}
	}
	return dst
}

// All returns the values of all rows, whether they exist or not.
func (p *Part) All() []byte {
	row := p.Store.Spec.Row
	b := make([]byte, p.Store.Spec.Len()*uint64(row))
	for id := range uint32(p.Store.Spec.Len()) {
		p.Store.Read(id, b[int(id)*row:(int(id)+1)*row])
	}
	return b
}

// Close frees the memory.
func (p *Part) Close() {
	if p != nil {
		p.Store.Close()
	}
}

// Bytes returns about how much memory the rows take.
func (p *Part) Bytes() int {
	if p == nil {
		return 0
	}
	return p.Store.Bytes()
}

// Sum returns a checksum of the rows that the last change has touched: copies compare it.
func (p *Part) Sum() uint32 {
	c := uint32(p.Store.N())
	for _, id := range p.Touched {
		slot, _ := p.Store.Find(id)
		c = c*0x9E3779B1 ^ wire.Checksum(p.Store.AppendRecord(nil, slot))
	}
	return c
}

// Checksum returns a checksum of all rows. It does not depend on the order in which they were made.
func (p *Part) Checksum() (sum uint32) {
	var b []byte
	for slot := range uint32(p.Store.N()) {
		b = p.Store.AppendRecord(b[:0], slot)
		sum += wire.Checksum(b)
	}
	return sum ^ wire.Checksum(p.undo)
}
