package checkpoint

import (
	"fmt"
	"io"
	"iter"

	"gomx/dtype"
)

// Decoder reads MXNet's list of arrays one record at a time. The file holds the names after all
// arrays, so the records come without names.
type Decoder struct {
	s     source
	count uint64 // number of records in the list
	next  uint64
}

// NewDecoder reads the header of a list from r. size is the number of bytes in r, or -1 if unknown;
// with it the decoder rejects impossible counts and shapes before it allocates memory for them.
func NewDecoder(r io.Reader, size int64) (*Decoder, error) {
	d := &Decoder{s: source{r: r, size: size, what: "header"}}
	head := d.s.u64()
	if d.s.err == nil && head != magicList {
		d.s.off = 0
		d.s.fail("starts with %#x, want %#x%s", head, magicList, foreign(head))
	}
	d.s.u64() // reserved
	d.count = d.s.u64()
	// An array takes at least four bytes.
	if size >= 0 && d.s.err == nil && d.count > uint64(size-d.s.off)/4 {
		d.s.fail("claims %d arrays, which %d bytes cannot hold", d.count, size-d.s.off)
	}
	return d, d.s.err
}

// foreign returns a note for errors that names another format, by its first bytes.
func foreign(head uint64) string {
	switch {
	case uint32(head) == 0x04034b50:
		return ": this is a zip archive, perhaps one of MXNet 2"
	case uint32(head) == 0x4d554e93:
		return ": this is a NumPy array"
	case head&0xff == '{':
		return ": this looks like JSON"
	}
	return ""
}

// Len returns the number of records that the header of the list claims.
func (d *Decoder) Len() uint64 { return d.count }

