package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/dtype"
)

// words packs numbers little endian: uint32, uint64, float32 and strings (as their bytes).
func words(list ...any) []byte {
	var b bytes.Buffer
	for _, v := range list {
		if s, ok := v.(string); ok {
			b.WriteString(s)
			continue
		}
		binary.Write(&b, binary.LittleEndian, v)
	}
	return b.Bytes()
}

type u32 = uint32
type u64 = uint64

// files are lists assembled byte by byte.
func files() map[string][]byte {
	head := func(n u64) []byte { return words(u64(0x112), u64(0), n) }
	v0 := words(u32(2), u32(2), u32(1), u32(1), u32(0), u32(0), float32(3), float32(4))
	v1 := words(u32(0xF993fac8), u32(1), u64(2), u32(2), u32(0), u32(4), u32(5), u32(6))
	v2 := words(u32(0xF993fac9), u32(0), u32(1), u64(3), u32(1), u32(0), u32(3), "abc")
	none := words(u32(0xF993fac9), u32(0), u32(0))
	v3 := words(u32(0xF993faca), u32(0), u32(0), u32(1), u32(0), u32(0), float32(2.5))
	rows := words(u32(0xF993fac9), u32(1), u32(2), u64(1), u64(2), u32(2), u64(3), u64(2), u32(1),
		u32(0), u32(0), u32(6), u32(1), u64(1), float32(7), float32(8), u64(2))
	csr := words(u32(0xF993fac9), u32(2), u32(1), u64(2), u32(2), u64(2), u64(3), u32(1), u32(0),
		u32(0),
		u32(6), u32(1), u64(3), u32(6), u32(1), u64(2), float32(1), float32(2), u64(0), u64(1),
		u64(2), u64(2), u64(0))
	join := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	return map[string][]byte{
		"v0":    join(head(1), v0, words(u64(1), u64(1), "a")),
		"v1":    join(head(1), v1, words(u64(0))),
		"v2":    join(head(2), v2, none, words(u64(2), u64(5), "arg:x", u64(1), "n")),
		"v3":    join(head(1), v3, words(u64(1), u64(1), "s")),
		"rows":  join(head(1), rows, words(u64(1), u64(1), "r")),
		"csr":   join(head(1), csr, words(u64(1), u64(1), "c")),
		"empty": join(head(0), words(u64(0))),
	}
}

func TestReadList(t *testing.T) {
	tests := []struct {
		file    string
		version checkpoint.Version
		shape   dtype.Shape
		dtype   dtype.Type
		dense   []byte
	}{
		{"v0", checkpoint.V0, dtype.Shape{2, 1}, dtype.Float32, words(float32(3), float32(4))},
		{"v1", checkpoint.V1, dtype.Shape{2}, dtype.Int32, words(u32(5), u32(6))},
		{"v2", checkpoint.V2, dtype.Shape{3}, dtype.Uint8, []byte("abc")},
		{"v3", checkpoint.V3, dtype.Shape{}, dtype.Float32, words(float32(2.5))},
		{"rows", checkpoint.V2, dtype.Shape{3, 2}, dtype.Float32, words(float32(0), float32(0),
			float32(0), float32(0), float32(7), float32(8))},
		{"csr", checkpoint.V2, dtype.Shape{2, 3}, dtype.Float32, words(float32(0), float32(0),
			float32(1), float32(2), float32(0), float32(0))},
	}
	for _, tt := range tests {
		for _, size := range []int64{int64(len(files()[tt.file])), -1} {
			t.Run(tt.file, func(t *testing.T) {
				list, named, err := checkpoint.ReadList(bytes.NewReader(files()[tt.file]), size)
				if err != nil {
					t.Fatal(err)
				}
				r := list[0]
				if named == (r.Name == "") || r.Version != tt.version || !r.Shape.Equal(tt.shape) ||
					r.DType != tt.dtype {
					t.Errorf("got %+v (named %t), want %+v", r, named, tt)
				}
				d, err := r.Dense(1 << 20)
				if err != nil || !bytes.Equal(d.Data, tt.dense) {
					t.Errorf("got dense %x, %v, want %x", d.Data, err, tt.dense)
				}
			})
		}
	}
}

func TestWriteListIsTheSameBytes(t *testing.T) {
	for name, data := range files() {
		if name == "v0" || name == "v1" {
			continue
		}
		list, _, err := checkpoint.ReadList(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := checkpoint.WriteList(&b, list); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), data) {
			t.Errorf("%s: got\n%x, want\n%x", name, b.Bytes(), data)
		}
	}
}

