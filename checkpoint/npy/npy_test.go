package npy_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/dtype"
	"gomx/internal/hostile"
	nd "gomx/ndarray"
)

// TestReadsNumpy compares the arrays of files of numpy.savez with values that NumPy printed: all
// types, orders of bytes and of axes, scalars and empty arrays.
func TestReadsNumpy(t *testing.T) {
	text, err := os.ReadFile("testdata/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct {
		Shape  []int
		Values []float64
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "again.npz")
	list, err := npy.LoadZip("testdata/plain.npz")
	if err != nil {
		t.Fatal(err)
	}
	if err := npy.SaveZip(again, list); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"testdata/plain.npz", "testdata/packed.npz", again} {
		list, err := npy.LoadZip(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != len(want) || len(want) != 68 {
			t.Errorf("%s: %d arrays, want %d = 68", path, len(list), len(want))
		}
		for _, n := range list {
			w, ok := want[n.Name]
			got, err := n.Array.Float64s()
			if !ok || err != nil || !slices.Equal(n.Array.Shape(), w.Shape) ||
				!slices.Equal(got, w.Values) {
				t.Errorf("%s: %s: got %v %v, %v, want %v", path, n.Name, n.Array.Shape(), got, err, w)
			}
		}
	}
}

// TestWritesAsNumpy reads files of numpy.save and writes the same bytes.
func TestWritesAsNumpy(t *testing.T) {
	for _, name := range []string{"matrix", "scalar", "vector", "halves"} {
		a, err := npy.Load("testdata/" + name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "again.npy")
		if err := npy.Save(path, a); err != nil {
			t.Fatal(err)
		}
		got, _ := os.ReadFile(path)
		want, err := os.ReadFile("testdata/" + name + ".npy")
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %q, want %q, %v", name, got, want, err)
		}
	}
	a, err := npy.Load("testdata/version3.npy")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := nd.Values[uint8](a); err != nil || !slices.Equal(v, []uint8{0, 1, 2}) {
		t.Errorf("got %v, %v", v, err)
	}
}

// TestRoundTrips writes random records of all types and reads them.
func TestRoundTrips(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for ty := dtype.Float32; ty.Valid(); ty++ {
		for range 10 {
			shape := dtype.Shape{}
			for range rng.IntN(4) {
				shape = append(shape, rng.IntN(5))
			}
			r := &checkpoint.Record{DType: ty, Shape: shape,
				Data: make([]byte, shape.Size()*ty.Size())}
			for i := range r.Data {
				r.Data[i] = byte(rng.Uint32())
			}
			var b bytes.Buffer
			if err := npy.Write(&b, r); err != nil {
				t.Fatal(err)
			}
			if head := b.Len() - len(r.Data); head%64 != 0 {
				t.Errorf("%v: header of %d bytes, want a multiple of 64", shape, head)
			}
			got, err := npy.Read(&b)
			if err != nil || got.DType != ty || !got.Shape.Equal(shape) ||
				!bytes.Equal(got.Data, r.Data) {
				t.Errorf("got %v, %v, want %v", got, err, r)
			}
		}
	}
}

func TestBadFiles(t *testing.T) {
	file := func(version byte, text string) []byte {
		b := append([]byte("\x93NUMPY"), version, 0, byte(len(text)), byte(len(text)>>8))
		if version > 1 {
			b = append(b, 0, 0)
		}
		return append(b, text...)
	}
	complex64, _ := os.ReadFile("testdata/complex.npy")
	record, _ := os.ReadFile("testdata/record.npy")
	array := func(more string) []byte {
		return file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': "+more)
	}
	for want, f := range map[string][]byte{
		"truncated":                 []byte("\x93NUM"),
		`begins with "PK`:           []byte("PK01234567890"),
		"version 4.0":               file(4, ""),
		`elements of type "<c8"`:    complex64,
		"elements are records":      record,
		"header claims 16777216":    append([]byte("\x93NUMPY\x02\x00"), 0, 0, 0, 1),
		"want the keys descr":       file(1, "{'descr': '<f4'}"),
		"occurs twice":              file(1, "{'descr': '<f4', 'descr': '<f4'}"),
		`the key "x"`:               file(1, "{'x': 1}"),
		"want an extent":            array("(-1,)}"),
		"want True or False":        file(1, "{'fortran_order': 1}"),
		"want a tuple":              file(1, "{'shape': [1]}"),
		"want the end":              array("()} x"),
		"no memory can hold":        array("(4611686018427387904, 9)}"),
		"wants 4 bytes: truncated":  file(2, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
		"wants 40 bytes: truncated": append(array("(2, 5L)}"), "abc"...),
	} {
		_, err := npy.Read(bytes.NewReader(f))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.npz")
	two := []checkpoint.Named{{Name: "a", Array: nd.Zeros(nd.Shape{1})}, {Name: "a",
		Array: nd.Zeros(nd.Shape{1})}}
	if err := npy.SaveZip(path, two); err == nil || !strings.Contains(err.Error(), `named "a"`) {
		t.Errorf("got %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("files %v are left, want none", files)
	}
}

func read(file []byte) error {
	_, err := npy.Read(bytes.NewReader(file))
	return err
}

func readZip(file []byte) error {
	a, err := npy.NewArchive(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	for i := range a.Names() {
		if _, err := a.Record(i); err != nil {
			return err
		}
	}
	return nil
}

func seeds(t testing.TB, names ...string) (list [][]byte) {
	for _, name := range names {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

func TestHostile(t *testing.T) {
	npys := seeds(t, "matrix.npy", "scalar.npy", "vector.npy", "version3.npy")
	hostile.Kind{Name: ".npy", Seeds: npys, Decode: read}.Run(t)
	hostile.Kind{Name: ".npy text", Seeds: npys, Decode: read, Text: true}.Run(t)
	hostile.Kind{Name: ".npz", Seeds: seeds(t, "plain.npz", "packed.npz"), Decode: readZip}.Run(t)
}

func FuzzRead(f *testing.F) {
	for _, s := range seeds(f, "matrix.npy", "vector.npy", "version3.npy") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := npy.Read(bytes.NewReader(file))
		if err == nil && len(r.Data) != r.Shape.Size()*r.DType.Size() {
			t.Errorf("%d bytes for %v %v", len(r.Data), r.DType, r.Shape)
		}
	})
}

func FuzzArchive(f *testing.F) {
	for _, s := range seeds(f, "plain.npz", "packed.npz") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file []byte) { _ = readZip(file) })
}
