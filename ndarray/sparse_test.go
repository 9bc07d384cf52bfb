package ndarray_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"gomx/autograd"
	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// floats returns all elements of an array.
func floats(t *testing.T, a *nd.Array) []float64 {
	t.Helper()
	v, err := a.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSparseConstructors(t *testing.T) {
	csr := nd.CSRFromSlices([]float32{3, 1, 2}, []int{2, 0, 1}, []int{0, 2, 2, 3}, nd.Shape{3, 3})
	coo := nd.CSRFromCOO([]float64{2, 1, 5, 1}, []int64{2, 0, 0, 0}, []int64{1, 2, 0, 2},
		nd.Shape{3, 3})
	rows := nd.RowSparseFromSlices([]int32{5, 6, 1, 2}, []int32{2, 0}, nd.Shape{3, 2})
	for _, tt := range []struct {
		a       *nd.Array
		kind    nd.Storage
		want    []float64
		indices []int64
		text    string
	}{
		{csr, nd.CSR, []float64{1, 0, 3, 0, 0, 0, 0, 2, 0}, []int64{0, 2, 1},
			"(0, 0) 1.\n(0, 2) 3.\n(2, 1) 2.\n<CSRNDArray 3x3 @cpu(0)>"},
		{coo, nd.CSR, []float64{5, 0, 2, 0, 0, 0, 0, 2, 0}, []int64{0, 2, 1},
			"(0, 0) 5.\n(0, 2) 2.\n(2, 1) 2.\n<CSRNDArray 3x3 float64 @cpu(0)>"},
		{rows, nd.RowSparse, []float64{1, 2, 0, 0, 5, 6}, []int64{0, 2},
			"(0) 1 2\n(2) 5 6\n<RowSparseNDArray 3x2 int32 @cpu(0)>"},
	} {
		if tt.a.Storage() != tt.kind {
			t.Errorf("storage %v, want %v", tt.a.Storage(), tt.kind)
		}
		if got := floats(t, tt.a); !slices.Equal(got, tt.want) {
			t.Errorf("values %v, want %v", got, tt.want)
		}
		got, err := tt.a.Indices()
		if err != nil || !slices.Equal(got, tt.indices) {
			t.Errorf("indices %v, %v, want %v", got, err, tt.indices)
		}
		if got := tt.a.String(); got != tt.text {
			t.Errorf("got\n%s\nwant\n%s", got, tt.text)
		}
	}
}

func TestSparseConstructorsRefuse(t *testing.T) {
	for name, tt := range map[string]struct {
		make func()
		want string
	}{
		"columns": {func() {
			nd.CSRFromSlices([]float32{1}, []int{3}, []int{0, 1}, nd.Shape{1, 3})
		}, "column 3"},
		"twice": {func() {
			nd.CSRFromSlices([]float32{1, 2}, []int{1, 1}, []int{0, 2}, nd.Shape{1, 3})
		}, "ascending"},
		"starts": {func() {
			nd.CSRFromSlices([]float32{1, 2}, []int{1, 2}, []int{0, 3, 2}, nd.Shape{2, 3})
		}, "row 0 has the elements 0 to 3 of 2"},
		"count of starts": {func() {
			nd.CSRFromSlices([]float32{}, []int{}, []int{0}, nd.Shape{2, 3})
		}, "want 3"},
		"axes":      {func() { nd.ZerosOf(nd.CSR, nd.Shape{2, 3, 4}) }, "want two axes"},
		"row":       {func() { nd.RowSparseFromSlices([]float32{1}, []int{-1}, nd.Shape{2, 1}) }, "row -1"},
		"coo place": {func() { nd.CSRFromCOO([]float32{1}, []int{2}, []int{0}, nd.Shape{2, 3}) }, "(2, 0)"},
		"values":    {func() { nd.RowSparseFromSlices([]float32{1}, []int{1}, nd.Shape{2, 2}) }, "want 2"},
		"pointer":   {func() { nd.ZerosOf(nd.RowSparse, nd.Shape{2, 3}).Pointer() }, "ToStorage"},
		"reshape":   {func() { nd.ZerosOf(nd.RowSparse, nd.Shape{2, 3}).Reshape(6) }, "ToStorage"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				err, _ := recover().(error)
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q in it", err, tt.want)
				}
			}()
			tt.make()
		})
	}
}

// randomStored returns an array of a storage type with about the given share of elements or rows.
func randomStored(r *rand.Rand, s nd.Storage, typ dtype.Type, shape nd.Shape,
	share float64) *nd.Array {
	values := make([]float64, shape.Size())
	row := max(shape[1:].Size(), 1)
	for i := range values {
		if s == nd.RowSparse && i%row > 0 && values[i-1] == 0 {
			continue
		}
		if s == nd.RowSparse && i%row > 0 || r.Float64() < share {
			values[i] = float64(r.IntN(9) - 4)
			if values[i] == 0 {
				values[i] = 1
			}
		}
	}
	a := nd.FromSlice(values, shape...)
	return a.AsType(typ).ToStorage(s)
}

