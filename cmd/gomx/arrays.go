package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/checkpoint/safetensors"
	"gomx/dtype"
)

// formats are the ends of names of files of arrays and models.
var formats = []string{".params", ".npz", ".npy", safetensors.IndexSuffix, ".safetensors", ".onnx",
	symbolEnd}

// formatOf returns the format of a file of arrays or of a model by its name, "" if it is none.
func formatOf(path string) string {
	for _, f := range formats {
		if strings.HasSuffix(path, f) {
			return f
		}
	}
	return ""
}

// arrays is an open file of arrays.
type arrays struct {
	list     []safetensors.Tensor
	metadata map[string]string // of .safetensors, else nil
	// record reads array i of list. The values are valid until close.
	record func(i int) (*checkpoint.Record, error)
	close  func() error
}

// add appends a description to the list.
func (s *arrays) add(name string, t dtype.Type, shape dtype.Shape) {
	s.list = append(s.list, safetensors.Tensor{Name: name, Type: t.String(), DType: t, Shape: shape,
		Bytes: int64(shape.Size() * t.Size())})
}

// openArrays opens a file of arrays for a conversion.
func openArrays(path string) (*arrays, error) {
	switch formatOf(path) {
	case ".params":
		return openParams(path)
	case ".npz":
		return openZip(path)
	case ".safetensors", safetensors.IndexSuffix:
		return openSafe(path)
	}
	return nil, usageError{fmt.Errorf("IN %s, want a name that ends in .params, .npz, .safetensors "+
		"or %s", path, safetensors.IndexSuffix)}
}

// openParams reads a file of MXNet, whose arrays are dense.
func openParams(path string) (*arrays, error) {
	list, _, err := checkpoint.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &arrays{close: func() error { return nil }}
	s.record = func(i int) (*checkpoint.Record, error) { return list[i], nil }
	for i, r := range list {
		if r.Shape == nil || r.Stype != checkpoint.Dense {
			return nil, fmt.Errorf("%s: array %d %q has storage type %v and shape %v, want dense "+
				"arrays with shapes", path, i, r.Name, r.Stype, r.Shape)
		}
		s.add(r.Name, r.DType, r.Shape)
	}
	return s, nil
}

// openZip opens a file of NumPy.
func openZip(path string) (*arrays, error) {
	a, err := npy.OpenZip(path)
	if err != nil {
		return nil, err
	}
	s := &arrays{close: a.Close, record: a.Record}
	for i, name := range a.Names() {
		h, err := a.Header(i)
		if err != nil {
			a.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		s.add(name, h.DType, h.Shape)
	}
	return s, nil
}

// openSafe opens a .safetensors file, or the files of an index.
func openSafe(path string) (*arrays, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	s := &arrays{list: f.Tensors(), close: f.Close, metadata: f.Metadata()}
	names := f.Names() // a conversion renames the list
	s.record = func(i int) (*checkpoint.Record, error) {
		t, _ := f.Lookup(names[i])
		r := &checkpoint.Record{Name: t.Name, DType: t.DType, Shape: t.Shape}
		if !t.DType.Valid() {
			return nil, fmt.Errorf("%s: array %q has elements of type %s, which gomx does not have",
				path, t.Name, t.Type)
		}
		return r, f.Bytes(names[i], func(values []byte) error {
			r.Data = bytes.Clone(values)
			return nil
		})
	}
	return s, nil
}

// inspectArrays lists the arrays of a file.
func inspectArrays(path string) ([]row, error) {
	s, err := openArrays(path)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, t := range s.list {
		rows = append(rows, row{Name: t.Name, Kind: checkpoint.Dense.String(), DType: typeName(t),
			Shape: slices.Clone(t.Shape), Bytes: int(t.Bytes)})
	}
	return rows, s.close()
}

// typeName is the name of the element type: gomx's, or the format's where gomx has none.
func typeName(t safetensors.Tensor) string {
	if t.DType.Valid() {
		return t.DType.String()
	}
	return t.Type
}

// inspectNpy describes the array of a .npy file.
func inspectNpy(path string) ([]row, error) {
	r, err := npy.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return []row{{Kind: r.Stype.String(), DType: r.DType.String(), Shape: r.Shape,
		Bytes: len(r.Data)}}, nil
}
