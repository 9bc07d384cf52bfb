package safetensors

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"gomx/checkpoint"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// Order sorts descriptions as Python's library orders the arrays of a file: by element type, the
// larger first, then by name.
func Order(list []Tensor) {
	rank := func(t Tensor) int {
		i, err := kindOf(t.DType)
		if err != nil {
			return -1
		}
		return i
	}
	slices.SortFunc(list, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), strings.Compare(a.Name, b.Name))
	})
}

// Write writes a file of arrays, of which Name, DType and Shape are given, in the order of the
// list. It calls data once for each array in this order; the result is the array's values, little
// endian and row-major. Metadata may be nil.
func Write(w io.Writer, list []Tensor, metadata map[string]string,
	data func(i int) ([]byte, error)) error {
	text, sizes, err := headerText(list, metadata)
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(text)))
	for _, part := range [][]byte{n[:], text} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	for i, t := range list {
		values, err := data(i)
		if err != nil {
			return err
		}
		if int64(len(values)) != sizes[i] {
			return fmt.Errorf("safetensors: array %q: %d bytes of values, want %d for shape %v "+
				"of %v", t.Name, len(values), sizes[i], t.Shape, t.DType)
		}
		if _, err := w.Write(values); err != nil {
			return err
		}
	}
	return nil
}

// entry is the description of an array in a header.
type entry struct {
	Type  string   `json:"dtype"`
	Shape []int    `json:"shape"`
	Place [2]int64 `json:"data_offsets"`
}

// headerText returns the header of a file, with blanks up to a multiple of 8 bytes, and the sizes
// of the arrays.
func headerText(list []Tensor, metadata map[string]string) (text []byte, sizes []int64, err error) {
	text, at := []byte("{"), int64(0)
	add := func(name string, v any) error {
		if len(text) > 1 {
			text = append(text, ',')
		}
		for i, v := range []any{name, v} {
			var b strings.Builder
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(v); err != nil {
				return err
			}
			if i == 1 {
				text = append(text, ':')
			}
			text = append(text, strings.TrimSuffix(b.String(), "\n")...)
		}
		return nil
	}
	if len(metadata) > 0 {
		if err := add(metadataKey, metadata); err != nil {
			return nil, nil, err
		}
	}
	seen := map[string]bool{metadataKey: true}
	for _, t := range list {
		i, err := kindOf(t.DType)
		n, ok := kinds[i].bytesOf(t.Shape)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("array %q: %w", t.Name, err)
		case !utf8.ValidString(t.Name):
			return nil, nil, fmt.Errorf("array %q: the name is not valid UTF-8", t.Name)
		case seen[t.Name]:
			return nil, nil, fmt.Errorf("the name %q occurs twice or is not allowed", t.Name)
		case !ok:
			return nil, nil, fmt.Errorf("array %q: shape %v is too large", t.Name, t.Shape)
		}
		seen[t.Name] = true
		if err := add(t.Name, entry{kinds[i].name, append([]int{}, t.Shape...),
			[2]int64{at, at + n}}); err != nil {
			return nil, nil, err
		}
		at, sizes = at+n, append(sizes, n)
	}
	text = append(text, '}')
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	if len(text) > maxHeader {
		return nil, nil, fmt.Errorf("the header has %d bytes, want at most %d", len(text),
			maxHeader)
	}
	return text, sizes, nil
}

// SaveOption is an option of Save and SaveShards.
type SaveOption func(*saving)

type saving struct{ metadata map[string]string }

// Metadata puts pairs of strings into the file, such as format: pt.
func Metadata(pairs map[string]string) SaveOption {
	return func(s *saving) { s.metadata = maps.Clone(pairs) }
}

// Save writes arrays to a file and waits for their values. An error or a crash leaves the previous
// content of path. Arrays must be dense.
func Save(path string, arrays map[string]*nd.Array, opts ...SaveOption) error {
	list, err := describe(arrays)
	if err != nil {
		return err
	}
	return save(path, list, arrays, opts)
}

// save writes the listed arrays.
func save(path string, list []Tensor, arrays map[string]*nd.Array, opts []SaveOption) error {
	var s saving
	for _, o := range opts {
		o(&s)
	}
	var buf []byte
	return checkpoint.WriteFile(path, func(w io.Writer) (err error) {
		defer op.Recover(&err)
		return Write(w, list, s.metadata, func(i int) ([]byte, error) {
			a := arrays[list[i].Name]
			buf = slices.Grow(buf[:0], a.Bytes())[:a.Bytes()]
			if err := a.ReadBytes(context.Background(), buf); err != nil {
				return nil, fmt.Errorf("array %q: %w", list[i].Name, err)
			}
			return buf, nil
		})
	})
}

// describe lists arrays in the order of a file.
func describe(arrays map[string]*nd.Array) ([]Tensor, error) {
	var list []Tensor
	for name, a := range arrays {
		if a == nil {
			return nil, fmt.Errorf("safetensors: array %q is nil", name)
		}
		if a.Storage() != nd.Dense {
			return nil, fmt.Errorf("safetensors: array %q has storage type %v, want a dense array",
				name, checkpoint.Stype(a.Storage()))
		}
		list = append(list, Tensor{Name: name, DType: a.DType(),
			Shape: append(dtype.Shape{}, a.Shape()...), Bytes: int64(a.Bytes())})
	}
	Order(list)
	return list, nil
}