// TestStorageConversions converts random arrays between all storage types and back.
func TestStorageConversions(t *testing.T) {
	seed := uint64(rand.Int64())
	r := rand.New(rand.NewPCG(seed, 0))
	kinds := []nd.Storage{nd.Dense, nd.RowSparse, nd.CSR}
	for range 60 {
		shape := nd.Shape{r.IntN(6), 1 + r.IntN(5)}
		typ := []dtype.Type{dtype.Float32, dtype.Float64, dtype.Int32, dtype.Float16,
			dtype.Uint8, dtype.Int64}[r.IntN(6)]
		a := randomStored(r, nd.Dense, typ, shape, []float64{0, 0.3, 1}[r.IntN(3)])
		want := floats(t, a)
		for _, from := range kinds {
			for _, to := range kinds {
				b := a.ToStorage(from).ToStorage(to)
				if got := floats(t, b); b.Storage() != to || !slices.Equal(got, want) {
					t.Fatalf("seed %d: %v %v by %v to %v: got %v, want %v", seed, typ, shape, from,
						to, got, want)
				}
				c := nd.ZerosOf(from, shape, nd.As(typ))
				b.CopyInto(c)
				if got := floats(t, c); !slices.Equal(got, want) {
					t.Fatalf("seed %d: copied into %v: got %v, want %v", seed, from, got, want)
				}
				if got := floats(t, b.AsType(dtype.Float64)); !slices.Equal(got, want) {
					t.Fatalf("seed %d: as float64: got %v, want %v", seed, got, want)
				}
			}
		}
	}
}

