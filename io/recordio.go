package io

import (
	"encoding/binary"
	"fmt"
	"io"
)

// RecordIO is a sequence of records. Each has a magic number, a word with the length and a flag,
// and the payload padded to four bytes. A payload that contains the magic number at a multiple of
// four is split there into parts, so that a reader can find the next record from anywhere.
const (
	recordMagic  = 0xced7230a
	maxRecordLen = 1<<29 - 1

	partWhole, partFirst, partMiddle, partLast = 0, 1, 2, 3
)

// RecordReader reads records of a RecordIO file.
type RecordReader struct {
	r   io.Reader
	buf []byte
	n   int // records read
}

// NewRecordReader returns a reader of records from r, which should be buffered.
func NewRecordReader(r io.Reader) *RecordReader { return &RecordReader{r: r} }

// Next returns the payload of the next record, or io.EOF after the last. The bytes are valid until
// the next call.
func (d *RecordReader) Next() ([]byte, error) {
	d.buf = d.buf[:0]
	flag, err := d.part()
	if err == io.EOF {
		return nil, io.EOF
	}
	if err == nil && flag != partWhole && flag != partFirst {
		err = fmt.Errorf("begins with part %d, want 0 or 1", flag)
	}
	for err == nil && flag != partWhole && flag != partLast {
		d.buf = binary.LittleEndian.AppendUint32(d.buf, recordMagic)
		if flag, err = d.part(); err == nil && flag != partMiddle && flag != partLast {
			err = fmt.Errorf("part %d inside a record, want 2 or 3", flag)
		}
		if err == io.EOF {
			err = truncated(err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("recordio: record %d: %w", d.n, err)
	}
	d.n++
	return d.buf, nil
}

// part appends one part of a record to buf. It returns io.EOF only if no byte is left.
func (d *RecordReader) part() (flag int, err error) {
	var head [8]byte
	if _, err := io.ReadFull(d.r, head[:]); err != nil {
		if err == io.EOF {
			return 0, io.EOF
		}
		return 0, fmt.Errorf("header: %w", truncated(err))
	}
	if m := binary.LittleEndian.Uint32(head[:]); m != recordMagic {
		return 0, fmt.Errorf("magic number %#x, want %#x", m, uint32(recordMagic))
	}
	word := binary.LittleEndian.Uint32(head[4:])
	n := int(word & maxRecordLen)
	if err := d.read(n); err != nil {
		return 0, err
	}
	var pad [3]byte
	if _, err := io.ReadFull(d.r, pad[:-n&3]); err != nil {
		return 0, fmt.Errorf("padding: %w", truncated(err))
	}
	return int(word >> 29), nil
}

// read appends n bytes to buf, which grows with the bytes read, not with the claimed length.
func (d *RecordReader) read(n int) error {
	const step = 1 << 20
	for got := 0; got < n; {
		m := min(step, n-got)
		at := len(d.buf)
		d.buf = append(d.buf, make([]byte, m)...)
		if _, err := io.ReadFull(d.r, d.buf[at:]); err != nil {
			return fmt.Errorf("payload of %d bytes: %w", n, truncated(err))
		}
		got += m
	}
	return nil
}

// RecordWriter writes records of a RecordIO file.
type RecordWriter struct {
	w   io.Writer
	off int64
}

// NewRecordWriter returns a writer of records to w, which should be buffered.
func NewRecordWriter(w io.Writer) *RecordWriter { return &RecordWriter{w: w} }

// Offset returns the number of bytes written, which is the offset of the next record.
func (e *RecordWriter) Offset() int64 { return e.off }

// Write writes one record.
func (e *RecordWriter) Write(payload []byte) error {
	flag := uint32(partWhole)
	for at := 0; at+4 <= len(payload); at += 4 {
		if binary.LittleEndian.Uint32(payload[at:]) != recordMagic {
			continue
		}
		if flag == partWhole {
			flag = partFirst
		}
		if err := e.part(flag, payload[:at]); err != nil {
			return err
		}
		// The magic number itself is not written; the reader inserts it between parts.
		payload, at, flag = payload[at+4:], -4, partMiddle
	}
	if flag == partMiddle {
		flag = partLast
	}
	return e.part(flag, payload)
}

func (e *RecordWriter) part(flag uint32, b []byte) error {
	if len(b) > maxRecordLen {
		return fmt.Errorf("recordio: record of %d bytes, want at most %d", len(b), maxRecordLen)
	}
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], recordMagic)
	binary.LittleEndian.PutUint32(head[4:], flag<<29|uint32(len(b)))
	var zeros [3]byte
	for _, part := range [][]byte{head[:], b, zeros[:-len(b)&3]} {
		n, err := e.w.Write(part)
		e.off += int64(n)
		if err != nil {
			return fmt.Errorf("recordio: %w", err)
		}
	}
	return nil
}
