package checkpoint_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/internal/hostile"
	nd "gomx/ndarray"
)

// parse loads a file of arrays and frees them.
func parse(file []byte) error {
	list, err := checkpoint.ParseArrays(file)
	for _, n := range list {
		if n.Array != nil {
			n.Array.Close()
		}
	}
	return err
}

// parameters is the file of a small network.
func parameters(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "a.params")
	arrays := map[string]*nd.Array{}
	for name, shape := range map[string]nd.Shape{"arg:w": {4, 3, 3, 3}, "arg:b": {4},
		"aux:mean": {4}} {
		arrays[name] = nd.Zeros(shape)
	}
	if err := checkpoint.SaveMap(path, arrays); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestHostileParameters(t *testing.T) {
	seeds := [][]byte{parameters(t)}
	all := files()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		seeds = append(seeds, all[name])
	}
	hostile.Kind{Name: ".params", Seeds: seeds, Decode: parse}.Run(t)
}

func TestHostileStates(t *testing.T) {
	var dense, sparse bytes.Buffer
	if err := checkpoint.WriteStates(&dense, someStates()); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.WriteStates(&sparse,
		[]checkpoint.IndexedState{{State: checkpoint.State{Array: rows(8)}}}); err != nil {
		t.Fatal(err)
	}
	hostile.Kind{Name: ".states", Seeds: [][]byte{dense.Bytes(), sparse.Bytes()},
		Decode: func(file []byte) error {
			states, err := checkpoint.ReadStates(bytes.NewReader(file))
			for _, s := range states {
				arrays, err := s.State.Arrays()
				for _, a := range arrays {
					if a != nil {
						a.Close()
					}
				}
				if err != nil {
					return err
				}
			}
			return err
		}}.Run(t)
}

// rows is a record of two rows of n.
func rows(n int) *checkpoint.Record {
	return &checkpoint.Record{Name: "embedding", Version: checkpoint.V2,
		Stype: checkpoint.RowSparse, DType: dtype.Float32,
		Shape: dtype.Shape{n, 32}, Storage: dtype.Shape{2, 32}, Data: make([]byte, 2*32*4),
		Aux: []checkpoint.Index{{DType: dtype.Int64, Shape: dtype.Shape{2},
			Data: words(u64(1), u64(3))}}}
}

// TestSparseClaims loads files of a few hundred bytes whose sparse array claims gigabytes.
func TestSparseClaims(t *testing.T) {
	for _, tt := range []struct {
		rows int
		opts []checkpoint.LoadOption
		want string // part of the error, "" when it loads
	}{
		{1 << 10, nil, ""},
		{1 << 25, nil, ""},
		{1 << 17, []checkpoint.LoadOption{checkpoint.DenseLimit(0)}, ""},
		{1 << 25, []checkpoint.LoadOption{checkpoint.DenseLimit(0)}, "claims shape (33554432, 32) of float32: 4294967296 bytes when stored " +
			"densely, want at most 33554"},
		{1 << 20, []checkpoint.LoadOption{checkpoint.DenseLimit(0)}, "134217728 bytes"},
		{1 << 20, []checkpoint.LoadOption{checkpoint.DenseLimit(1 << 27)}, ""},
		{1 << 20, []checkpoint.LoadOption{checkpoint.DenseLimit(1<<27 - 1)}, "134217728 bytes"},
	} {
		var b bytes.Buffer
		if err := checkpoint.WriteList(&b, []*checkpoint.Record{rows(tt.rows)}); err != nil {
			t.Fatal(err)
		}
		list, err := checkpoint.ParseArrays(b.Bytes(), tt.opts...)
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%d rows: got %v, want %q", tt.rows, err, tt.want)
			}
			continue
		}
		if err != nil || !list[0].Array.Shape().Equal(nd.Shape{tt.rows, 32}) {
			t.Fatalf("%d rows: %v, %v", tt.rows, list, err)
		}
		list[0].Array.Close()
	}
}

// TestSharedStates refers to one array many times, so that the states are larger than the file.
func TestSharedStates(t *testing.T) {
	var b bytes.Buffer
	state := checkpoint.State{Array: &checkpoint.Record{Version: checkpoint.V2,
		Shape: dtype.Shape{1 << 18}, Data: make([]byte, 1<<20)}}
	if err := checkpoint.WriteStates(&b, []checkpoint.IndexedState{{State: state}}); err != nil {
		t.Fatal(err)
	}
	// The pickle ends in "s.": the state is remembered and set 100 times more.
	file := slices.Concat(b.Bytes()[:b.Len()-2], []byte("q\x01s"),
		bytes.Repeat([]byte("K\x01h\x01s"), 100), []byte("."))
	if _, err := checkpoint.ReadStates(bytes.NewReader(file)); err == nil ||
		!strings.Contains(err.Error(), "for all of the file") {
		t.Errorf("got %v, want an error of the limit", err)
	}
	if _, err := checkpoint.ReadStates(bytes.NewReader(file),
		checkpoint.DenseLimit(1<<28)); err != nil {
		t.Error(err)
	}
}
