package checkpoint

import (
	"fmt"

	"gomx/dtype"
)

// Stype is the storage type of a record, with MXNet's numbers.
type Stype int32

// The storage types.
const (
	Dense     Stype = 0
	RowSparse Stype = 1 // some rows: Data holds the rows, Aux[0] their numbers, ascending
	CSR       Stype = 2 // a matrix: Aux[0] holds the start of each row in Data, Aux[1] the columns
)

// String returns MXNet's name of the storage type.
func (s Stype) String() string {
	switch s {
	case Dense:
		return "default"
	case RowSparse:
		return "row_sparse"
	case CSR:
		return "csr"
	}
	return fmt.Sprintf("stype(%d)", int32(s))
}

// auxCount returns the number of index arrays of a storage type.
func (s Stype) auxCount() int { return int(s) }

// Version is the layout of a record.
type Version uint8

// The layouts. Files are written with V2, or V3 where an array needs it.
const (
	V0 Version = iota // until MXNet 0.9: 32-bit extents, no magic number
	V1                // 64-bit extents
	V2                // storage types; the layout of MXNet 1.x
	V3                // scalars and empty arrays; MXNet reads it under numpy-shape semantics only
)

// The magic numbers of records, and the first word of a list.
const (
	magicList = 0x112
	magicV1   = 0xF993fac8
	magicV2   = 0xF993fac9
	magicV3   = 0xF993faca
)

// Record is one array of a file, with the fields that the file has. It shares no memory with the
// file.
type Record struct {
	Name    string // empty in an unnamed list
	Version Version
	Stype   Stype
	DType   dtype.Type
	Shape   dtype.Shape // nil for MXNet's "none", an array without shape and values
	Storage dtype.Shape // shape of Data when the record is sparse
	Data    []byte      // the elements, little endian and row-major
	Aux     []Index     // the index arrays when the record is sparse
}

// Index is an index array of a sparse record.
type Index struct {
	DType dtype.Type
	Shape dtype.Shape
	Data  []byte
}

// maxAxes bounds the number of axes that a file may claim.
const maxAxes = 32

// ByteSize returns the size of an array in bytes; ok is false if no memory can hold it.
func ByteSize(t dtype.Type, s dtype.Shape) (n int64, ok bool) {
	n = int64(t.Size())
	empty := false
	for _, d := range s {
		if d < 0 {
			return 0, false
		}
		if d == 0 {
			empty = true
			continue
		}
		if n > (1<<62)/int64(d) {
			return 0, false
		}
		n *= int64(d)
	}
	if empty {
		return 0, true
	}
	return n, true
}

// values returns the shape of Data.
func (r *Record) values() dtype.Shape {
	if r.Stype == Dense {
		return r.Shape
	}
	return r.Storage
}

// describe names the record for errors: `array 3 "fc1_weight" (float32 (128, 784))`.
func (r *Record) describe(i int) string {
	name := ""
	if r.Name != "" {
		name = fmt.Sprintf(" %q", r.Name)
	}
	return fmt.Sprintf("array %d%s (%v %v)", i, name, r.DType, r.Shape)
}

// needsV3 reports whether V2 cannot express the array: a scalar, or a dense array without elements.
func (r *Record) needsV3() bool {
	return r.Stype == Dense && r.Shape != nil && (len(r.Shape) == 0 || r.Shape.Size() == 0)
}