func TestSparseSlices(t *testing.T) {
	a := nd.CSRFromSlices([]float32{1, 2, 3, 4}, []int{0, 2, 1, 0}, []int{0, 1, 3, 3, 4},
		nd.Shape{4, 3})
	b := a.Slice(1, -1)
	if got := floats(t, b); b.Storage() != nd.CSR || !slices.Equal(got, []float64{0, 3, 2, 0, 0, 0}) {
		t.Errorf("rows 1 and 2 are %v in %v", got, b.Storage())
	}
	if got := floats(t, a.At(3)); !slices.Equal(got, []float64{4, 0, 0}) {
		t.Errorf("row 3 is %v", got)
	}
	n, err := a.NNZ()
	if err != nil || n != 4 {
		t.Errorf("%d stored values, %v", n, err)
	}
	data, err := b.Data()
	if err != nil || !slices.Equal(floats(t, data), []float64{3, 2}) {
		t.Errorf("stored values %v, %v, want 3 and 2", data, err)
	}
	a.Fill(0)
	if n, _ := a.NNZ(); n != 0 {
		t.Errorf("%d values after Fill(0)", n)
	}
	if err := nd.CopyFrom(a, []float32{0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if got, _ := a.Indices(); !slices.Equal(got, []int64{2}) {
		t.Errorf("columns %v after CopyFrom, want 2", got)
	}
}

// TestFallbackIsNotedOnce applies an operator without a kernel for sparse arrays.
func TestFallbackIsNotedOnce(t *testing.T) {
	var got []string
	old := op.NoticesTo(func(text string) { got = append(got, text) })
	defer func() { op.NoticesTo(old) }()
	x := nd.RowSparseFromSlices([]float32{1, 2}, []int{1}, nd.Shape{3, 2})
	for range 2 {
		if v := floats(t, nd.Cos(x)); v[0] != 1 {
			t.Errorf("cos(0) = %v", v[0])
		}
	}
	if len(got) != 1 || !strings.Contains(got[0], "operator cos has no kernel for row_sparse") {
		t.Errorf("notices %q, want one that names cos", got)
	}
}

// TestSparseGradients differentiates through a conversion and adds two gradients up.
func TestSparseGradients(t *testing.T) {
	w := nd.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2)
	w.AttachGradOf(nd.RowSparse, nd.GradAdd)
	ids := nd.FromSlice([]float32{3, 1, 3})
	for range 2 {
		tape := autograd.Train()
		y := nd.Embedding(ids, tape.Watch(w), nd.EmbeddingParams{InputDim: 4, OutputDim: 2,
			SparseGrad: true})
		y.Sum().Backward()
	}
	g := w.Grad()
	if got, _ := g.Indices(); g.Storage() != nd.RowSparse || !slices.Equal(got, []int64{1, 3}) {
		t.Errorf("the gradient is %v with the rows %v", g.Storage(), got)
	}
	if got := floats(t, g); !slices.Equal(got, []float64{0, 0, 2, 2, 0, 0, 4, 4}) {
		t.Errorf("gradient %v", got)
	}
	x := nd.CSRFromSlices([]float32{2}, []int{1}, []int{0, 0, 1}, nd.Shape{2, 3})
	x.AttachGrad()
	tape := autograd.Train()
	nd.Exp(tape.Watch(x)).Sum().Backward()
	if got := floats(t, x.Grad()); x.Grad().Storage() != nd.CSR || got[0] != 1 {
		t.Errorf("gradient %v in %v, want csr", got, x.Grad().Storage())
	}
}

// TestWriteContent replaces content while the old one is still read.
func TestWriteContent(t *testing.T) {
	a := nd.CSRFromSlices([]float32{1, 2}, []int{0, 2}, []int{0, 1, 2}, nd.Shape{2, 3})
	before := a.ToStorage(nd.Dense)
	if err := a.WriteContent(func(s *op.Sparse) error {
		s.Room(1)
		op.Slice[float32](s.Values())[0], s.Indices[0] = 7, 1
		copy(s.Starts, []int64{0, 0, 1})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := floats(t, before); !slices.Equal(got, []float64{1, 0, 0, 0, 0, 2}) {
		t.Errorf("the copy from before is %v", got)
	}
	if got := floats(t, a); !slices.Equal(got, []float64{0, 0, 0, 0, 7, 0}) {
		t.Errorf("the new content is %v", got)
	}
	err := a.WriteContent(func(s *op.Sparse) error {
		s.Indices[0] = 3
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "column 3") {
		t.Errorf("got %v for a column that the matrix has not", err)
	}
	if n, err := a.NNZ(); err != nil || n != 0 {
		t.Errorf("%d values, %v after a fault, want none", n, err)
	}
	if err := nd.Zeros(nd.Shape{2}).WriteContent(nil); err == nil ||
		!strings.Contains(err.Error(), "the array is dense") {
		t.Errorf("got %v for a dense array", err)
	}
}

// TestSparseResultsAreFreedFirst lets a program run ahead of sums whose operands come late: when
// they run, the memory of a sum that is not needed any more is free before the next one takes some.
func TestSparseResultsAreFreedFirst(t *testing.T) {
	const rows, row, sums = 4096, 64, 100
	ids := make([]int64, rows)
	for i := range ids {
		ids[i] = int64(i)
	}
	e, err := engine.New(engine.Config{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	x := nd.RowSparseFromSlices(make([]float32, rows*row), ids, nd.Shape{2 * rows, row}, nd.Using(e))
	defer x.Close()
	open := make(chan struct{})
	e.Push(&engine.Task{Name: "gate",
		Uses: []engine.Use{{Var: x.Var(), Access: engine.Update}},
		Fn:   func(*engine.Run) error { <-open; return nil }})
	before := device.Usage(device.CPU())
	for range sums {
		x.Add(x).Close()
	}
	close(open)
	if err := e.WaitAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := device.Usage(device.CPU())
	if got, one := after.Reserved-before.Reserved, int64(4*rows*row); got > sums/4*one {
		t.Errorf("%d bytes were taken for %d sums of %d bytes, want few of them at a time", got,
			sums, one)
	}
}

// TestRowsBecomeDenseByName sums row_sparse arrays without notices, and gives a notice where a table
// whose gradient shall be row_sparse gets a dense one.
func TestRowsBecomeDenseByName(t *testing.T) {
	var mu sync.Mutex
	var notices []string
	old := op.NoticesTo(func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notices = append(notices, text)
	})
	defer func() { op.NoticesTo(old) }()
	x := nd.RowSparseFromSlices([]float32{1, 2, 3, 5}, []int64{1, 4}, nd.Shape{6, 2})
	want(t, x.Sum(), 11)
	want(t, x.Square().Sum(), 39)
	want(t, nd.ZerosOf(nd.RowSparse, nd.Shape{3, 2}).Sum(), 0)
	want(t, nd.MultiSumSq([]*nd.Array{x}), 39)
	want(t, nd.MultiAllFinite([]*nd.Array{x}, nd.MultiAllFiniteParams{}), 1)
	if len(notices) > 0 {
		t.Errorf("notices %q, want none", notices)
	}
	for _, req := range []nd.GradReq{nd.GradWrite, nd.GradAdd} {
		op.NoticesTo(func(text string) { notices = append(notices, text) })
		notices = nil
		w := nd.Full(1, nd.Shape{4, 2})
		w.AttachGradOf(nd.RowSparse, req)
		y := nd.Embedding(nd.FromSlice([]float32{2, 2}), autograd.Train().Watch(w),
			nd.EmbeddingParams{InputDim: 4, OutputDim: 2})
		y.Backward()
		want(t, w.Grad().ToStorage(nd.Dense), 0, 0, 0, 0, 2, 2, 0, 0)
		if len(notices) != 1 || !strings.Contains(notices[0], "is dense") {
			t.Errorf("notices %q, want one of the dense gradient", notices)
		}
	}
}
