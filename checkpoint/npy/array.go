package npy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"gomx/checkpoint"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// Read reads a .npy file. Its values are little endian and in C's order in the result, whose name
// is empty. Read does not read beyond the array.
func Read(r io.Reader) (*checkpoint.Record, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	values, err := readValues(r, h.bytes)
	if err != nil {
		return nil, fmt.Errorf("npy: %v %v wants %d bytes: %w", h.DType, h.Shape, h.bytes, short(err))
	}
	size := h.DType.Size()
	if h.Big {
		for i := 0; i < len(values); i += size {
			slices.Reverse(values[i : i+size])
		}
	}
	if h.Fortran && len(h.Shape) > 1 {
		values = transpose(values, size, h.Shape)
	}
	return &checkpoint.Record{DType: h.DType, Shape: h.Shape, Data: values}, nil
}

// piece is the number of bytes by which memory grows while an array is read: a file that claims
// more than it holds takes no more than one piece too much.
const piece = 1 << 20

// readValues reads n bytes. Its memory grows with the bytes that r has.
func readValues(r io.Reader, n int64) ([]byte, error) {
	values := make([]byte, 0, min(n, piece))
	for int64(len(values)) < n {
		more := int(min(n-int64(len(values)), max(piece, int64(len(values))/2)))
		values = slices.Grow(values, more)
		got, err := io.ReadFull(r, values[len(values):len(values)+more])
		values = values[:len(values)+got]
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// transpose returns values in C's order of values in Fortran's order.
func transpose(values []byte, size int, shape dtype.Shape) []byte {
	out := make([]byte, len(values))
	strides, stride := make([]int, len(shape)), size
	for i, d := range shape {
		strides[i], stride = stride, stride*d
	}
	at, from := make([]int, len(shape)), 0
	for to := 0; to < len(out); to += size {
		copy(out[to:to+size], values[from:])
		for i := len(shape) - 1; i >= 0; i-- {
			at[i]++
			from += strides[i]
			if at[i] < shape[i] {
				break
			}
			from -= at[i] * strides[i]
			at[i] = 0
		}
	}
	return out
}

// Write writes a dense record as a .npy file.
func Write(w io.Writer, r *checkpoint.Record) error {
	switch {
	case r.Shape == nil:
		return fmt.Errorf("npy: array %q has no shape", r.Name)
	case r.Stype != checkpoint.Dense:
		return fmt.Errorf("npy: array %q has storage type %v, want a dense array", r.Name, r.Stype)
	}
	head, err := headerBytes(r.DType, r.Shape)
	if err != nil {
		return fmt.Errorf("npy: array %q: %w", r.Name, err)
	}
	if want := r.Shape.Size() * r.DType.Size(); len(r.Data) != want {
		return fmt.Errorf("npy: array %q: %d bytes of values, want %d for %v %v", r.Name, len(r.Data),
			want, r.DType, r.Shape)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err = w.Write(r.Data)
	return err
}

// Load reads the .npy file at path onto the processor.
func Load(path string) (*nd.Array, error) {
	r, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return arrayOf(r)
}

// ReadFile reads the .npy file at path.
func ReadFile(path string) (*checkpoint.Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	defer f.Close()
	b := bufio.NewReader(f)
	r, err := Read(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := b.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: npy: bytes behind the array, want none", path)
	}
	return r, nil
}

// Save writes an array to a .npy file and waits for its values. An error or a crash leaves the
// previous content of path.
func Save(path string, a *nd.Array) error {
	return checkpoint.WriteFile(path, func(w io.Writer) error {
		r, err := recordOf("", a)
		if err != nil {
			return err
		}
		return Write(w, r)
	})
}

// arrayOf makes an array of a record.
func arrayOf(r *checkpoint.Record) (a *nd.Array, err error) {
	defer op.Recover(&err)
	a = nd.Empty(r.Shape, nd.As(r.DType))
	return a, a.WriteBytes(r.Data)
}

// recordOf waits for the values of an array.
func recordOf(name string, a *nd.Array) (r *checkpoint.Record, err error) {
	defer op.Recover(&err)
	if a == nil || a.Storage() != nd.Dense {
		return nil, fmt.Errorf("npy: array %q, want a dense array", name)
	}
	r = &checkpoint.Record{Name: name, DType: a.DType(), Shape: append(dtype.Shape{}, a.Shape()...),
		Data: make([]byte, a.Bytes())}
	return r, a.ReadBytes(context.Background(), r.Data)
}
