package safetensors_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gomx/checkpoint/safetensors"
	"gomx/dtype"
	"gomx/internal/hostile"
	nd "gomx/ndarray"
)

// TestReadsPython compares every array of a file of Python's library with the values that Python
// printed, and writes the file again, byte for byte.
func TestReadsPython(t *testing.T) {
	text, err := os.ReadFile("testdata/all.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct {
		DType  string
		Shape  []int
		Values []string
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	arrays, err := safetensors.Load("testdata/all.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if len(arrays) != 40 || len(want) != 40 {
		t.Errorf("%d arrays and %d expected ones, want 40", len(arrays), len(want))
	}
	for name, w := range want {
		a := arrays[name]
		if a.DType().String() != w.DType || !slices.Equal(a.Shape(), w.Shape) {
			t.Errorf("%s: got %v %v, want %s %v", name, a.DType(), a.Shape(), w.DType, w.Shape)
			continue
		}
		got, err := a.Float64s()
		if err != nil || len(got) != len(w.Values) {
			t.Errorf("%s: %d values, %v, want %d", name, len(got), err, len(w.Values))
			continue
		}
		for i, text := range w.Values {
			if v, err := strconv.ParseFloat(text, 64); err != nil || got[i] != v {
				t.Errorf("%s: value %d is %v, want %s", name, i, got[i], text)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "again.safetensors")
	err = safetensors.Save(path, arrays, safetensors.Metadata(map[string]string{"format": "np"}))
	if err != nil {
		t.Fatal(err)
	}
	sameFile(t, path, "testdata/all.safetensors")
	if err := safetensors.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	sameFile(t, path, "testdata/none.safetensors")
}

func sameFile(t *testing.T, got, want string) {
	t.Helper()
	a, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("%s differs from %s:\ngot  %.300q\nwant %.300q", got, want, a, b)
	}
}

func TestSubsetsAndErrorsOfNames(t *testing.T) {
	f, err := safetensors.Open("testdata/float8.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Names(); !slices.Equal(got, []string{"b", "w"}) {
		t.Errorf("names %v", got)
	}
	if w, ok := f.Lookup("w"); !ok || w.Type != "F8_E4M3" || w.DType != dtype.Unknown ||
		w.Bytes != 4 {
		t.Errorf("got %+v", w)
	}
	if a, err := f.Arrays("b", "b"); err != nil || len(a) != 1 {
		t.Errorf("got %v, %v", a, err)
	}
	_, err = f.Arrays()
	wantError(t, err, `array "w" has elements of type F8_E4M3`)
	_, err = f.Array("c")
	wantError(t, err, `no array "c", there are 2: b, w`)
	if err := f.Close(); err != nil || f.Close() != nil {
		t.Error(err)
	}
	_, err = f.Array("b")
	wantError(t, err, "the file is closed")
	_, err = safetensors.Open("testdata/absent.safetensors")
	wantError(t, err, "absent.safetensors")
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want one with %q", err, want)
	}
}

// file makes a file of a header and size bytes of values.
func file(header string, size int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, size)...)
}

func TestBadFiles(t *testing.T) {
	entry := func(name string, begin, end int) string {
		return fmt.Sprintf(`%q:{"dtype":"F32","shape":[%d],"data_offsets":[%d,%d]}`, name,
			(end-begin)/4, begin, end)
	}
	one := func(dtype, shape, place string, size int) []byte {
		return file(fmt.Sprintf(`{"a":{"dtype":%q,"shape":[%s],"data_offsets":[%s]}}`, dtype, shape,
			place), size)
	}
	for want, f := range map[string][]byte{
		"truncated: 3 bytes": []byte("abc"),
		"claims 100000001 bytes, want at most 100000000": binary.LittleEndian.AppendUint64(nil,
			100_000_001),
		"truncated: the header claims 9 bytes, 0 left":  binary.LittleEndian.AppendUint64(nil, 9),
		`begins with "[", want "{"`:                     file("[]", 0),
		`begins with "", want`:                          file("", 0),
		"not valid UTF-8":                               file("{\"\xff\":1}", 0),
		"ends early":                                    file(`{"a":`, 0),
		"invalid character":                             file(`{"a" 1}`, 0),
		"behind the object":                             file(`{}{}`, 0),
		`array "a": found 1, want an object`:            file(`{"a":1}`, 0),
		"want the fields dtype, shape and data_offsets": file(`{"a":{"dtype":"F32"}}`, 0),
		`type "F31" is not one of the format`:           one("F31", ``, "0,4", 4),
		"extent -1":                                     one("F32", `-1`, "0,4", 4),
		"data_offsets [0], want two numbers":            one("F32", ``, "0", 4),
		"data_offsets [4, 0]":                           one("F32", ``, "4,0", 4),
		"are 8 bytes, want 4":                           one("F32", ``, "0,8", 8),
		"no whole number of bytes":                      one("F4", `3`, "0,1", 1),
		"that memory can hold":                          one("F32", `4611686018427387904,8`, "0,0", 0),
		"33 axes":                                       one("U8", "1"+strings.Repeat(",1", 32), "0,1", 1),
		`"a" occurs twice`:                              file("{"+entry("a", 0, 4)+","+entry("a", 4, 8)+"}", 8),
		`inside array "a"`:                              file("{"+entry("a", 0, 8)+","+entry("b", 4, 12)+"}", 12),
		`array "b" begins at byte 8 of the values, want 4: a gap of 4 bytes`: file(
			"{"+entry("b", 8, 12)+","+entry("a", 0, 4)+"}", 12),
		`truncated: array "b" (F32 (1,)) wants bytes 4 to 8 of the values, the file has 6`: file(
			"{"+entry("a", 0, 4)+","+entry("b", 4, 8)+"}", 6),
		"2 bytes behind the last array":  file("{"+entry("a", 0, 4)+"}", 6),
		`__metadata__: "k" is 1, want a`: file(`{"__metadata__":{"k":1}}`, 0),
	} {
		_, err := safetensors.Parse(f)
		wantError(t, err, want)
	}
}

