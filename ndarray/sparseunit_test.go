package ndarray_test

import (
	"slices"
	"testing"

	"gomx/autograd"
	nd "gomx/ndarray"
	"gomx/op"
)

// TestSparseCalls makes the calls of MXNet's tests of sparse arrays, whose answers were taken from
// MXNet 1.9.1: storage types, shapes and values.
func TestSparseCalls(t *testing.T) {
	x := func(values ...float32) *nd.Array { return nd.FromSlice(values, 2, 3) }
	one, all := x(1, 0, 2, 0, 0, 3), x(1, 0, 0, 4, 0, 3)
	const same = op.Storage(255) // the storage type of the operands
	calls := []struct {
		name  string
		f     func(a, b *nd.Array) *nd.Array
		csr   op.Storage
		rows  op.Storage
		shape nd.Shape
		want  []float64 // nil: as for dense operands
	}{
		{"+", func(a, b *nd.Array) *nd.Array { return a.Add(b) }, same, same, nil, nil},
		{"-", func(a, b *nd.Array) *nd.Array { return a.Sub(b) }, same, same, nil, nil},
		{"*", func(a, b *nd.Array) *nd.Array { return a.Mul(b) }, same, same, nil, nil},
		{"**", func(a, b *nd.Array) *nd.Array { return nd.Power(a, b) }, op.Dense, op.Dense, nil,
			[]float64{1, 1, 1, 0, 1, 27}},
		{">", func(a, b *nd.Array) *nd.Array { return nd.Greater(a, b) }, op.Dense, op.Dense, nil,
			[]float64{0, 0, 1, 0, 0, 0}},
		{"==", func(a, b *nd.Array) *nd.Array { return nd.Equal(a, b) }, op.Dense, op.Dense, nil,
			[]float64{1, 1, 0, 0, 1, 1}},
		{"T", func(a, _ *nd.Array) *nd.Array { return a.T() }, op.Dense, op.Dense, nd.Shape{3, 2},
			[]float64{1, 0, 0, 0, 2, 3}},
		{"negative", func(a, _ *nd.Array) *nd.Array { return nd.Negative(a) }, same, same, nil, nil},
		{"concat 0", func(a, b *nd.Array) *nd.Array {
			return nd.Concat([]*nd.Array{a, b}, nd.ConcatParams{Dim: op.Some(0)})
		}, same, op.Dense, nd.Shape{4, 3}, nil},
		{"concat 1", func(a, b *nd.Array) *nd.Array {
			return nd.Concat([]*nd.Array{a, b}, nd.ConcatParams{Dim: op.Some(1)})
		}, op.Dense, op.Dense, nd.Shape{2, 6}, nil},
		{"broadcast_to", func(a, _ *nd.Array) *nd.Array { return a.BroadcastTo(2, 3) }, op.Dense,
			op.Dense, nil, nil},
		{"copy into", func(a, b *nd.Array) *nd.Array {
			c := nd.ZerosOf(b.Storage(), a.Shape())
			a.ToStorage(nd.Dense).CopyInto(c)
			return c
		}, same, same, nil, nil},
		{"dot of forward_stype csr", func(a, b *nd.Array) *nd.Array {
			return nd.Dot(a, b, nd.DotParams{TransposeB: true, ForwardStype: "csr"})
		}, op.CSR, op.CSR, nd.Shape{2, 2}, []float64{1, 10, 0, 9}},
	}
	for _, storage := range []op.Storage{op.CSR, op.RowSparse} {
		for _, c := range calls {
			got := c.f(one.ToStorage(storage), all.ToStorage(storage))
			stored, shape := c.csr, c.shape
			if storage == op.RowSparse {
				stored = c.rows
			}
			if stored == same {
				stored = storage
			}
			if shape == nil {
				shape = one.Shape()
			}
			if got.Storage() != stored || !got.Shape().Equal(shape) {
				t.Errorf("%s of %v: %v of shape %v, want %v of shape %v", c.name, storage,
					got.Storage(), got.Shape(), stored, shape)
			}
			want := c.want
			if want == nil {
				var err error
				if want, err = c.f(one, all).Float64s(); err != nil {
					t.Fatal(err)
				}
			}
			if v, err := got.ToStorage(nd.Dense).Float64s(); err != nil || !slices.Equal(v, want) {
				t.Errorf("%s of %v: %v, %v, want %v", c.name, storage, v, err, want)
			}
		}
	}
}

// TestSparseOutputs writes results of operators without sparse kernels into sparse arrays, random
// numbers among them: they have the values of dense outputs.
func TestSparseOutputs(t *testing.T) {
	ones := nd.Ones(nd.Shape{2, 3})
	for _, storage := range []op.Storage{op.Dense, op.CSR, op.RowSparse} {
		out := nd.ZerosOf(storage, nd.Shape{2, 3})
		if err := nd.InvokeInto(op.Lookup("broadcast_add"), nil, []*nd.Array{ones, ones},
			[]*nd.Array{out}); err != nil {
			t.Fatal(err)
		}
		v, err := out.ToStorage(nd.Dense).Float64s()
		if err != nil || !slices.Equal(v, []float64{2, 2, 2, 2, 2, 2}) {
			t.Errorf("broadcast_add into %v: %v, %v", storage, v, err)
		}
		o := op.Lookup("_random_uniform")
		params, err := o.ParseParams(map[string]string{"shape": "(2, 3)"})
		if err != nil {
			t.Fatal(err)
		}
		if err := nd.InvokeInto(o, params, nil, []*nd.Array{out}); err != nil {
			t.Fatal(storage, err)
		}
		v, err = out.ToStorage(nd.Dense).Float64s()
		if err != nil || slices.Max(v) <= 0 || slices.Max(v) >= 1 {
			t.Errorf("random numbers into %v: %v, %v", storage, v, err)
		}
	}
}

// TestSparseDotOfMoreAxes: a product of arrays of more axes than two that forward_stype makes sparse
// has the gradients of the dense one.
func TestSparseDotOfMoreAxes(t *testing.T) {
	gradient := func(s op.Storage, stype string) []float64 {
		x := nd.FromSlice([]float32{1, 2, 3, 4}, 2, 2).ToStorage(s)
		y := nd.FromSlice([]float32{1, 0, 2, 0, 3, 1, 0, 5}, 2, 2, 2).ToStorage(s)
		x.AttachGrad()
		out := nd.Dot(autograd.Train().Watch(x), y, nd.DotParams{ForwardStype: stype})
		if err := autograd.Backward([]*nd.Array{out.ToStorage(nd.Dense)}); err != nil {
			t.Fatal(err)
		}
		v, err := x.Grad().ToStorage(nd.Dense).Float64s()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := gradient(nd.Dense, "None")
	if got := gradient(nd.RowSparse, "row_sparse"); !slices.Equal(got, want) {
		t.Errorf("gradient %v, want %v", got, want)
	}
}
