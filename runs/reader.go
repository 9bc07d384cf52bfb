package runs

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"time"
)

// Record is one record of a file. Exactly one of the fields before Note is set; or Note is, with
// the JSON of its content in Text.
type Record struct {
	Begin     *Begin
	Tag       string // name of the next tag
	Points    []Point
	Histogram *Histogram
	Of        Tag    // of the histogram
	Note      string // name of the content
	Text      json.RawMessage

	Step int64
	Time time.Time
}

// ErrDamaged is the error of files whose content cannot be what a run has written.
var ErrDamaged = errors.New("damaged")

// Reader reads the file of a run, also while it grows. It is used by one goroutine at a time.
type Reader struct {
	in   source
	at   int64 // end of the last complete record; 0: the header has not been read
	size int64 // of the file, when it was last looked at
	tags int   // of the present process
	body []byte
}

// source is an open file.
type source interface {
	io.ReaderAt
	Stat() (os.FileInfo, error)
}

// OpenReader opens the file of a run for reading. Close it.
func OpenReader(path string) (*FileReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	r, err := newReader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("runs: %s: %w", path, err), f.Close())
	}
	return &FileReader{*r, f}, nil
}

// FileReader is a Reader of a file that it has opened.
type FileReader struct {
	Reader
	f *os.File
}

// Close closes the file.
func (r *FileReader) Close() error { return r.f.Close() }

// newReader returns a reader and checks the header, if the file has one already.
func newReader(in source) (*Reader, error) {
	r := &Reader{in: in}
	_, err := r.begin()
	return r, err
}

// begin reads the header, and reports false while it is not complete.
func (r *Reader) begin() (bool, error) {
	if r.at > 0 {
		return true, nil
	}
	var h [headerSize]byte
	n, err := r.in.ReadAt(h[:], 0)
	if n < len(h) && errors.Is(err, io.EOF) {
		if text := magic[:min(n, len(magic))]; string(h[:len(text)]) != text {
			return false, fmt.Errorf("%w: found %q, want the file of a run, which begins with %q",
				ErrDamaged, h[:n], magic)
		}
		return false, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if string(h[:len(magic)]) != magic {
		return false, fmt.Errorf("%w: found %q, want the file of a run, which begins with %q",
			ErrDamaged, h[:len(magic)], magic)
	}
	if v := binary.LittleEndian.Uint32(h[len(magic):]); v == 0 || v > Version {
		return false, fmt.Errorf("version %d of the file of a run, this program reads 1 to %d: "+
			"use a newer one", v, Version)
	}
	r.at = int64(headerSize)
	return true, nil
}

// frame reads the next record's body into r.body, and reports false if it is not complete.
func (r *Reader) frame() (bool, error) {
	if ok, err := r.begin(); !ok {
		return false, err
	}
	if r.size < r.at+frameSize {
		if err := r.look(); err != nil || r.size < r.at+frameSize {
			return false, err
		}
	}
	var h [frameSize]byte
	if _, err := r.in.ReadAt(h[:], r.at); err != nil {
		return false, ignoreEOF(err)
	}
	n := int64(binary.LittleEndian.Uint32(h[:]))
	if n == 0 || n > maxRecord {
		return false, r.damaged("a record of %d bytes, want 1 to %d", n, maxRecord)
	}
	end := r.at + frameSize + n
	if r.size < end {
		if err := r.look(); err != nil || r.size < end {
			return false, err
		}
	}
	if int64(cap(r.body)) < n {
		r.body = make([]byte, n)
	}
	r.body = r.body[:n]
	if _, err := r.in.ReadAt(r.body, r.at+frameSize); err != nil {
		return false, ignoreEOF(err)
	}
	want := binary.LittleEndian.Uint32(h[4:])
	if got := crc32.Checksum(r.body, castagnoli); got != want {
		return false, r.damaged("checksum %08x, want %08x", got, want)
	}
	r.at = end
	return true, nil
}

// look asks for the size of the file.
func (r *Reader) look() error {
	info, err := r.in.Stat()
	if err == nil {
		r.size = info.Size()
	}
	return err
}

// ignoreEOF turns the end of a file that has shrunk into no error.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (r *Reader) damaged(format string, args ...any) error {
	return fmt.Errorf("%w at byte %d: found %s", ErrDamaged, r.at, fmt.Sprintf(format, args...))
}

// Next returns the next record, io.EOF when there is no complete one. It may be called again later:
// the file may have grown. Records of unknown kinds are passed over.
func (r *Reader) Next() (*Record, error) {
	for {
		ok, err := r.frame()
		if err != nil {
			return nil, fmt.Errorf("runs: %w", err)
		}
		if !ok {
			return nil, io.EOF
		}
		rec, err := r.decode()
		if err != nil {
			return nil, fmt.Errorf("runs: record before byte %d: %w", r.at, err)
		}
		if rec != nil {
			return rec, nil
		}
	}
}

// decode decodes the body of a record, nil for an unknown kind.
func (r *Reader) decode() (*Record, error) {
	d := decoder{rest: r.body[1:]}
	rec := &Record{}
	switch kind(r.body[0]) {
	case kindBegin:
		r.tags, rec.Begin = 0, &Begin{}
		if err := json.Unmarshal(d.rest, rec.Begin); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		rec.Step, rec.Time = rec.Begin.Step, rec.Begin.Time
	case kindTag:
		r.tags++
		if rec.Tag = string(d.rest); rec.Tag == "" {
			return nil, fmt.Errorf("%w: a tag without a name", ErrDamaged)
		}
	case kindScalars:
		rec.Step, rec.Time = d.varint(), time.Unix(0, int64(d.u64()))
		for len(d.rest) > 0 && d.err == nil {
			rec.Points = append(rec.Points, Point{r.tagOf(&d), d.float()})
		}
	case kindHistogram:
		rec.Step, rec.Time = d.varint(), time.Unix(0, int64(d.u64()))
		rec.Of = r.tagOf(&d)
		h := &Histogram{Step: rec.Step, Time: rec.Time.UnixNano()}
		h.Min, h.Max, h.Sum, h.Squares = d.float(), d.float(), d.float(), d.float()
		h.Count, h.Other = d.uvarint(), d.uvarint()
		for len(d.rest) > 0 && d.err == nil {
			h.Counts = append(h.Counts, d.uvarint())
		}
		if len(h.Counts) > Bins {
			d.err = fmt.Errorf("%w: a histogram of %d bins, want at most %d", ErrDamaged,
				len(h.Counts), Bins)
		}
		rec.Histogram = h
	case kindNote:
		rec.Note = string(d.bytes(d.uvarint()))
		rec.Step, rec.Time = d.varint(), time.Unix(0, int64(d.u64()))
		rec.Text = append(json.RawMessage(nil), d.rest...)
	default:
		return nil, nil
	}
	return rec, d.err
}

// tagOf reads a tag, which must have been named.
func (r *Reader) tagOf(d *decoder) Tag {
	n := d.uvarint()
	if d.err == nil && n >= uint64(r.tags) {
		d.err = fmt.Errorf("%w: tag %d of %d", ErrDamaged, n, r.tags)
	}
	return Tag(n)
}

// decoder reads numbers and keeps the first error.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = fmt.Errorf("%w: a record that is too short", ErrDamaged)
	}
	d.rest = nil
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.fail()
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) u64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) float() float64 { return math.Float64frombits(d.u64()) }
