package io_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

// idx builds an idx file.
func idx(typ byte, shape []uint32, data ...byte) []byte {
	b := []byte{0, 0, typ, byte(len(shape))}
	for _, d := range shape {
		b = binary.BigEndian.AppendUint32(b, d)
	}
	return append(b, data...)
}

func TestReadIDX(t *testing.T) {
	x, err := dataio.ReadIDX(bytes.NewReader(idx(0x0c, []uint32{1, 2}, 0, 0, 1, 2, 255, 255, 255,
		254)))
	if err != nil {
		t.Fatal(err)
	}
	a := nd.Empty(x.Shape, nd.As(x.DType))
	if err := a.WriteBytes(x.Data); err != nil {
		t.Fatal(err)
	}
	if v, err := a.Float64s(); err != nil || v[0] != 258 || v[1] != -2 {
		t.Errorf("%v, %v, want [258 -2]", v, err)
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "truncated"},
		{"magic", []byte{1, 2, 3, 4}, "magic number 0x01020304"},
		{"type", idx(0x0a, nil), "magic number"},
		{"no extents", []byte{0, 0, 8, 2, 0}, "extent 0 of 2: truncated"},
		{"no data", idx(8, []uint32{3}, 1, 2), "truncated: 2 bytes of data, want 3"},
		{"too much", idx(8, []uint32{1}, 1, 2), "goes on"},
		{"huge", idx(8, []uint32{1 << 31, 1 << 31, 1 << 31}), "claim more than"},
		{"large and empty", idx(8, []uint32{1 << 30}), "truncated"},
	} {
		if _, err := dataio.ReadIDX(bytes.NewReader(c.file)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzReadIDX(f *testing.F) {
	f.Add(idx(8, []uint32{2, 2}, 1, 2, 3, 4))
	f.Add(idx(0x0d, []uint32{1}, 0, 0, 0, 0))
	f.Add(idx(8, []uint32{1 << 31, 0}))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := dataio.ReadIDX(bytes.NewReader(b))
		if err == nil && len(x.Data) != x.Shape.Size()*x.DType.Size() {
			t.Errorf("shape %v of %v with %d bytes", x.Shape, x.DType, len(x.Data))
		}
	})
}

// TestRecords writes random payloads, full of magic numbers, and reads them back.
func TestRecords(t *testing.T) {
	const seed = 4
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var file bytes.Buffer
	w := dataio.NewRecordWriter(&file)
	var want [][]byte
	for range 200 {
		var b []byte
		for range r.IntN(12) {
			if r.IntN(3) == 0 {
				b = binary.LittleEndian.AppendUint32(b, 0xced7230a)
			} else {
				b = append(b, make([]byte, r.IntN(6))...)
			}
		}
		want = append(want, b)
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if w.Offset() != int64(file.Len()) {
			t.Fatalf("offset %d after %d bytes", w.Offset(), file.Len())
		}
	}
	rd := dataio.NewRecordReader(&file)
	for i, b := range want {
		got, err := rd.Next()
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("record %d: %x, %v, want %x", i, got, err, b)
		}
	}
	if _, err := rd.Next(); err != io.EOF {
		t.Errorf("end: %v, want io.EOF", err)
	}
}

func FuzzRecords(f *testing.F) {
	var file bytes.Buffer
	w := dataio.NewRecordWriter(&file)
	_ = w.Write([]byte("hello"))
	_ = w.Write([]byte{10, 0x23, 0xd7, 0xce, 1})
	f.Add(file.Bytes())
	f.Add([]byte{10, 0x23, 0xd7, 0xce, 255, 255, 255, 31})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := dataio.NewRecordReader(bytes.NewReader(b))
		for {
			p, err := r.Next()
			if err != nil {
				return
			}
			if _, _, err := dataio.UnpackRecord(p); err == nil && len(p) < 24 {
				t.Error("a header in fewer than 24 bytes")
			}
		}
	})
}

// TestTextErrors reads damaged files; errors name the file, the line and the column.
func TestTextErrors(t *testing.T) {
	file := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name, content, want string
		svm                 bool
	}{
		{"width", "1,2\n1,2,3\n", "width:2:4: 3 values, want 2", false},
		{"number", "1,2\n\n1,x\n", `number:3:3: found "x", want a number`, false},
		{"empty", "", "no samples", false},
		{"pair", "1 0:2\n1 nonsense\n", `pair:2:3: found "nonsense", want an index:value`, true},
		{"index", "1 2:2\n", "index:1:3: index 2, want 0 to 1", true},
		{"label", "# 1\nx 0:1\n", `label:2:1: found "x", want a label`, true},
		{"blank", "\n#\n", "blank has no samples", true},
	} {
		cfg := dataio.TextConfig{Data: file(c.name, c.content), DataShape: nd.Shape{2}}
		open := func() (*dataio.TextIter, error) {
			return dataio.CSVIter(dataio.CSVConfig{TextConfig: cfg})
		}
		if c.svm {
			open = func() (*dataio.TextIter, error) {
				return dataio.LibSVMIter(dataio.LibSVMConfig{TextConfig: cfg})
			}
		}
		it, err := open()
		for err == nil {
			_, err = it.Next(t.Context())
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if it == nil {
			continue
		}
		if err := it.Close(); err != nil {
			t.Error(err)
		}
	}
}
