package checkpoint_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/dtype"
	nd "gomx/ndarray"
)

// sparseArrays are arrays of both storage types, with and without values.
func sparseArrays() []checkpoint.Named {
	return []checkpoint.Named{
		{Name: "rows", Array: nd.RowSparseFromSlices([]float32{1, 2, 3, 4}, []int{1, 4},
			nd.Shape{6, 2})},
		{Name: "deep", Array: nd.RowSparseFromSlices([]int32{1, 2, 3, 4}, []int{0}, nd.Shape{3, 2, 2})},
		{Name: "matrix", Array: nd.CSRFromSlices([]float64{1, math.Inf(-1), 3}, []int{3, 0, 1},
			[]int{0, 1, 1, 3}, nd.Shape{3, 5})},
		{Name: "no rows", Array: nd.ZerosOf(nd.RowSparse, nd.Shape{3, 2})},
		{Name: "no elements", Array: nd.ZerosOf(nd.CSR, nd.Shape{3, 2})},
		{Name: "dense", Array: nd.FromSlice([]float32{5, 6})},
	}
}

// same compares storage type, structure and values.
func same(t *testing.T, what string, got, want *nd.Array) {
	t.Helper()
	if got.Storage() != want.Storage() || got.DType() != want.DType() ||
		!got.Shape().Equal(want.Shape()) {
		t.Errorf("%s: %v %v %v, want %v %v %v", what, got.Storage(), got.DType(), got.Shape(),
			want.Storage(), want.DType(), want.Shape())
		return
	}
	if got.String() != want.String() {
		t.Errorf("%s: got\n%v\nwant\n%v", what, got, want)
	}
	if want.Storage() == nd.Dense {
		return
	}
	x, err := got.Indices()
	if err != nil {
		t.Fatal(err)
	}
	if y, err := want.Indices(); err != nil || !slices.Equal(x, y) {
		t.Errorf("%s: indices %v, want %v, %v", what, x, y, err)
	}
}

func TestSparseArrays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse.params")
	list := sparseArrays()
	if err := checkpoint.SaveArrays(path, list); err != nil {
		t.Fatal(err)
	}
	again, err := checkpoint.LoadArrays(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range list {
		if again[i].Name != n.Name {
			t.Errorf("array %d is %q, want %q", i, again[i].Name, n.Name)
		}
		same(t, n.Name, again[i].Array, n.Array)
	}
	dense, err := checkpoint.LoadArrays(path, checkpoint.DenseLimit(0))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range list {
		same(t, n.Name, dense[i].Array, n.Array.ToStorage(nd.Dense))
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(t.TempDir(), "again.params")
	if err := checkpoint.SaveArrays(next, again); err != nil {
		t.Fatal(err)
	}
	if copied, err := os.ReadFile(next); err != nil || !bytes.Equal(copied, file) {
		t.Errorf("saved again as %d bytes, %v, want the same %d", len(copied), err, len(file))
	}
}

// TestSparseStates writes states of both storage types and reads them back.
func TestSparseStates(t *testing.T) {
	list := sparseArrays()
	s, err := checkpoint.StateOf(list[0].Array, list[5].Array)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := checkpoint.WriteStates(&b, []checkpoint.IndexedState{{State: s}}); err != nil {
		t.Fatal(err)
	}
	states, err := checkpoint.ReadStates(&b)
	if err != nil {
		t.Fatal(err)
	}
	arrays, err := states[0].State.Arrays()
	if err != nil || len(arrays) != 2 {
		t.Fatalf("%v, %v, want two arrays", arrays, err)
	}
	same(t, "row_sparse state", arrays[0], list[0].Array)
	same(t, "dense state", arrays[1], list[5].Array)
}

// TestSparseFiles reads records that MXNet may write: columns in any order, room behind the last
// element; and records that contradict themselves.
func TestSparseFiles(t *testing.T) {
	matrix := func(starts, columns []uint64, values ...float32) *checkpoint.Record {
		data := []byte{}
		for _, v := range values {
			data = append(data, words(u32(math.Float32bits(v)))...)
		}
		list := func(n []uint64) (b []byte) {
			for _, v := range n {
				b = append(b, words(u64(v))...)
			}
			return b
		}
		return &checkpoint.Record{Version: checkpoint.V2, Stype: checkpoint.CSR,
			DType: dtype.Float32, Shape: dtype.Shape{2, 4}, Storage: dtype.Shape{len(values)},
			Data: data, Aux: []checkpoint.Index{
				{DType: dtype.Int64, Shape: dtype.Shape{len(starts)}, Data: list(starts)},
				{DType: dtype.Int64, Shape: dtype.Shape{len(columns)}, Data: list(columns)}}}
	}
	for _, tt := range []struct {
		name string
		r    *checkpoint.Record
		want string // the array, or a part of the error
	}{
		{"unsorted", matrix([]uint64{0, 2, 3}, []uint64{3, 1, 0}, 1, 2, 3), "(0, 1) 2.\n(0, 3) 1.\n"},
		{"room", matrix([]uint64{0, 0, 1}, []uint64{2, 9}, 5, 6), "(1, 2) 5.\n"},
		{"twice", matrix([]uint64{0, 2, 2}, []uint64{1, 1}, 1, 2), "follows 1"},
		{"column", matrix([]uint64{0, 1, 1}, []uint64{4}, 1), "column 4"},
		{"begin", matrix([]uint64{1, 1, 2}, []uint64{1, 2}, 1, 2), "indptr"},
		{"rows", matrix([]uint64{0, 2, 1}, []uint64{1, 2}, 1, 2), "row 1 spans"},
		{"counts", matrix([]uint64{0, 1}, []uint64{1}, 1), "row pointers"},
	} {
		var b bytes.Buffer
		if err := checkpoint.WriteList(&b, []*checkpoint.Record{tt.r}); err != nil {
			t.Fatal(err)
		}
		list, err := checkpoint.ParseArrays(b.Bytes())
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = list[0].Array.String()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