func TestTruncated(t *testing.T) {
	for name, data := range files() {
		for n := range data {
			_, _, err := checkpoint.ReadList(bytes.NewReader(data[:n]), int64(n))
			if err == nil {
				t.Errorf("%s: no error for the first %d of %d bytes", name, n, len(data))
			}
			if _, _, err := checkpoint.ReadList(bytes.NewReader(data[:n]), -1); !errors.Is(err,
				io.ErrUnexpectedEOF) {
				t.Errorf("%s: got %v for the first %d of %d bytes, want an unexpected EOF", name,
					err, n, len(data))
			}
		}
	}
}

func TestErrors(t *testing.T) {
	head := words(u64(0x112), u64(0), u64(1))
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "truncated at byte 0 of 0: header wants 8 bytes, 0 left"},
		{"zip", words(u64(0x04034b50), u64(0), u64(0)), "want 0x112: this is a zip archive"},
		{"count", words(u64(0x112), u64(0), u64(1)<<60), "claims 1152921504606846976 arrays"},
		{"data", slices.Concat(head, words(u32(0xF993fac9), u32(0), u32(2), u64(10), u64(10),
			u32(1), u32(0), u32(0), "123456789012")),
			"truncated at byte 64 of 76: array 0 of 1 (float32 (10, 10)) wants 400 bytes, 12 left"},
		{"stype", slices.Concat(head, words(u32(0xF993fac9), u32(7))), "storage type 7, want 0"},
		{"axes", slices.Concat(head, words(u32(1000))), "has 1000 axes, want at most 32"},
		{"dtype", slices.Concat(head, words(u32(1), u32(1), u32(1), u32(0), u32(99))),
			"element type 99, want at most 12"},
		{"device", slices.Concat(head, words(u32(1), u32(1), u32(9), u32(0), u32(0))),
			"device type 9"},
		{"names", words(u64(0x112), u64(0), u64(0), u64(3)), "has 3 names for 0 arrays"},
		{"trailing", append(files()["v2"], 0), "more bytes follow"},
		{"huge", slices.Concat(head, words(u32(2), ^u32(0), ^u32(0), u32(1), u32(0), u32(1))),
			"no memory can hold"},
		{"overflow", slices.Concat(head, words(u32(0xF993fac8), u32(2), u64(1)<<40, u64(1)<<40,
			u32(1), u32(0), u32(1))), "no memory can hold"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := checkpoint.ReadList(bytes.NewReader(tt.data), int64(len(tt.data)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestDenseChecksIndices(t *testing.T) {
	for _, tt := range []struct{ file, old, new, want string }{
		{"rows", string(words(u64(2), u64(1), u64(1), "r")),
			string(words(u64(3), u64(1), u64(1), "r")), "row number 3, want less than 3"},
		{"csr", string(words(u64(2), u64(0), u64(1), u64(1), "c")),
			string(words(u64(9), u64(0), u64(1), u64(1), "c")), "column number 9"},
		{"csr", string(words(u64(0), u64(1), u64(2), u64(2))),
			string(words(u64(0), u64(2), u64(1), u64(2))), "row 1 spans elements 2 to 1"},
	} {
		data := strings.Replace(string(files()[tt.file]), tt.old, tt.new, 1)
		list, _, err := checkpoint.ReadList(strings.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := list[0].Dense(1 << 20); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

func TestWriteFileKeepsTheOldOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.params")
	put := func(text string, fail error) error {
		return checkpoint.WriteFile(path, func(w io.Writer) error {
			io.WriteString(w, text)
			return fail
		})
	}
	if err := put("old", nil); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	if err := put("new", boom); !errors.Is(err, boom) {
		t.Errorf("got %v, want boom", err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "old" {
		t.Errorf("got %q, %v, want the old content", got, err)
	}
	if rest, _ := filepath.Glob(path + ".*"); len(rest) != 0 {
		t.Errorf("left over: %v", rest)
	}
}

// FuzzReadList checks that no input makes the decoder panic, and that every accepted list survives
// a round trip.
func FuzzReadList(f *testing.F) {
	for _, data := range files() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _, err := checkpoint.ReadList(bytes.NewReader(data), int64(len(data)))
		if _, _, err2 := checkpoint.ReadList(bytes.NewReader(data),
			-1); (err == nil) != (err2 == nil) {
			t.Errorf("with the size: %v, without: %v", err, err2)
		}
		if err != nil {
			return
		}
		for _, r := range list {
			r.Dense(1 << 20)
		}
		var b bytes.Buffer
		if err := checkpoint.WriteList(&b, list); err != nil {
			return // names that only some arrays have
		}
		again, _, err := checkpoint.ReadList(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil || len(again) != len(list) {
			t.Fatalf("got %d records back, %v, want %d", len(again), err, len(list))
		}
		for i, r := range again {
			if r.Name != list[i].Name || !bytes.Equal(r.Data, list[i].Data) ||
				!r.Shape.Equal(list[i].Shape) {
				t.Errorf("record %d came back as %+v, want %+v", i, r, list[i])
			}
		}
	})
}
