package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gomx/checkpoint"
	nd "gomx/ndarray"
)

// IndexSuffix ends the names of indices.
const IndexSuffix = ".safetensors.index.json"

// index is the content of an index.
type index struct {
	Metadata map[string]any    `json:"metadata"`
	Files    map[string]string `json:"weight_map"` // the file of each array
}

// maxIndex is the largest index in bytes.
const maxIndex = 100_000_000

// addIndex opens the files that the index at path names. It demands that they hold its arrays.
func (f *File) addIndex(path string) error {
	x, err := readIndex(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var files []string
	for _, file := range x.Files {
		files = append(files, file)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	for _, file := range files {
		if file != filepath.Base(file) || strings.ContainsAny(file, `/\`) || file == ".." {
			return fmt.Errorf("%s: file %q, want a file in the folder of the index", path, file)
		}
		if err := f.addFile(filepath.Join(filepath.Dir(path), file)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, t := range f.tensors {
		if x.Files[t.Name] != files[t.part] {
			return fmt.Errorf("%s: array %q is in %s, the index says %q", path, t.Name,
				files[t.part], x.Files[t.Name])
		}
	}
	for name, file := range x.Files {
		if _, ok := f.byName[name]; !ok {
			return fmt.Errorf("%s: %s has no array %q", path, file, name)
		}
	}
	return nil
}

// readIndex reads the index at path.
func readIndex(path string) (index, error) {
	file, err := os.Open(path)
	if err != nil {
		return index{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxIndex+1))
	if err != nil {
		return index{}, err
	}
	if len(text) > maxIndex {
		return index{}, fmt.Errorf("more than %d bytes, want a smaller index", maxIndex)
	}
	return parseIndex(text)
}

// parseIndex decodes an index.
func parseIndex(text []byte) (index, error) {
	x := index{Files: map[string]string{}}
	d := json.NewDecoder(bytes.NewReader(text))
	found := false
	err := object(d, func(name string) error {
		switch name {
		case "metadata":
			return jsonError(d.Decode(&x.Metadata))
		case "weight_map":
			found = true
			return object(d, func(name string) error {
				var file string
				err := jsonError(d.Decode(&file))
				x.Files[name] = file
				return err
			})
		}
		var other any
		return jsonError(d.Decode(&other))
	})
	if err == nil && !found {
		err = fmt.Errorf("no weight_map, which an index has")
	}
	return x, err
}

// Shards divides the list into parts of at most limit bytes each, in its order; an array that is
// larger gets a part of its own.
func Shards(list []Tensor, limit int64) [][]Tensor {
	var parts [][]Tensor
	left := int64(-1)
	for _, t := range list {
		if t.Bytes > left || len(parts) == 0 {
			parts, left = append(parts, nil), limit
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], t)
		left -= t.Bytes
	}
	return parts
}

// ShardPath is the path of file i of n, counted from 0, for the index at path: the names are
// model-00001-of-00003.safetensors for model.safetensors.index.json.
func ShardPath(path string, i, n int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.safetensors", strings.TrimSuffix(path, IndexSuffix), i+1, n)
}

// SaveShards writes arrays to several files with at most limit bytes of values each, and then the
// index at path, whose name ends in IndexSuffix. Each file appears completely or not at all, the
// index last. Files of an earlier model with more parts stay.
func SaveShards(path string, arrays map[string]*nd.Array, limit int64, opts ...SaveOption) error {
	list, err := describe(arrays)
	if err != nil {
		return err
	}
	if err := CheckShards(path, limit); err != nil {
		return err
	}
	parts := Shards(list, limit)
	for i, part := range parts {
		if err := save(ShardPath(path, i, len(parts)), part, arrays, opts); err != nil {
			return err
		}
	}
	return WriteIndex(path, parts)
}

// CheckShards returns an error if there can be no index at path, or no files of at most limit
// bytes.
func CheckShards(path string, limit int64) error {
	if !strings.HasSuffix(path, IndexSuffix) {
		return fmt.Errorf("safetensors: index %q, want a name that ends in %s", path, IndexSuffix)
	}
	if limit <= 0 {
		return fmt.Errorf("safetensors: files of at most %d bytes, want more than 0", limit)
	}
	return nil
}

// WriteIndex writes the index at path for the files at ShardPath.
func WriteIndex(path string, parts [][]Tensor) error {
	x, total := index{Files: map[string]string{}}, int64(0)
	for i, part := range parts {
		for _, t := range part {
			x.Files[t.Name] = filepath.Base(ShardPath(path, i, len(parts)))
			total += t.Bytes
		}
	}
	x.Metadata = map[string]any{"total_size": total}
	return checkpoint.WriteFile(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(x)
	})
}