// TestShards writes random arrays to files of different sizes and reads them back.
func TestShards(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 10 {
		arrays := map[string]*nd.Array{}
		for i := range rng.IntN(9) {
			arrays[fmt.Sprintf("a%d", i)] = nd.Uniform(0, 1, nd.Shape{rng.IntN(50), 2})
		}
		limit := int64(1 + rng.IntN(1000))
		path := filepath.Join(t.TempDir(), "model"+safetensors.IndexSuffix)
		if err := safetensors.SaveShards(path, arrays, limit); err != nil {
			t.Fatal(err)
		}
		got, err := safetensors.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(arrays) {
			t.Errorf("arrays %v, want %v", slices.Collect(maps.Keys(got)), arrays)
		}
		for name, a := range arrays {
			x, _ := a.Float32s()
			y, _ := got[name].Float32s()
			if !slices.Equal(x, y) || !a.Shape().Equal(got[name].Shape()) {
				t.Errorf("%s: got %v, want %v", name, y, x)
			}
		}
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.safetensors"))
		for _, file := range files {
			f, err := safetensors.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			n := int64(0)
			for _, x := range f.Tensors() {
				n += x.Bytes
			}
			if n > limit && len(f.Names()) > 1 {
				t.Errorf("%s has %d bytes in %v, want at most %d", file, n, f.Names(), limit)
			}
			f.Close()
		}
	}
}

func TestBadIndices(t *testing.T) {
	dir := t.TempDir()
	if err := safetensors.Save(filepath.Join(dir, "x.safetensors"), map[string]*nd.Array{
		"a": nd.Zeros(nd.Shape{2})}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "m"+safetensors.IndexSuffix)
	for text, want := range map[string]string{
		`{"weight_map":{"a":"x.safetensors","b":"x.safetensors"}}`: `has no array "b"`,
		`{"weight_map":{"b":"x.safetensors"}}`:                     `the index says ""`,
		`{"weight_map":{"a":"../x.safetensors"}}`:                  "want a file in the folder",
		`{"weight_map":{"a":"y.safetensors"}}`:                     "y.safetensors",
		`{"weight_map":{"a":"x.safetensors","a":"y"}}`:             "occurs twice",
		`{}`: "no weight_map",
		`[`:  "want an object",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := safetensors.Open(path)
		wantError(t, err, want)
	}
	wantError(t, safetensors.SaveShards("m.json", nil, 5), "want a name that ends in")
	wantError(t, safetensors.SaveShards(path, nil, 0), "want more than 0")
}

// seeds are files that are accepted.
func seeds(t testing.TB) (list [][]byte) {
	for _, name := range []string{"all", "none", "float8"} {
		b, err := os.ReadFile("testdata/" + name + ".safetensors")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// decode reads all arrays that gomx has types for.
func decode(file []byte) error {
	f, err := safetensors.Parse(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, x := range f.Tensors() {
		if a, err := f.Array(x.Name); err == nil {
			a.Close()
		} else if x.DType.Valid() {
			return err
		}
	}
	return nil
}

func TestHostile(t *testing.T) {
	hostile.Kind{Name: ".safetensors", Seeds: seeds(t), Decode: decode}.Run(t)
	hostile.Kind{Name: ".safetensors text", Seeds: seeds(t), Decode: decode, Text: true}.Run(t)
}

// FuzzParse demands that a file which is accepted has places inside of it.
func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		x, err := safetensors.Parse(file)
		if err != nil {
			return
		}
		sum := int64(0)
		for _, a := range x.Tensors() {
			sum += a.Bytes
			if err := x.Bytes(a.Name, func(b []byte) error {
				if int64(len(b)) != a.Bytes {
					t.Errorf("%s: %d bytes, want %d", a.Name, len(b), a.Bytes)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		if n := int64(binary.LittleEndian.Uint64(file)) + 8 + sum; n != int64(len(file)) {
			t.Errorf("header and arrays have %d bytes, the file %d", n, len(file))
		}
	})
}