// Records reads the remaining records. It ends at the first error.
func (d *Decoder) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for d.s.err == nil && d.next < d.count {
			r := &Record{}
			d.s.what = fmt.Sprintf("array %d of %d", d.next, d.count)
			d.record(r)
			d.next++
			if d.s.err != nil {
				yield(nil, d.s.err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Names reads the names, which follow the records; nil for an unnamed list. The caller must have
// read all records.
func (d *Decoder) Names() ([]string, error) {
	if d.s.err != nil {
		return nil, d.s.err
	}
	if d.next < d.count {
		return nil, fmt.Errorf("checkpoint: Names called after %d of %d records, want all read",
			d.next, d.count)
	}
	d.s.what = "list of names"
	m := d.s.u64()
	if d.s.err == nil && m != 0 && m != d.count {
		d.s.fail("has %d names for %d arrays, want as many or none", m, d.count)
	}
	var names []string
	for i := uint64(0); i < m && d.s.err == nil; i++ {
		d.s.what = fmt.Sprintf("name %d of %d", i, m)
		n := d.s.u64()
		if n > 1<<20 && d.s.err == nil {
			d.s.fail("has %d bytes, want at most %d", n, 1<<20)
		}
		names = append(names, string(d.s.bytes(int64(n))))
	}
	if d.s.err == nil && !d.s.atEnd() {
		d.s.what = "list"
		d.s.fail("ends here, but more bytes follow")
	}
	return names, d.s.err
}

// DecodeRecord reads a single record without the header of a list, as in pickled arrays.
func DecodeRecord(r io.Reader, size int64) (*Record, error) {
	d := &Decoder{s: source{r: r, size: size, what: "array"}}
	rec := &Record{}
	d.record(rec)
	if d.s.err == nil && !d.s.atEnd() {
		d.s.fail("ends here, but more bytes follow")
	}
	if d.s.err != nil {
		return nil, d.s.err
	}
	return rec, nil
}

// record reads one record of any version.
func (d *Decoder) record(r *Record) {
	s := &d.s
	switch first := s.u32(); first {
	case magicV2, magicV3:
		r.Version = V2 + Version(first-magicV2)
		d.modern(r)
		return
	case magicV1:
		r.Version = V1
		r.Shape = s.shape(int64(s.u32()), 8)
	default:
		r.Version = V0
		r.Shape = s.shape(int64(first), 4)
	}
	if len(r.Shape) == 0 || s.err != nil {
		r.Shape = nil
		return
	}
	s.context()
	r.DType = s.dtype()
	r.Data = s.values(r.DType, r.Shape)
}

// modern reads the rest of a V2 or V3 record.
func (d *Decoder) modern(r *Record) {
	s := &d.s
	r.Stype = Stype(int32(s.u32()))
	if s.err == nil && (r.Stype < Dense || r.Stype > CSR) {
		s.fail("has storage type %d, want 0 (default), 1 (row_sparse) or 2 (csr)", int32(r.Stype))
		return
	}
	if r.Stype != Dense {
		r.Storage = s.shape(int64(int32(s.u32())), 8)
	}
	axes := int64(int32(s.u32()))
	if axes == -1 || axes == 0 && r.Version == V2 {
		return // MXNet's "none"
	}
	r.Shape = s.shape(axes, 8)
	s.context()
	r.DType = s.dtype()
	if s.err == nil {
		s.what += fmt.Sprintf(" (%v %v)", r.DType, r.Shape)
	}
	for range r.Stype.auxCount() {
		x := Index{DType: s.dtype()}
		x.Shape = s.shape(int64(int32(s.u32())), 8)
		r.Aux = append(r.Aux, x)
	}
	r.Data = s.values(r.DType, r.values())
	for i := range r.Aux {
		r.Aux[i].Data = s.values(r.Aux[i].DType, r.Aux[i].Shape)
	}
}

// shape reads the extents of axes axes, each of width bytes.
func (s *source) shape(axes int64, width int) dtype.Shape {
	if s.err != nil {
		return nil
	}
	if axes < 0 || axes > maxAxes {
		s.fail("has %d axes, want at most %d", axes, maxAxes)
		return nil
	}
	shape := make(dtype.Shape, axes)
	for i := range shape {
		v := int64(0)
		if width == 4 {
			v = int64(s.u32())
		} else {
			v = int64(s.u64())
		}
		if v < 0 || v > 1<<48 {
			s.fail("has extent %d on axis %d", v, i)
		}
		shape[i] = int(v)
	}
	if s.err != nil {
		return nil
	}
	return shape
}

// context reads and ignores the device that the array was saved from.
func (s *source) context() {
	kind, id := int32(s.u32()), int32(s.u32())
	if s.err == nil && (kind < 1 || kind > 6 || id < 0) {
		s.fail("was saved from device type %d number %d, want a type from 1 to 6", kind, id)
	}
}

func (s *source) dtype() dtype.Type {
	code := s.u32()
	if s.err == nil && (code > 127 || !dtype.Type(code).Valid()) {
		s.fail("has element type %d, want at most %d", code, dtype.BFloat16)
		return dtype.Unknown
	}
	return dtype.Type(code)
}

// values reads the elements of an array.
func (s *source) values(t dtype.Type, shape dtype.Shape) []byte {
	if s.err != nil {
		return nil
	}
	n, ok := ByteSize(t, shape)
	if !ok {
		s.fail("has shape %v, which no memory can hold", shape)
		return nil
	}
	return s.bytes(n)
}

// ReadList reads a whole list with its names. size is as for NewDecoder. named is false if the list
// has no names.
func ReadList(r io.Reader, size int64) (list []*Record, named bool, err error) {
	d, err := NewDecoder(r, size)
	if err != nil {
		return nil, false, err
	}
	for rec, err := range d.Records() {
		if err != nil {
			return nil, false, err
		}
		list = append(list, rec)
	}
	names, err := d.Names()
	if err != nil {
		return nil, false, err
	}
	for i, name := range names {
		list[i].Name = name
	}
	return list, len(names) > 0, nil
}
