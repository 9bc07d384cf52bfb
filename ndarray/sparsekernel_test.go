package ndarray_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/autograd"
	"gomx/dtype"
	nd "gomx/ndarray"
)

// TestSparseKernels compares products, sums, retained rows and gradients of tables with dense
// arithmetic. The elements are small integers, so that all results are exact.
func TestSparseKernels(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	same := func(what string, got *nd.Array, want []float64) {
		t.Helper()
		if x := floats(t, got); !slices.Equal(x, want) {
			t.Fatalf("seed %d: %s: got %v, want %v", seed, what, x, want)
		}
	}
	for range 40 {
		typ := []dtype.Type{dtype.Float32, dtype.Float64, dtype.Int32}[r.IntN(3)]
		m, k, n := 1+r.IntN(60), 1+r.IntN(60), 1+r.IntN(90)
		a := randomStored(r, nd.CSR, typ, nd.Shape{m, k}, []float64{0, 0.1, 0.5, 1}[r.IntN(4)])
		for _, stored := range []nd.Storage{nd.Dense, nd.RowSparse} {
			y := randomStored(r, stored, typ, nd.Shape{k, n}, 0.6)
			z := randomStored(r, stored, typ, nd.Shape{m, n}, 0.6)
			same("a·y", nd.Dot(a, y, nd.DotParams{}), matrixProduct(t, a, y, false))
			want := matrixProduct(t, a, z, true)
			same("aᵀ·z", nd.Dot(a, z, nd.DotParams{TransposeA: true}), want)
			same("aᵀ·z, dense", nd.Dot(a, z, nd.DotParams{TransposeA: true,
				ForwardStype: "default"}), want)
		}
		x, y := randomStored(r, nd.RowSparse, typ, nd.Shape{m, n}, 0.5),
			randomStored(r, nd.RowSparse, typ, nd.Shape{m, n}, 0.5)
		u, v := floats(t, x), floats(t, y)
		kept, sum := make([]float64, m*n), make([]float64, m*n)
		ids := []int64{}
		for i := range m {
			if r.IntN(2) == 0 {
				ids = append(ids, int64(i))
				copy(kept[i*n:(i+1)*n], u[i*n:])
			}
		}
		for i := range sum {
			sum[i] = u[i] + v[i]
		}
		same("x+y", x.Add(y), sum)
		if len(ids) > 0 {
			same("retain", nd.Retain(x, nd.FromSlice(ids)), kept)
		}
		if typ != dtype.Int32 {
			checkTable(t, r, typ, m, n, same)
		}
	}
}

// matrixProduct multiplies a, or its transpose, by b.
func matrixProduct(t *testing.T, a, b *nd.Array, transposed bool) []float64 {
	t.Helper()
	x, y := floats(t, a), floats(t, b)
	rows, inner, n := a.Shape()[0], a.Shape()[1], b.Shape()[1]
	at := func(i, k int) float64 { return x[i*inner+k] }
	if transposed {
		at = func(i, k int) float64 { return x[k*a.Shape()[1]+i] }
		rows, inner = a.Shape()[1], a.Shape()[0]
	}
	out := make([]float64, rows*n)
	for i := range rows {
		for k := range inner {
			for c := range n {
				out[i*n+c] += at(i, k) * y[k*n+c]
			}
		}
	}
	return out
}

// checkTable compares row_sparse gradients of a table, of ones and of given numbers, with sums over
// the ids.
func checkTable(t *testing.T, r *rand.Rand, typ dtype.Type, rows, n int,
	same func(what string, got *nd.Array, want []float64)) {
	t.Helper()
	w := nd.Zeros(nd.Shape{rows, n}, nd.As(typ))
	w.AttachGradOf(nd.RowSparse)
	ids := make([]float32, 1+r.IntN(800))
	given := make([]float32, len(ids)*n)
	count, sums := make([]float64, rows*n), make([]float64, rows*n)
	for i := range ids {
		ids[i] = float32(r.IntN(rows))
		for c := range n {
			given[i*n+c] = float32(r.IntN(3))
			count[int(ids[i])*n+c]++
			sums[int(ids[i])*n+c] += float64(given[i*n+c])
		}
	}
	look := func() *nd.Array {
		return nd.Embedding(nd.FromSlice(ids), autograd.Train().Watch(w), nd.EmbeddingParams{
			InputDim: rows, OutputDim: n, DType: typ, SparseGrad: true})
	}
	look().Backward()
	same("gradient of a table", w.Grad(), count)
	look().Backward(nd.FromSlice(given, len(ids), n).AsType(typ))
	same("gradient of a table, of given numbers", w.Grad(), sums)
}

// TestSparseComparisons compares sparse arrays with numbers. The result is sparse where zero does not
// meet the comparison, as in MXNet 1.9.1, and has the values of the dense result.
func TestSparseComparisons(t *testing.T) {
	ops := []struct {
		name   string
		f      func(a *nd.Array, p nd.ScalarParams) *nd.Array
		sparse [3]bool // with -1, 0 and 1
	}{
		{"equal", nd.EqualScalar, [3]bool{true, false, true}},
		{"not equal", nd.NotEqualScalar, [3]bool{false, true, false}},
		{"greater", nd.GreaterScalar, [3]bool{false, true, true}},
		{"greater equal", nd.GreaterEqualScalar, [3]bool{false, false, true}},
		{"lesser", nd.LesserScalar, [3]bool{true, true, false}},
		{"lesser equal", nd.LesserEqualScalar, [3]bool{true, false, false}},
	}
	shape := nd.Shape{4, 2}
	for _, a := range []*nd.Array{
		nd.RowSparseFromSlices([]float32{1, -1, 0, 2}, []int{0, 2}, shape),
		nd.CSRFromSlices([]float32{1, -1, 0, 2}, []int{0, 1, 0, 1}, []int{0, 2, 2, 4, 4}, shape)} {
		for _, o := range ops {
			for i, v := range []float64{-1, 0, 1} {
				got := o.f(a, nd.ScalarParams{Scalar: v})
				want := o.f(a.ToStorage(nd.Dense), nd.ScalarParams{Scalar: v})
				if stored := got.Storage() == a.Storage(); stored != o.sparse[i] {
					t.Errorf("%s %v of %v is %v", o.name, v, a.Storage(), got.Storage())
				}
				x, err := got.ToStorage(nd.Dense).Float32s()
				y, err2 := want.Float32s()
				if err != nil || err2 != nil || !slices.Equal(x, y) {
					t.Errorf("%s %v of %v: %v, %v, want %v, %v", o.name, v, a.Storage(), x, err, y,
						err2)
				}
			}
		}
		for _, typ := range []dtype.Type{dtype.Int32, dtype.Float16} { // which round the number to 0
			x := a.AsType(typ)
			for _, v := range []float64{0.5, 1e-9} {
				got := nd.EqualScalar(x, nd.ScalarParams{Scalar: v}).ToStorage(nd.Dense)
				want := nd.EqualScalar(x.ToStorage(nd.Dense), nd.ScalarParams{Scalar: v})
				g, err := got.Float64s()
				w, err2 := want.Float64s()
				if err != nil || err2 != nil || !slices.Equal(g, w) {
					t.Errorf("%v equal %v: %v, %v, want %v, %v", typ, v, g, err, w, err2)
				}
			}
		}
	}
}
