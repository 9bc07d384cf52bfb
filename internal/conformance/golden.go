package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sbinet/npyio/npy"
	"github.com/sbinet/npyio/npz"

	"gomx/dtype"
)

// Golden is a folder of golden data. It keeps the archives that it reads open. It is used by one
// goroutine at a time.
type Golden struct {
	dir      string
	archives map[string]*npz.Reader
}

// Open returns the golden folder at dir.
func Open(dir string) (*Golden, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("conformance: golden folder: %w", err)
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("conformance: golden folder: %s is a file", dir)
	}
	return &Golden{dir: dir, archives: map[string]*npz.Reader{}}, nil
}

// Close closes the archives.
func (g *Golden) Close() error {
	var first error
	for name, r := range g.archives {
		if err := r.Close(); err != nil && first == nil {
			first = err
		}
		delete(g.archives, name)
	}
	return first
}

// Path returns the path of a file of the folder, named with slashes.
func (g *Golden) Path(name string) string { return filepath.Join(g.dir, filepath.FromSlash(name)) }

// JSON decodes a file of the folder into v. A field that v does not have is an error, so that no
// part of a case is ignored.
func (g *Golden) JSON(name string, v any) error { return g.decode(name, v, decodeStrictly) }

// Part decodes only the fields of a file that v has. Tests of single packages, which use a part of
// the cases, call it; the harness itself uses JSON.
func (g *Golden) Part(name string, v any) error { return g.decode(name, v, json.Unmarshal) }

func (g *Golden) decode(name string, v any, decode func(data []byte, v any) error) error {
	data, err := os.ReadFile(g.Path(name))
	if err != nil {
		return fmt.Errorf("conformance: %w", err)
	}
	if err := decode(data, v); err != nil {
		return fmt.Errorf("conformance: %s: %w", name, err)
	}
	return nil
}

// decodeStrictly decodes JSON into v, which must have every field.
func decodeStrictly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// index is a JSON file of cases. MXNet, NumPy and Note describe its origin.
type index[C any] struct {
	MXNet, NumPy, Note string
	Cases              []C
}

// casesOf reads the cases of an index. An error in a case gives its number.
func casesOf[C any](g *Golden, name string) ([]*C, error) {
	var raw index[json.RawMessage]
	if err := g.JSON(name, &raw); err != nil {
		return nil, err
	}
	list := make([]*C, len(raw.Cases))
	for i, text := range raw.Cases {
		list[i] = new(C)
		if err := decodeStrictly(text, list[i]); err != nil {
			return nil, fmt.Errorf("conformance: %s: case %d %s: %w", name, i, nameOf(text), err)
		}
	}
	return list, nil
}

// nameOf returns the id or the name of a case that cannot be decoded.
func nameOf(text []byte) string {
	var c struct{ ID, Name, Model string }
	json.Unmarshal(text, &c) // fields of other types stay empty
	return c.ID + c.Name + c.Model
}

// Ref refers to an array of an archive.
type Ref struct {
	Name    string `json:"name"`
	Key     string `json:"key"`
	Shape   []int  `json:"shape"`
	DType   string `json:"dtype"`
	GradReq string `json:"grad_req"`
}

// Array reads the array of r from the archive file.
func (g *Golden) Array(file string, r Ref) (*Array, error) {
	a, err := g.read(file, r)
	if err != nil {
		return nil, fmt.Errorf("golden array %s of %s: %w", r.Key, file, err)
	}
	return a, nil
}

// Arrays reads several arrays of one archive.
func (g *Golden) Arrays(file string, refs []Ref) ([]*Array, error) {
	list := make([]*Array, len(refs))
	for i, r := range refs {
		a, err := g.Array(file, r)
		if err != nil {
			return nil, err
		}
		list[i] = a
	}
	return list, nil
}

func (g *Golden) read(file string, r Ref) (*Array, error) {
	t, err := dtype.Parse(r.DType)
	if err != nil {
		return nil, err
	}
	rd := g.archives[file]
	if rd == nil {
		if rd, err = npz.Open(g.Path(file)); err != nil {
			return nil, err
		}
		g.archives[file] = rd
	}
	rc, err := rd.Open(r.Key + ".npy")
	if err != nil {
		return nil, err
	}
	if rc == nil {
		return nil, fmt.Errorf("no such array")
	}
	defer rc.Close()
	return readNpy(rc, t, r.Shape)
}

// npyTypes are NumPy's spellings of the element types; float16 is stored as its bits.
var npyTypes = map[dtype.Type]string{
	dtype.Float32: "<f4", dtype.Float64: "<f8", dtype.Float16: "<u2", dtype.Uint8: "|u1",
	dtype.Int8: "|i1", dtype.Int32: "<i4", dtype.Int64: "<i8", dtype.Bool: "|b1",
}

// readNpy reads one array and compares its type and shape with the index.
func readNpy(r io.Reader, t dtype.Type, shape []int) (*Array, error) {
	h, err := npy.NewReader(r)
	if err != nil {
		return nil, err
	}
	if d := h.Header.Descr; d.Type != npyTypes[t] || d.Fortran {
		return nil, fmt.Errorf("stored as %q (Fortran order %t), want %q", d.Type, d.Fortran,
			npyTypes[t])
	}
	want := append(dtype.Shape{}, shape...)
	if got := append(dtype.Shape{}, h.Header.Descr.Shape...); !got.Equal(want) {
		return nil, fmt.Errorf("stored shape %v, want %v", got, want)
	}
	a := NewArray(t, want)
	if _, err := io.ReadFull(r, a.Data); err != nil {
		return nil, err
	}
	return a, nil
}
