package touched_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/rows"
	"gomx/kvstore/touched"
	nd "gomx/ndarray"
)

// shape is the shape of the matrices.
var shape = nd.Shape{30, 2, 3}

// oracle is a dense matrix.
type oracle struct {
	values  []float32
	touched map[int64]bool
}

// newOracle makes all rows.
func newOracle(s rows.Spec) *oracle {
	o := &oracle{touched: map[int64]bool{}}
	for r := range s.Rows {
		row := nd.Empty(nd.Shape{s.Row / 4})
		b := make([]byte, s.Row)
		s.Init.Fill(b, dtype.Float32, s.Key, r)
		if err := row.WriteBytes(b); err != nil {
			panic(err)
		}
		v, err := row.Float32s()
		if err != nil {
			panic(err)
		}
		o.values = append(o.values, v...)
	}
	return o
}

// floats reads a dense copy of an array.
func floats(t *testing.T, a *nd.Array) []float32 {
	t.Helper()
	v, err := a.ToStorage(nd.Dense).Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMatrix touches, changes and reads rows at random, beside a dense matrix.
func TestMatrix(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	const row = 6
	for _, in := range []rows.Init{{}, {Scale: 2}, {Kind: rows.KindUniform, Scale: 1, Seed: seed},
		{Kind: rows.KindNormal, Scale: 1, Seed: seed}} {
		spec := rows.Spec{Key: uint32(r.IntN(5)), Rows: uint64(shape[0]), Row: 4 * row,
			DType: dtype.Float32, Init: in}
		m := touched.Matrix{Array: nd.ZerosOf(nd.RowSparse, shape), Begin: spec}
		want := newOracle(spec)
		for range 60 {
			list := r.Perm(shape[0])[:1+r.IntN(6)]
			ids := make([]int64, len(list))
			for i, id := range list {
				ids[i] = int64(id)
			}
			switch r.IntN(5) {
			case 4: // rows that the array does not store, with their values
				ids = slices.DeleteFunc(ids, func(id int64) bool { return want.touched[id] })
				var values []float32
				for _, id := range ids {
					values = append(values, want.values[row*id:row*(id+1)]...)
				}
				before := m.Array.Version()
				m.Join(nd.RowSparseFromSlices(values, ids, shape))
				if m.Array.Version() != before {
					t.Fatal("Join counts as a change of values")
				}
			case 0:
				before := m.Array.Version()
				m.Touch(nd.FromSlice(append(ids, ids...)))
				if m.Array.Version() != before {
					t.Fatal("Touch counts as a change of values")
				}
			case 1:
				values := make([]float32, row*len(ids))
				for i := range values {
					values[i] = r.Float32()
				}
				m.TouchLike(nd.RowSparseFromSlices(values, ids, shape), true)
				for i, id := range ids {
					copy(want.values[row*int(id):], values[row*i:row*(i+1)])
				}
			case 2:
				values := make([]float32, row*len(ids))
				m.TouchLike(nd.RowSparseFromSlices(values, ids, shape), false)
			case 3:
				out := nd.RowSparseFromSlices(make([]float32, row), []int{3}, shape)
				m.Read("test", out, nd.FromSlice(ids))
				slices.Sort(ids)
				got, err := out.Indices()
				if err != nil || !slices.Equal(got, ids) {
					t.Fatalf("seed %d: rows %v, %v, want %v", seed, got, err, ids)
				}
				all := floats(t, out)
				for _, id := range ids {
					at := row * int(id)
					if !slices.Equal(all[at:at+row], want.values[at:at+row]) {
						t.Fatalf("seed %d: %v: row %d is %v, want %v", seed, in, id,
							all[at:at+row], want.values[at:at+row])
					}
				}
				continue
			}
			for _, id := range ids {
				want.touched[id] = true
			}
			got, err := m.Array.Indices()
			if err != nil || len(got) != len(want.touched) {
				t.Fatalf("seed %d: %d rows, %v, want %d", seed, len(got), err, len(want.touched))
			}
		}
		out := nd.ZerosOf(nd.RowSparse, shape)
		m.Read("test", out, nil)
		if !slices.Equal(floats(t, out), want.values) {
			t.Errorf("seed %d: %v: all rows differ", seed, in)
		}
	}
}

// TestMatrixRange: a number out of range is an error with the name of the call.
func TestMatrixRange(t *testing.T) {
	m := touched.Matrix{Array: nd.ZerosOf(nd.RowSparse, shape)}
	out := nd.ZerosOf(nd.RowSparse, shape)
	m.Read("lookup", out, nd.FromSlice([]int32{30}))
	err := out.Wait(context.Background())
	if err == nil || !strings.Contains(err.Error(), "lookup: row 30, want 0 to 29") {
		t.Errorf("reading row 30 of 30: %v", err)
	}
}
