package io

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// IDX is the content of an idx file, the format of MNIST: one array of numbers.
type IDX struct {
	DType dtype.Type
	Shape nd.Shape
	Data  []byte // row-major, little endian
}

var idxTypes = map[byte]dtype.Type{
	0x08: dtype.Uint8, 0x09: dtype.Int8, 0x0b: dtype.Int16,
	0x0c: dtype.Int32, 0x0d: dtype.Float32, 0x0e: dtype.Float64,
}

// maxIDXBytes is the largest size of the data in bytes. The extents in a damaged header can have
// any product.
const maxIDXBytes = 1 << 36

// ReadIDX decodes an idx file. Memory grows with the bytes read, not with the sizes in the header.
func ReadIDX(r io.Reader) (*IDX, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("idx: header: %w", truncated(err))
	}
	typ, ok := idxTypes[head[2]]
	if head[0] != 0 || head[1] != 0 || !ok {
		return nil, fmt.Errorf("idx: magic number %#08x, want 0x0000TTNN with element type TT "+
			"of 08, 09, 0b, 0c, 0d, 0e", binary.BigEndian.Uint32(head[:]))
	}
	x := &IDX{DType: typ, Shape: make(nd.Shape, head[3])}
	size := int64(typ.Size())
	for i := range x.Shape {
		var d [4]byte
		if _, err := io.ReadFull(r, d[:]); err != nil {
			return nil, fmt.Errorf("idx: extent %d of %d: %w", i, len(x.Shape), truncated(err))
		}
		extent := int64(binary.BigEndian.Uint32(d[:]))
		if extent > 0 && size > maxIDXBytes/extent {
			return nil, fmt.Errorf("idx: extents up to axis %d claim more than %d bytes", i,
				int64(maxIDXBytes))
		}
		x.Shape[i] = int(extent)
		size *= extent
	}
	var buf bytes.Buffer
	n, err := io.Copy(&buf, io.LimitReader(r, size))
	if err != nil {
		return nil, fmt.Errorf("idx: %w", truncated(err))
	}
	if n != size {
		return nil, fmt.Errorf("idx: truncated: %d bytes of data, want %d for shape %v", n, size,
			x.Shape)
	}
	if extra, _ := io.Copy(io.Discard, io.LimitReader(r, 1)); extra > 0 {
		return nil, fmt.Errorf("idx: data goes on after the %d bytes that shape %v needs", size,
			x.Shape)
	}
	x.Data = buf.Bytes()
	swapBytes(x.Data, typ.Size())
	return x, nil
}

// swapBytes reverses every group of n bytes.
func swapBytes(b []byte, n int) {
	for i := 0; n > 1 && i+n <= len(b); i += n {
		for l, r := i, i+n-1; l < r; l, r = l+1, r-1 {
			b[l], b[r] = b[r], b[l]
		}
	}
}

// ReadIDXFile decodes an idx file, which may be gzipped.
func ReadIDXFile(path string) (*IDX, error) { return readIDXFile(nil, path) }

// readIDXFile reads a file of fsys; nil is the file system of the machine.
func readIDXFile(fsys fs.FS, path string) (*IDX, error) {
	var f io.ReadCloser
	var err error
	if fsys == nil {
		f, err = os.Open(path)
	} else {
		f, err = fsys.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("idx: %w", err)
	}
	defer f.Close()
	r, err := gunzip(f)
	if err != nil {
		return nil, fmt.Errorf("idx: %s: %w", path, err)
	}
	x, err := ReadIDX(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

// gunzip decompresses r if it begins with gzip's magic number.
func gunzip(r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	head, err := br.Peek(2)
	if err != nil || head[0] != 0x1f || head[1] != 0x8b {
		return br, nil
	}
	return gzip.NewReader(br)
}

// truncated replaces the two errors for the end of a stream by one text, "truncated".
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("truncated: %w", io.ErrUnexpectedEOF)
	}
	return err
}
