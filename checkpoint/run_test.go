package checkpoint_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	nd "gomx/ndarray"
)

// savedRun writes the file of a run and returns its path and its content.
func savedRun(t testing.TB) (string, []byte) {
	t.Helper()
	path := checkpoint.RunPath(filepath.Join(t.TempDir(), "m"))
	err := checkpoint.SaveRun(path, []byte(`{"epoch":3}`), []checkpoint.Named{
		{Name: "a", Array: nd.FromSlice([]float32{1, 2, 3, 4}, 2, 2)},
		{Name: "b", Array: nd.FromSlice([]float64{5})}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, b
}

func TestRunFile(t *testing.T) {
	path, content := savedRun(t)
	text, arrays, err := checkpoint.LoadRun(path)
	if err != nil || string(text) != `{"epoch":3}` || len(arrays) != 2 {
		t.Fatalf("got %q, %v, %v", text, arrays, err)
	}
	if v, err := arrays["a"].Float32s(); err != nil || !slices.Equal(v, []float32{1, 2, 3, 4}) {
		t.Errorf("got %v, %v", v, err)
	}
	// Every bit counts, and every byte that is missing or too many.
	for i := range content {
		bad := slices.Clone(content)
		bad[i] ^= 1 << (i % 8)
		if _, _, err := checkpoint.ReadRun(bytes.NewReader(bad), int64(len(bad))); err == nil {
			t.Errorf("byte %d may be anything", i)
		}
		if _, _, err := checkpoint.ReadRun(bytes.NewReader(content[:i]), int64(i)); err == nil {
			t.Errorf("%d of %d bytes are enough", i, len(content))
		}
	}
	if err := os.WriteFile(path, content[:len(content)-3], 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := checkpoint.LoadRun(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an error with the file's name", err)
	}
}

// TestRunFileOfAnotherVersion wants an error that names the version.
func TestRunFileOfAnotherVersion(t *testing.T) {
	path, content := savedRun(t)
	content[7] = '2'
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := checkpoint.LoadRun(path); err == nil ||
		!strings.Contains(err.Error(), `version "2"`) {
		t.Errorf("got %v, want an error about version 2", err)
	}
}

func FuzzReadRun(f *testing.F) {
	_, content := savedRun(f)
	f.Add(content)
	f.Fuzz(func(t *testing.T, b []byte) {
		text, arrays, err := checkpoint.ReadRun(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		size := len(text)
		for _, a := range arrays {
			size += a.Bytes()
		}
		if size > len(b) {
			t.Fatalf("%d bytes make %d", len(b), size)
		}
	})
}

func TestRemoveTemporary(t *testing.T) {
	dir := t.TempDir()
	left := []string{"m-0001.params", "m-0001.params.0123456.tmp", "mm-0001.params.01234567.tmp",
		"m.resume", "m.txt.01234567.tmp", "x.tmp"}
	gone := []string{"m-0001.params.01234567.tmp", "m-12345.states.89abcdef.tmp",
		"m-symbol.json.01234567.tmp", "m-10-symbol.json.01234567.tmp",
		"m.buckets.01234567.tmp", "m.resume.01234567.tmp"}
	for _, name := range slices.Concat(left, gone) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkpoint.RemoveTemporary(filepath.Join(dir, "m")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(left)
	if !slices.Equal(got, left) {
		t.Errorf("got %v, want %v", got, left)
	}
	if err := checkpoint.RemoveTemporary(filepath.Join(dir, "none", "m")); err != nil {
		t.Error(err)
	}
	if list, err := checkpoint.Epochs(filepath.Join(dir, "m")); err != nil ||
		!slices.Equal(list, []int{1}) {
		t.Errorf("got %v, %v", list, err)
	}
}
