package rows

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"gomx/dtype"
)

// Spec describes the rows of a store: those rows of a matrix whose numbers are Part modulo Parts.
// The store numbers them anew, from 0 on: its row i is row i*Parts+Part of the matrix.
type Spec struct {
	Key         uint32
	Part, Parts int    // Parts 0 means 1
	Rows        uint64 // of the matrix
	Row         int    // bytes of a row
	DType       dtype.Type
	Init        Init
}

// Len returns how many rows the store may have.
func (s *Spec) Len() uint64 {
	n := uint64(max(1, s.Parts))
	return (s.Rows + n - 1 - uint64(s.Part)) / n
}

// Check returns an error for a description that makes no sense.
func (s *Spec) Check() error {
	switch {
	case !s.DType.Valid() || s.Row <= 0 || s.Row%s.DType.Size() != 0 || s.Row > 1<<28:
		return fmt.Errorf("rows: rows of %d bytes of %v", s.Row, s.DType)
	case s.Rows == 0 || s.Part < 0 || s.Part >= max(1, s.Parts):
		return fmt.Errorf("rows: %d rows in part %d of %d", s.Rows, s.Part, s.Parts)
	case s.Len() > 1<<32-2:
		return fmt.Errorf("rows: %d rows in a part, want at most %d", s.Len(), uint64(1<<32-2))
	}
	return nil
}

// Store holds the rows that exist. Rows have slots, which count up in the order in which they were
// made; a slot is for good.
//
// Invariants:
//  1. a place of index in use holds a slot plus 1. With direct place i is of row i; without, index
//     is a hash table of a power of two of places, at most 7/8 of them in use.
//  2. ids[slot] is the row's number; all columns have room for n rows.
type Store struct {
	Spec
	n      int
	index  []uint32 // in space.index, unless it is small
	direct bool     // index has a place for each row that may exist
	ids    column
	cols   []column // 0: values, then states
	tag    uint64   // of the states
	space  *space
	cut    *Cut // that is being read; nil: none is
}

// directRows is the number of rows up to which a store has a place for each row from the beginning.
// A larger one has them as soon as they are not more than the places of the hash table.
const directRows = 1 << 20

// column is one part of all rows.
type column struct {
	width int // bytes of a row's part
	shift uint
	pages [][]byte
}

// space is the memory of a store outside of the Go heap.
type space struct {
	list  [][]byte // pages
	index []byte   // nil: the index is small
}

// New returns a store without rows.
func New(spec Spec) *Store {
	s := &Store{Spec: spec, ids: newColumn(4), cols: []column{newColumn(spec.Row)},
		space: &space{}}
	s.clearIndex(16)
	runtime.AddCleanup(s, func(sp *space) { sp.close() }, s.space)
	return s
}

func (sp *space) close() {
	putPages(sp.list)
	sp.list = nil
	sp.dropIndex()
}

// dropIndex gives the memory of the index back.
func (sp *space) dropIndex() {
	if sp.index != nil {
		toSystem(sp.index)
		sp.index = nil
	}
}

// newIndex returns an empty index, whose memory takes the place of the one before.
func (sp *space) newIndex(n int) []uint32 {
	sp.dropIndex()
	if 4*n < pageSize {
		return make([]uint32, n)
	}
	sp.index = fromSystem(4 * n)
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(sp.index))), n)
}

// drop gives pages back.
func (sp *space) drop(list [][]byte) {
	gone := map[*byte]bool{}
	for _, p := range list {
		gone[&p[0]] = true
	}
	sp.list = slices.DeleteFunc(sp.list, func(p []byte) bool { return gone[&p[0]] })
	putPages(list)
}

// newColumn returns a column whose pages hold a power of two of rows.
func newColumn(width int) column {
	c := column{width: width}
	for width<<(c.shift+1) <= pageSize {
		c.shift++
	}
	return c
}

// reserve makes room for n rows.
func (c *column) reserve(n int, sp *space) {
	for len(c.pages)<<c.shift < n {
		p := getPage(c.width << c.shift)
		c.pages = append(c.pages, p)
		sp.list = append(sp.list, p)
	}
}

// row returns the part of a row.
func (c *column) row(slot uint32) []byte {
	at := int(slot&(1<<c.shift-1)) * c.width
	return c.pages[slot>>c.shift][at : at+c.width : at+c.width]
}

// Close frees the memory. The store is empty then.
func (s *Store) Close() {
	s.n, s.cut, s.direct, s.index = 0, nil, false, make([]uint32, 16)
	s.ids.pages = nil
	for i := range s.cols {
		s.cols[i].pages = nil
	}
	s.space.close()
}

// N returns how many rows exist.
func (s *Store) N() int { return s.n }

// ID returns the number of the row in a slot.
func (s *Store) ID(slot uint32) uint32 { return binary.NativeEndian.Uint32(s.ids.row(slot)) }

