package graph_test

import (
	"slices"
	"testing"

	"gomx/graph"
	"gomx/op"
	_ "gomx/op/index"
	"gomx/op/loss"
	"gomx/op/prim"
)

// TestStoredGradients demands MXNet's storage types of the gradients of single operators, where heads
// have the storage types of the outputs.
func TestStoredGradients(t *testing.T) {
	x, y := op.Var("x"), op.Var("y")
	for _, c := range []struct {
		out  op.Entry
		x, y op.Storage // of the variables
		want []op.Storage
	}{
		{prim.ElemwiseAdd.Apply(op.NoParams{}, x.Entry(0), y.Entry(0)), op.RowSparse, op.RowSparse,
			[]op.Storage{op.RowSparse, op.RowSparse}},
		{prim.ElemwiseAdd.Apply(op.NoParams{}, x.Entry(0), y.Entry(0)), op.CSR, op.Dense,
			[]op.Storage{op.Dense, op.Dense}},
		{prim.ElemwiseMul.Apply(op.NoParams{}, x.Entry(0), y.Entry(0)), op.Dense, op.RowSparse,
			[]op.Storage{op.Dense, op.Dense}},
		{prim.ElemwiseSub.Apply(op.NoParams{}, x.Entry(0), x.Entry(0)), op.RowSparse, op.Dense,
			[]op.Storage{op.RowSparse, op.Dense}},
		{prim.ElemwiseSub.Apply(op.NoParams{}, x.Entry(0), x.Entry(0)), op.CSR, op.Dense,
			[]op.Storage{op.Dense, op.Dense}},
		{loss.BlockGrad.Apply(op.NoParams{}, x.Entry(0)), op.CSR, op.Dense,
			[]op.Storage{op.CSR, op.Dense}},
		{prim.Equal.Apply(op.NoParams{}, x.Entry(0), y.Entry(0)), op.RowSparse, op.CSR,
			[]op.Storage{op.RowSparse, op.CSR}},
	} {
		got, _, err := graph.StoredGradients([]op.Entry{c.out}, []op.Entry{x.Entry(0), y.Entry(0)},
			func(v *op.Node) op.Storage { return map[*op.Node]op.Storage{x: c.x, y: c.y}[v] })
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s of %v and %v: gradients are %v, %v, want %v", c.out.Node.Op.Name, c.x, c.y,
				got, err, c.want)
		}
	}
}

// TestStored infers the storage types of a factorization machine's first terms and of their
// gradients, as MXNet does.
func TestStored(t *testing.T) {
	x, w, v := op.Var("data"), op.Var("w"), op.Var("v")
	kinds := map[*op.Node]op.Storage{x: op.CSR, w: op.RowSparse, v: op.RowSparse}
	vars := func(n *op.Node) op.Storage { return kinds[n] }
	linear := prim.Dot.Apply(prim.DotParams{}, x.Entry(0), w.Entry(0))
	squares := prim.Square.Apply(op.NoParams{}, x.Entry(0))
	cosines := prim.Cos.Apply(op.NoParams{}, v.Entry(0)) // has no kernel for sparse operands
	both := prim.Dot.Apply(prim.DotParams{}, squares, cosines)
	out := prim.ElemwiseAdd.Apply(op.NoParams{}, linear, both)
	known := graph.Stored([]op.Entry{out}, vars)
	want := map[op.Entry]op.Storage{x.Entry(0): op.CSR, w.Entry(0): op.RowSparse,
		v.Entry(0): op.RowSparse, squares: op.CSR}
	for e, s := range want {
		if known[e] != s {
			t.Errorf("%v is %v, want %v", e, known[e], s)
		}
	}
	if len(known) != len(want) {
		t.Errorf("%d sparse entries %v, want %d", len(known), known, len(want))
	}
	got, composed, err := graph.StoredGradients([]op.Entry{out}, []op.Entry{x.Entry(0), w.Entry(0),
		v.Entry(0)}, vars)
	if want := []op.Storage{op.Dense, op.RowSparse, op.RowSparse}; err != nil ||
		!slices.Equal(got, want) || !composed {
		t.Errorf("gradients are %v, composed %t, %v, want %v", got, composed, err, want)
	}
}
