package io

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// RecordIndex maps keys to the offsets of records: the content of the .idx file of a .rec file.
type RecordIndex struct {
	Keys   []int // in the order of the file
	Offset map[int]int64
}

// ReadRecordIndex decodes an index. Each line has the key and the offset of a record.
func ReadRecordIndex(r io.Reader) (*RecordIndex, error) {
	x := &RecordIndex{Offset: map[int]int64{}}
	err := scanLines(r, func(line []byte) error {
		key, off, ok := strings.Cut(string(line), "\t")
		k, err1 := strconv.Atoi(strings.TrimSpace(key))
		o, err2 := strconv.ParseInt(strings.TrimSpace(off), 10, 64)
		if !ok || err1 != nil || err2 != nil || o < 0 {
			return fmt.Errorf("found %q, want a key and an offset separated by a tab", line)
		}
		if _, dup := x.Offset[k]; dup {
			return fmt.Errorf("found key %d twice, want different keys", k)
		}
		x.Keys, x.Offset[k] = append(x.Keys, k), o
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("record index%w", err)
	}
	return x, nil
}

// openRecordIndex reads the index in a file.
func openRecordIndex(path string) (*RecordIndex, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := ReadRecordIndex(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

// IndexedRecords reads the records of a file in any order.
type IndexedRecords struct {
	Index *RecordIndex
	f     *os.File
}

// OpenIndexed opens a .rec file and its index.
func OpenIndexed(idxPath, recPath string) (*IndexedRecords, error) {
	x, err := openRecordIndex(idxPath)
	if err != nil {
		return nil, fmt.Errorf("io: %w", err)
	}
	f, err := os.Open(recPath)
	if err != nil {
		return nil, fmt.Errorf("io: %w", err)
	}
	return &IndexedRecords{x, f}, nil
}

// Read returns the payload of the record with a key. Several goroutines may call it at once.
func (r *IndexedRecords) Read(key int) ([]byte, error) {
	off, ok := r.Index.Offset[key]
	if !ok {
		return nil, fmt.Errorf("io: %s: found no record with key %d", r.f.Name(), key)
	}
	b, err := NewRecordReader(io.NewSectionReader(r.f, off, math.MaxInt64-off)).Next()
	if err != nil {
		return nil, fmt.Errorf("io: %s: key %d: %w", r.f.Name(), key, truncated(err))
	}
	return b, nil
}

// Close closes the file.
func (r *IndexedRecords) Close() error { return r.f.Close() }

// RecordHeader is the beginning of the payload of an image record.
type RecordHeader struct {
	Label []float32
	// List stores the labels after the header even if there is only one, as MXNet does for a label
	// array.
	List bool
	ID   uint64
	ID2  uint64
}

const recordHeaderLen = 24

// UnpackRecord splits the payload of an image record into header and content. The content shares
// memory with the payload.
func UnpackRecord(payload []byte) (RecordHeader, []byte, error) {
	if len(payload) < recordHeaderLen {
		return RecordHeader{}, nil, fmt.Errorf("io: image record of %d bytes, want a header of %d",
			len(payload), recordHeaderLen)
	}
	le := binary.LittleEndian
	h := RecordHeader{ID: le.Uint64(payload[8:]), ID2: le.Uint64(payload[16:])}
	flag := int64(le.Uint32(payload))
	rest := payload[recordHeaderLen:]
	if flag == 0 {
		h.Label = []float32{math.Float32frombits(le.Uint32(payload[4:]))}
		return h, rest, nil
	}
	if flag*4 > int64(len(rest)) {
		return RecordHeader{}, nil, fmt.Errorf("io: image record claims %d labels in %d bytes",
			flag, len(rest))
	}
	h.List = true
	h.Label = make([]float32, flag)
	for i := range h.Label {
		h.Label[i] = math.Float32frombits(le.Uint32(rest[4*i:]))
	}
	return h, rest[4*flag:], nil
}

// PackRecord joins header and content into the payload of a record.
func PackRecord(h RecordHeader, content []byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, recordHeaderLen, recordHeaderLen+4*len(h.Label)+len(content))
	le.PutUint64(b[8:], h.ID)
	le.PutUint64(b[16:], h.ID2)
	if len(h.Label) == 1 && !h.List {
		le.PutUint32(b[4:], math.Float32bits(h.Label[0]))
		return append(b, content...)
	}
	le.PutUint32(b, uint32(len(h.Label)))
	for _, v := range h.Label {
		b = le.AppendUint32(b, math.Float32bits(v))
	}
	return append(b, content...)
}
