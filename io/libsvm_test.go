package io_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	dataio "gomx/io"
	nd "gomx/ndarray"
)

// clickFile writes n samples of width columns in LibSVM's format, and labels of three columns. It
// returns the paths and the dense values of both.
func clickFile(t testing.TB, n, width int) (data, label string, rows, labels [][]float32) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(width)))
	lines := func(name string, width int) (string, [][]float32) {
		var b bytes.Buffer
		var all [][]float32
		for i := range n {
			row := make([]float32, width)
			fmt.Fprint(&b, i%2)
			for _, k := range r.Perm(width)[:r.IntN(width+1)] {
				row[k] = float32(1+r.IntN(99)) / 8
				fmt.Fprintf(&b, " %d:%v", k, row[k])
			}
			b.WriteString("\n")
			all = append(all, row)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path, all
	}
	data, rows = lines("data.svm", width)
	label, labels = lines("label.svm", 3)
	return data, label, rows, labels
}

// libSVM opens an iterator and closes it after the test.
func libSVM(t testing.TB, c dataio.LibSVMConfig) *dataio.TextIter {
	t.Helper()
	it, err := dataio.LibSVMIter(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = it.Close() })
	return it
}

// checkRows compares an array with samples.
func checkRows(t *testing.T, what string, a *nd.Array, all [][]float32, index []int) {
	t.Helper()
	var want []float32
	for _, i := range index {
		want = append(want, all[i]...)
	}
	got, err := a.Float32s()
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%s of samples %v is %v, %v, want %v", what, index, got, err, want)
	}
}

// TestLibSVMBatches reads two files together, in file order and shuffled, on one and many threads.
func TestLibSVMBatches(t *testing.T) {
	data, label, rows, labels := clickFile(t, 23, 5)
	for _, shuffle := range []bool{false, true} {
		it := libSVM(t, dataio.LibSVMConfig{TextConfig: dataio.TextConfig{Data: data, Label: label,
			DataShape: nd.Shape{5}, LabelShape: nd.Shape{3}, BatchSize: 4, Shuffle: shuffle}})
		if d := it.ProvideData()[0]; d.Storage != nd.CSR || !d.Shape.Equal(nd.Shape{4, 5}) {
			t.Errorf("provides %v", d)
		}
		seen := map[int]int{}
		for range 2 {
			for b, err := range it.Epoch() {
				if err != nil {
					t.Fatal(err)
				}
				if b.Data[0].Storage() != nd.CSR || b.Label[0].Storage() != nd.CSR {
					t.Fatalf("batches are %v and %v", b.Data[0].Storage(), b.Label[0].Storage())
				}
				checkRows(t, "data", b.Data[0], rows, b.Index)
				checkRows(t, "label", b.Label[0], labels, b.Index)
				for _, i := range b.Index[:4-b.Pad] {
					seen[i]++
				}
			}
		}
		if len(seen) != 23 {
			t.Errorf("shuffle %v: %d samples, want 23", shuffle, len(seen))
		}
	}
}

// TestLibSVMKeepsContent uses a batch in an operation and reads on before the result is complete.
func TestLibSVMKeepsContent(t *testing.T) {
	data, _, rows, _ := clickFile(t, 12, 5)
	it := libSVM(t, dataio.LibSVMConfig{TextConfig: dataio.TextConfig{Data: data,
		DataShape: nd.Shape{5}, BatchSize: 3}})
	var dense []*nd.Array
	for range 4 {
		b, err := it.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dense = append(dense, b.Data[0].ToStorage(nd.Dense))
	}
	for i, a := range dense {
		checkRows(t, "copy", a, rows, []int{3 * i, 3*i + 1, 3*i + 2})
	}
}

// TestLibSVMParts gives each of several workers a part of the files: labels stay with their
// samples.
func TestLibSVMParts(t *testing.T) {
	data, label, rows, labels := clickFile(t, 41, 6)
	for _, parts := range []int{1, 2, 3, 7} {
		first := 0
		for part := range parts {
			it := libSVM(t, dataio.LibSVMConfig{TextConfig: dataio.TextConfig{Data: data,
				Label: label, DataShape: nd.Shape{6}, LabelShape: nd.Shape{3},
				NumParts: parts, PartIndex: part}})
			if it.Sharded() != (parts > 1) {
				t.Errorf("part %d of %d: sharded %v", part, parts, it.Sharded())
			}
			if got := it.Batches(); got != it.Samples() {
				t.Errorf("part %d of %d: %d batches of %d samples", part, parts, got, it.Samples())
			}
			for b, err := range it.Epoch() {
				if err != nil {
					t.Fatal(err)
				}
				checkRows(t, "data", b.Data[0], rows, []int{first + b.Index[0]})
				checkRows(t, "label", b.Label[0], labels, []int{first + b.Index[0]})
			}
			first += it.Samples()
			if parts > 1 && (it.Shard(0, 2) == nil || it.Reshard(0, 2, 0) == nil) {
				t.Error("a part of files is shared out again")
			}
		}
		if first != 41 {
			t.Errorf("%d parts have %d samples, want 41", parts, first)
		}
	}
}

