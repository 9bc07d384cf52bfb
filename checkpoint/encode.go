package checkpoint

import (
	"encoding/binary"
	"fmt"
	"io"

	"gomx/dtype"
)

// Encoder writes MXNet's list of arrays one record at a time.
type Encoder struct {
	w     io.Writer
	count int
	names []string
	v3    bool
	buf   []byte
	err   error
}

// NewEncoder begins a list of count records. With numpyShapes, dense records are written as V3,
// which can hold scalars and empty arrays but which MXNet reads under numpy-shape semantics only.
func NewEncoder(w io.Writer, count int, numpyShapes bool) *Encoder {
	e := &Encoder{w: w, count: count, v3: numpyShapes}
	e.u64(magicList, 0, uint64(count))
	return e
}

// Encode writes the next record. It ignores r's version and device: the device written is cpu(0).
func (e *Encoder) Encode(r *Record) error {
	if e.err == nil && len(e.names) == e.count {
		e.err = fmt.Errorf("checkpoint: record %q is one too many, want %d", r.Name, e.count)
	}
	if e.err == nil {
		e.err = r.check(len(e.names), e.v3)
	}
	if e.err != nil {
		return e.err
	}
	e.names = append(e.names, r.Name)
	e.record(r)
	return e.flush()
}

// Close writes the names, or none if all are empty.
func (e *Encoder) Close() error {
	if e.err != nil {
		return e.err
	}
	if len(e.names) != e.count {
		e.err = fmt.Errorf("checkpoint: list closed after %d records, want %d", len(e.names),
			e.count)
		return e.err
	}
	named, unnamed := 0, -1
	for i, n := range e.names {
		if n != "" {
			named++
		} else {
			unnamed = i
		}
	}
	switch {
	case named == 0:
		e.u64(0)
		return e.flush()
	case unnamed >= 0:
		e.err = fmt.Errorf("checkpoint: array %d has no name, want one: %d others have one",
			unnamed, named)
		return e.err
	}
	e.u64(uint64(len(e.names)))
	for _, n := range e.names {
		e.u64(uint64(len(n)))
		e.buf = append(e.buf, n...)
	}
	return e.flush()
}

// EncodeRecord writes a single V2 record without the header of a list, as in pickled arrays.
func EncodeRecord(w io.Writer, r *Record) error {
	if err := r.check(0, false); err != nil {
		return err
	}
	e := &Encoder{w: w}
	e.record(r)
	return e.flush()
}

// WriteList writes a whole list. It writes V3 records when an array needs them.
func WriteList(w io.Writer, list []*Record) error {
	v3 := false
	for _, r := range list {
		v3 = v3 || r.needsV3()
	}
	e := NewEncoder(w, len(list), v3)
	for _, r := range list {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return e.Close()
}

// check returns an error if record number i cannot be written.
func (r *Record) check(i int, v3 bool) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("checkpoint: %s %s", r.describe(i), fmt.Sprintf(format, args...))
	}
	if r.Shape == nil {
		return nil
	}
	if r.needsV3() && !v3 {
		return bad("has no elements or no axes, which V2 cannot express")
	}
	if r.Stype < Dense || r.Stype > CSR || len(r.Aux) != r.Stype.auxCount() {
		return bad("is %v with %d index arrays", r.Stype, len(r.Aux))
	}
	if !r.DType.Valid() {
		return bad("has no element type")
	}
	if n, ok := ByteSize(r.DType, r.values()); !ok || n != int64(len(r.Data)) {
		return bad("has %d bytes, want %d", len(r.Data), n)
	}
	for k, x := range r.Aux {
		if n, ok := ByteSize(x.DType, x.Shape); !ok || n != int64(len(x.Data)) {
			return bad("has %d bytes in index array %d, want %d", len(x.Data), k, n)
		}
	}
	return nil
}

// record appends the header of a record to the buffer and writes the data directly.
func (e *Encoder) record(r *Record) {
	magic := uint32(magicV2)
	if e.v3 && r.Stype == Dense {
		magic = magicV3
	}
	e.u32(magic, uint32(r.Stype))
	if r.Stype != Dense {
		e.shape(r.Storage)
	}
	if r.Shape == nil {
		if magic == magicV3 {
			e.u32(0xffffffff)
		} else {
			e.u32(0)
		}
		return
	}
	e.shape(r.Shape)
	e.u32(1, 0) // cpu(0)
	e.u32(uint32(r.DType))
	for _, x := range r.Aux {
		e.u32(uint32(x.DType))
		e.shape(x.Shape)
	}
	e.data(r.Data)
	for _, x := range r.Aux {
		e.data(x.Data)
	}
}

func (e *Encoder) u32(list ...uint32) {
	for _, v := range list {
		e.buf = binary.LittleEndian.AppendUint32(e.buf, v)
	}
}

func (e *Encoder) u64(list ...uint64) {
	for _, v := range list {
		e.buf = binary.LittleEndian.AppendUint64(e.buf, v)
	}
}

func (e *Encoder) shape(s dtype.Shape) {
	e.u32(uint32(len(s)))
	for _, d := range s {
		e.u64(uint64(d))
	}
}

func (e *Encoder) data(p []byte) {
	if e.flush() == nil {
		_, e.err = e.w.Write(p)
	}
}

// flush writes the buffer.
func (e *Encoder) flush() error {
	if e.err == nil && len(e.buf) > 0 {
		_, e.err = e.w.Write(e.buf)
		e.buf = e.buf[:0]
	}
	return e.err
}