// Row returns the memory of a row in a column: 0 for the value, then states.
func (s *Store) Row(column int, slot uint32) []byte { return s.cols[column].row(slot) }

// clearIndex makes an empty index, a hash table of so many places or one with a place for each row.
func (s *Store) clearIndex(places int) {
	if n := s.Len(); n <= max(directRows, uint64(places)) {
		s.direct, s.index = true, s.space.newIndex(int(n))
		return
	}
	s.direct, s.index = false, s.space.newIndex(places)
}

// home is where the search for a row begins.
func (s *Store) home(id uint32) uint32 {
	return uint32(uint64(id)*0x9E3779B97F4A7C15>>32) & uint32(len(s.index)-1)
}

// Find returns the slot of a row; ok is false for one that does not exist.
func (s *Store) Find(id uint32) (slot uint32, ok bool) {
	if s.direct {
		at := s.index[id]
		return at - 1, at != 0
	}
	mask := uint32(len(s.index) - 1)
	for i := s.home(id); ; i = (i + 1) & mask {
		at := s.index[i]
		if at == 0 {
			return 0, false
		}
		if s.ID(at-1) == id {
			return at - 1, true
		}
	}
}

// Touch returns the slot of a row, which it makes if the row does not exist, with its first value
// and states of zeros. The row may be written then.
func (s *Store) Touch(id uint32) uint32 {
	if slot, ok := s.Find(id); ok {
		s.keep(slot)
		return slot
	}
	if !s.direct && 8*(s.n+1) > 7*len(s.index) {
		s.rehash()
	}
	slot := uint32(s.n)
	s.n++
	s.ids.reserve(s.n, s.space)
	binary.NativeEndian.PutUint32(s.ids.row(slot), id)
	for i := range s.cols {
		s.cols[i].reserve(s.n, s.space)
	}
	s.first(id, s.cols[0].row(slot))
	s.insert(id, slot)
	return slot
}

// insert notes the slot of a row that is not in the index.
func (s *Store) insert(id, slot uint32) {
	if s.direct {
		s.index[id] = slot + 1
		return
	}
	mask := uint32(len(s.index) - 1)
	i := s.home(id)
	for s.index[i] != 0 {
		i = (i + 1) & mask
	}
	s.index[i] = slot + 1
}

// rehash doubles the hash table.
func (s *Store) rehash() {
	s.clearIndex(2 * len(s.index))
	for slot := range uint32(s.n) {
		s.insert(s.ID(slot), slot)
	}
}

// first writes the first value of a row.
func (s *Store) first(id uint32, dst []byte) {
	s.Init.Fill(dst, s.DType, s.Key, uint64(id)*uint64(max(1, s.Parts))+uint64(s.Part))
}

// Read copies the value of a row, which need not exist.
func (s *Store) Read(id uint32, dst []byte) {
	if slot, ok := s.Find(id); ok {
		copy(dst, s.cols[0].row(slot))
		return
	}
	s.first(id, dst)
}

// States returns the widths in bytes of the states of a row, and their tag.
func (s *Store) States() (widths []int, tag uint64) {
	for i := range s.cols[1:] {
		widths = append(widths, s.cols[i+1].width)
	}
	return widths, s.tag
}

// SetStates gives all rows states of zeros, under a tag, and drops the states that they had.
func (s *Store) SetStates(widths []int, tag uint64) {
	s.tag, s.cut = tag, nil
	for i := range s.cols[1:] {
		s.space.drop(s.cols[i+1].pages)
	}
	s.cols = s.cols[:1:1]
	for _, w := range widths {
		c := newColumn(w)
		c.reserve(s.n, s.space)
		s.cols = append(s.cols, c)
	}
}

// Record returns how many bytes AppendRecord appends.
func (s *Store) Record() int {
	n := 4
	for i := range s.cols {
		n += s.cols[i].width
	}
	return n
}

// AppendRecord appends the number, the value and the states of a row.
func (s *Store) AppendRecord(dst []byte, slot uint32) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, s.ID(slot))
	for i := range s.cols {
		dst = append(dst, s.cols[i].row(slot)...)
	}
	return dst
}

// SetRecord takes over a row from Record() bytes of AppendRecord.
func (s *Store) SetRecord(b []byte) {
	slot := s.Touch(binary.LittleEndian.Uint32(b))
	b = b[4:]
	for i := range s.cols {
		b = b[copy(s.cols[i].row(slot), b):]
	}
}

// Bytes returns about how much memory the store takes.
func (s *Store) Bytes() int {
	n := 4 * len(s.index)
	for _, p := range s.space.list {
		n += len(p)
	}
	return n
}

// String describes the store by its size.
func (s *Store) String() string {
	return fmt.Sprintf("<Store: %d of %d rows of %d bytes>", s.n, s.Len(), s.Spec.Row)
}
