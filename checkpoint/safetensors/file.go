package safetensors

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	nd "gomx/ndarray"
	"gomx/op"
)

// File is an open file, or all files of an index. Its methods may be called by several goroutines.
type File struct {
	tensors []Tensor
	byName  map[string]int // places in tensors
	meta    map[string]string

	mu    sync.RWMutex
	parts []part // nil once the file is closed
}

// part is one file of a File.
type part struct {
	file   []byte
	values int64  // offset of the values in file
	unmap  func() // releases file
}

// Open opens the file at path. The name of an index ends in .json: Open then opens the files that
// it names, which lie in its folder.
func Open(path string) (*File, error) {
	f := &File{byName: map[string]int{}, meta: map[string]string{}}
	var err error
	if strings.HasSuffix(path, ".json") {
		err = f.addIndex(path)
	} else {
		err = f.addFile(path)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

// Parse reads a file from memory, which stays in use until the result is closed.
func Parse(file []byte) (*File, error) {
	f := &File{byName: map[string]int{}, meta: map[string]string{}}
	if err := f.add(file, func() {}); err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

// addFile maps the file at path.
func (f *File) addFile(path string) error {
	file, unmap, err := mapFile(path)
	if err != nil {
		return err
	}
	if err := f.add(file, unmap); err != nil {
		unmap()
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// add takes over a file if there is no error.
func (f *File) add(file []byte, unmap func()) error {
	h, err := parse(file)
	if err != nil {
		return err
	}
	for _, t := range h.tensors {
		if i, dup := f.byName[t.Name]; dup {
			return fmt.Errorf("array %q is in file %d of the index too, want different names",
				t.Name,
				f.tensors[i].part)
		}
	}
	for _, t := range h.tensors {
		t.part = len(f.parts)
		f.byName[t.Name] = len(f.tensors)
		f.tensors = append(f.tensors, t)
	}
	maps.Copy(f.meta, h.meta)
	f.parts = append(f.parts, part{file, h.size, unmap})
	return nil
}

// Close ends the use of the file. Arrays that were read stay; slices of Bytes must not be used any
// more. A second call does nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.parts {
		p.unmap()
	}
	f.parts = nil
	return nil
}

// Metadata returns the pairs of strings under __metadata__.
func (f *File) Metadata() map[string]string { return maps.Clone(f.meta) }

// Names returns the names of the arrays in the order of their values.
func (f *File) Names() []string {
	names := make([]string, len(f.tensors))
	for i, t := range f.tensors {
		names[i] = t.Name
	}
	return names
}

// Tensors describes the arrays in the order of their values.
func (f *File) Tensors() []Tensor { return slices.Clone(f.tensors) }

// Lookup describes the array with a name.
func (f *File) Lookup(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return f.tensors[i], true
}

// Bytes calls use with the values of an array as they lie in the file, little endian and row-major.
// The slice is valid until use returns, and must not be changed.
func (f *File) Bytes(name string, use func(values []byte) error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	i, ok := f.byName[name]
	switch {
	case f.parts == nil:
		return errors.New("safetensors: the file is closed")
	case !ok:
		return fmt.Errorf("safetensors: no array %q, there are %d: %s",
			name, len(f.tensors), f.some())
	}
	t := f.tensors[i]
	p := f.parts[t.part]
	return use(p.file[p.values+t.begin:][:t.Bytes:t.Bytes])
}

// some lists the first names.
func (f *File) some() string {
	names := f.Names()
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// Array reads an array onto the processor.
func (f *File) Array(name string) (a *nd.Array, err error) {
	defer op.Recover(&err)
	err = f.Bytes(name, func(values []byte) error {
		t, _ := f.Lookup(name)
		if !t.DType.Valid() {
			return fmt.Errorf("safetensors: array %q has elements of type %s, which gomx does not "+
				"have", name, t.Type)
		}
		a = nd.Empty(t.Shape, nd.As(t.DType))
		return a.WriteBytes(values)
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Arrays reads the named arrays, or all arrays if no name is given.
func (f *File) Arrays(names ...string) (map[string]*nd.Array, error) {
	if len(names) == 0 {
		names = f.Names()
	}
	arrays := map[string]*nd.Array{}
	for _, name := range names {
		if arrays[name] != nil {
			continue
		}
		a, err := f.Array(name)
		if err != nil {
			for _, a := range arrays {
				a.Close()
			}
			return nil, err
		}
		arrays[name] = a
	}
	return arrays, nil
}

// Load reads all arrays of a file, or of all files of an index.
func Load(path string) (map[string]*nd.Array, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	arrays, err := f.Arrays()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return arrays, nil
}
