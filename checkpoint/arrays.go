package checkpoint

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"gomx/op"

	nd "gomx/ndarray"
)

// Named is an array of a file with its name, which is empty in an unnamed list. Array is nil for
// MXNet's "none".
type Named struct {
	Name  string
	Array *nd.Array
}

// SaveArrays writes arrays to a file in the given order; an error or a crash leaves the file
// unchanged. If all names are empty the file is an unnamed list, otherwise each array needs a name.
// SaveArrays waits for the values.
func SaveArrays(path string, list []Named) error {
	return WriteFile(path, func(w io.Writer) error { return writeArrays(w, list) })
}

// SaveMap writes arrays to a file, sorted by name.
func SaveMap(path string, arrays map[string]*nd.Array) error {
	return SaveArrays(path, sorted("", arrays, nil))
}

// sorted lists arrays with a prefix before their names: first the names in first, then the others
// in sorted order.
func sorted(prefix string, arrays map[string]*nd.Array, first []string) []Named {
	var list []Named
	seen := map[string]bool{}
	for _, name := range slices.Concat(first, slices.Sorted(maps.Keys(arrays))) {
		if a, ok := arrays[name]; ok && !seen[name] {
			seen[name] = true
			list = append(list, Named{prefix + name, a})
		}
	}
	return list
}

func writeArrays(w io.Writer, list []Named) (err error) {
	defer op.Recover(&err)
	v3 := false
	for _, n := range list {
		v3 = v3 || n.Array != nil && (&Record{Shape: n.Array.Shape(),
			Stype: Stype(n.Array.Storage())}).needsV3()
	}
	e := NewEncoder(w, len(list), v3)
	var buf []byte
	for _, n := range list {
		r := &Record{Name: n.Name}
		if n.Array != nil && n.Array.Storage() != nd.Dense {
			if err := fillSparse(r, n.Array); err != nil {
				return err
			}
		} else if n.Array != nil {
			buf = slices.Grow(buf[:0], n.Array.Bytes())[:n.Array.Bytes()]
			if err := fillRecord(r, n.Array, buf); err != nil {
				return err
			}
		}
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return e.Close()
}

// fillRecord describes array a in r and waits for its values, which buf then holds.
func fillRecord(r *Record, a *nd.Array, buf []byte) error {
	if err := a.ReadBytes(context.Background(), buf); err != nil {
		return fmt.Errorf("array %q: %w", r.Name, err)
	}
	r.DType, r.Shape, r.Data = a.DType(), a.Shape(), buf
	return nil
}

// LoadArrays reads all arrays of a file onto the processor, with their storage types unless
// DenseLimit is given.
func LoadArrays(path string, opts ...LoadOption) ([]Named, error) {
	var list []Named
	err := readFile(path, func(r io.Reader, size int64) (err error) {
		list, err = readArrays(r, size, newRoom(size, opts))
		return err
	})
	return list, err
}

// LoadMap reads all arrays of a file in which each array has a name of its own.
func LoadMap(path string, opts ...LoadOption) (map[string]*nd.Array, error) {
	list, err := LoadArrays(path, opts...)
	if err != nil {
		return nil, err
	}
	m := map[string]*nd.Array{}
	for i, n := range list {
		if n.Name == "" {
			return nil, fmt.Errorf("checkpoint: %s: array %d has no name, want one", path, i)
		}
		if _, dup := m[n.Name]; dup {
			return nil, fmt.Errorf("checkpoint: %s: two arrays are named %q, want different names",
				path, n.Name)
		}
		m[n.Name] = n.Array
	}
	return m, nil
}

func readArrays(r io.Reader, size int64, dense *room) (list []Named, err error) {
	d, err := NewDecoder(r, size)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeAll(list)
			list = nil
		}
	}()
	for rec, err := range d.Records() {
		if err != nil {
			return list, err
		}
		a, err := rec.array(dense)
		if err != nil {
			return list, fmt.Errorf("array %d: %w", len(list), err)
		}
		list = append(list, Named{"", a})
	}
	names, err := d.Names()
	if err != nil {
		return list, err
	}
	for i, name := range names {
		list[i].Name = name
	}
	return list, nil
}

// closeAll frees the arrays of a list.
func closeAll(list []Named) {
	for _, n := range list {
		if n.Array != nil {
			n.Array.Close()
		}
	}
}

// array makes an array on the processor from a record, nil for MXNet's "none". A sparse record
// becomes a sparse array; or a dense one, whose bytes are taken from dense, if dense says so.
func (r *Record) array(dense *room) (a *nd.Array, err error) {
	defer op.Recover(&err)
	if r.Shape == nil {
		return nil, nil
	}
	if r.Stype != Dense && !dense.only {
		s, err := r.content()
		if err != nil {
			return nil, err
		}
		return nd.FromContent(s)
	}
	if r.Stype != Dense {
		n, ok := ByteSize(r.DType, r.Shape)
		if !ok {
			n = math.MaxInt64
		}
		if err := dense.take(n, r.Stype, r.DType, r.Shape); err != nil {
			return nil, err
		}
		if r, err = r.Dense(n); err != nil {
			return nil, err
		}
	}
	a = nd.Empty(r.Shape, nd.As(r.DType))
	return a, a.WriteBytes(r.Data)
}