// TestHashedFeatures reads words in place of column numbers.
func TestHashedFeatures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "words")
	words := []byte("1 user=7 item:2\n0 item user=7:0.5\n")
	if err := os.WriteFile(path, words, 0o600); err != nil {
		t.Fatal(err)
	}
	it := libSVM(t, dataio.LibSVMConfig{TextConfig: dataio.TextConfig{Data: path,
		DataShape: nd.Shape{1000}, BatchSize: 2}, Hash: &dataio.Hashing{Seed: 3}})
	b, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	columns, err := b.Data[0].Indices()
	if err != nil || len(columns) != 4 || columns[0] != columns[2] || columns[1] != columns[3] {
		t.Fatalf("columns %v, %v, want two pairs", columns, err)
	}
	values, err := b.Data[0].Data()
	if err != nil {
		t.Fatal(err)
	}
	got, err := values.Float32s()
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []float32{0.5, 1, 1, 2}) {
		t.Errorf("values %v, %v, want 0.5, 1, 1 and 2", got, err)
	}
}

func TestLibSVMMistakes(t *testing.T) {
	data, label, _, _ := clickFile(t, 5, 4)
	few, _, _, _ := clickFile(t, 4, 3)
	for _, c := range []struct {
		change func(c *dataio.LibSVMConfig)
		want   string
	}{
		{func(c *dataio.LibSVMConfig) { c.DataShape = nd.Shape{2, 2} }, "want one axis"},
		{func(c *dataio.LibSVMConfig) { c.LabelShape = nd.Shape{3} }, "needs a label file"},
		{func(c *dataio.LibSVMConfig) { c.Label = label }, "with a label file, want one axis"},
		{func(c *dataio.LibSVMConfig) { c.Label, c.LabelShape = few, nd.Shape{3} },
			"has 4 labels, want 5"},
		{func(c *dataio.LibSVMConfig) { c.Data = few; c.Label, c.LabelShape = label, nd.Shape{3} },
			"has 5 labels, want 4"},
		{func(c *dataio.LibSVMConfig) { c.NumParts, c.PartIndex = 2, 2 }, "part 2 of 2"},
		{func(c *dataio.LibSVMConfig) { c.NumParts, c.PartIndex = 500, 499 },
			"no samples in part 499 of 500"},
		{func(c *dataio.LibSVMConfig) { c.Data += "-no" }, "no such file"},
		{func(c *dataio.LibSVMConfig) {
			c.DataShape, c.Hash = nd.Shape{1 << 32}, &dataio.Hashing{}
		}, "want at most 2147483648"},
	} {
		cfg := dataio.LibSVMConfig{TextConfig: dataio.TextConfig{Data: data,
			DataShape: nd.Shape{4}}}
		c.change(&cfg)
		if _, err := dataio.LibSVMIter(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	it := libSVM(t, dataio.LibSVMConfig{TextConfig: dataio.TextConfig{Data: data,
		DataShape: nd.Shape{4}}})
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := it.Next(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestCSVToCSR reads the same file as dense and as sparse samples.
func TestCSVToCSR(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.csv")
	if err := os.WriteFile(path, []byte("1,0,2\n0,0,0\n\n-0.5, 3 ,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []nd.Storage{nd.Dense, nd.CSR} {
		it, err := dataio.CSVIter(dataio.CSVConfig{TextConfig: dataio.TextConfig{Data: path,
			DataShape: nd.Shape{3}, BatchSize: 3}, Storage: s})
		if err != nil {
			t.Fatal(err)
		}
		b, err := it.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkRows(t, s.String(), b.Data[0], [][]float32{{1, 0, 2, 0, 0, 0, -0.5, 3, 0}}, []int{0})
		if n, _ := b.Data[0].NNZ(); b.Data[0].Storage() != s || s == nd.CSR && n != 4 {
			t.Errorf("%v: %v with %d values", s, b.Data[0].Storage(), n)
		}
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dataio.CSVIter(dataio.CSVConfig{TextConfig: dataio.TextConfig{Data: path,
		DataShape: nd.Shape{1, 3}}, Storage: nd.CSR}); err == nil {
		t.Error("csr samples of two axes: no error")
	}
}

// TestCSVParts gives workers parts of a file of samples, and the labels that belong to them.
func TestCSVParts(t *testing.T) {
	dir := t.TempDir()
	data, label := filepath.Join(dir, "data.csv"), filepath.Join(dir, "label.csv")
	var samples, labels bytes.Buffer
	for i := range 29 {
		fmt.Fprintf(&samples, "%d,%s1\n", i, strings.Repeat(" ", i%7))
		fmt.Fprintf(&labels, "%d,%d\n", 2*i, 3*i)
	}
	if err := errors.Join(os.WriteFile(data, samples.Bytes(), 0o600),
		os.WriteFile(label, labels.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	var seen []float32
	for part := range 3 {
		it, err := dataio.CSVIter(dataio.CSVConfig{TextConfig: dataio.TextConfig{Data: data,
			DataShape: nd.Shape{2}, Label: label, LabelShape: nd.Shape{2}, NumParts: 3,
			PartIndex: part}})
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range it.Epoch() {
			if err != nil {
				t.Fatal(err)
			}
			x, err := b.Data[0].Float32s()
			y, yerr := b.Label[0].Float32s()
			if err := errors.Join(err, yerr); err != nil || y[0] != 2*x[0] || y[1] != 3*x[0] {
				t.Fatalf("sample %v has the label %v, %v", x, y, err)
			}
			seen = append(seen, x[0])
		}
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.IsSorted(seen) || len(slices.Compact(seen)) != 29 {
		t.Errorf("the parts have the samples %v", seen)
	}
}

// TestSparseArrays iterates over csr arrays as over dense ones, ahead and not.
func TestSparseArrays(t *testing.T) {
	_, _, rows, labels := clickFile(t, 11, 4)
	dense := func(all [][]float32) *nd.Array {
		return nd.FromSlice(slices.Concat(all...), len(all), len(all[0]))
	}
	for _, last := range []dataio.LastBatch{dataio.Pad, dataio.Discard, dataio.RollOver,
		dataio.Round} {
		for _, shuffle := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v shuffle %v", last, shuffle), func(t *testing.T) {
				open := func(s nd.Storage) dataio.Iter {
					it, err := dataio.NDArrayIter(dataio.NDArrayConfig{
						Data:  []*nd.Array{dense(rows).ToStorage(s)},
						Label: []*nd.Array{dense(labels)}, BatchSize: 3, Shuffle: shuffle,
						Seed: 2, LastBatch: last})
					if err != nil {
						t.Fatal(err)
					}
					return it
				}
				want := seen(t, open(nd.Dense), 12)
				if got := seen(t, open(nd.CSR), 12); !slices.Equal(got, want) {
					t.Fatalf("got\n%q\nwant\n%q", got, want)
				}
				ahead, err := dataio.Prefetch(open(nd.CSR), 2)
				if err != nil {
					t.Fatal(err)
				}
				defer ahead.Close()
				if got := seen(t, ahead, 12); !slices.Equal(got, want) {
					t.Fatalf("ahead: got\n%q\nwant\n%q", got, want)
				}
			})
		}
	}
	wide := dense(rows).AsType(dtype.Float64).ToStorage(nd.CSR)
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{wide},
		Label: []*nd.Array{dense(labels).ToStorage(nd.CSR)}, BatchSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range it.Epoch() {
		if err != nil {
			t.Fatal(err)
		}
		checkRows(t, "data", b.Data[0], rows, b.Index)
		checkRows(t, "label", b.Label[0], labels, b.Index)
	}
	if _, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{dense(
		rows).ToStorage(nd.RowSparse)}}); err == nil || !strings.Contains(err.Error(),
		"data: the array is row_sparse, want default or csr") {
		t.Errorf("row_sparse data: %v", err)
	}
}

// BenchmarkLibSVM reads batches of 256 samples of 40 features.
func BenchmarkLibSVM(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var file bytes.Buffer
	for range 8192 {
		file.WriteString("1")
		for i := range 40 {
			fmt.Fprintf(&file, " %d:1", i*25_000+r.IntN(25_000))
		}
		file.WriteString("\n")
	}
	path := filepath.Join(b.TempDir(), "clicks")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	it := libSVM(b, dataio.LibSVMConfig{TextConfig: dataio.TextConfig{Data: path,
		DataShape: nd.Shape{1_000_000}, BatchSize: 256}})
	b.SetBytes(int64(file.Len() / 32))
	b.ReportAllocs()
	for b.Loop() {
		_, err := it.Next(context.Background())
		if errors.Is(err, io.EOF) {
			err = it.Reset()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
