package exec_test

import (
	"slices"
	"strings"
	"testing"

	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// linearNet is a linear model of sparse data.
func linearNet() *sym.Symbol {
	x := sym.Var("data", sym.StorageType(sym.StorageCSR))
	w := sym.Var("weight", sym.StorageType(sym.StorageRowSparse))
	y := sym.BroadcastAdd(sym.Dot(x, w, sym.DotParams{}), sym.Var("bias"))
	return sym.LinearRegressionOutput(y, sym.RegressionParams{}, sym.With("label", sym.Var("label")))
}

// TestSparseGraphs binds a linear model with its storage types, and feeds it sparse and dense data.
func TestSparseGraphs(t *testing.T) {
	ex, err := linearNet().SimpleBind(sym.BindConfig{Shapes: map[string]nd.Shape{"data": {2, 4},
		"weight": {4, 1}, "bias": {1}, "label": {2, 1}}, GradReq: map[string]op.Req{
		"data": op.ReqNull, "label": op.ReqNull}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	for _, tt := range []struct {
		name string
		a    *nd.Array
		want nd.Storage
	}{{"data", ex.Args["data"], nd.CSR}, {"weight", ex.Args["weight"], nd.RowSparse},
		{"bias", ex.Args["bias"], nd.Dense},
		{"gradient of weight", ex.Grads["weight"], nd.RowSparse},
		{"gradient of bias", ex.Grads["bias"], nd.Dense}} {
		if got := tt.a.Storage(); got != tt.want {
			t.Errorf("%s is %v, want %v", tt.name, got, tt.want)
		}
	}
	nd.FromSlice([]float32{1, 2, 3, 4}, 4, 1).CopyInto(ex.Args["weight"])
	ex.Args["bias"].Fill(1)
	x := nd.CSRFromSlices([]float32{1, 2, 3}, []int{0, 2, 2}, []int{0, 2, 3}, nd.Shape{2, 4})
	for _, data := range []*nd.Array{x, x.ToStorage(nd.Dense)} {
		if err := ex.Feed("data", data); err != nil {
			t.Fatal(err)
		}
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		expect(t, ex.Outputs()[0], []int{2, 1}, 8, 10)
		if err := ex.Backward(); err != nil {
			t.Fatal(err)
		}
		expect(t, ex.Grads["weight"], []int{4, 1}, 8, 0, 46, 0)
		expect(t, ex.Grads["bias"], []int{1}, 18)
		if rows, err := ex.Grads["weight"].Indices(); err != nil ||
			!slices.Equal(rows, []int64{0, 2}) {
			t.Errorf("the gradient stores rows %v, %v, want 0 and 2", rows, err)
		}
	}
	if _, err := ex.MemoryPlan(true); err == nil ||
		!strings.Contains(err.Error(), `argument "data" is csr`) {
		t.Errorf("a plan of the memory: got %v, want that there is none", err)
	}
}

// TestSparseGradientsOfDenseArguments: an embedding's option makes the gradient row_sparse; an
// operator without a sparse kernel after it changes nothing.
func TestSparseGradientsOfDenseArguments(t *testing.T) {
	e := sym.Embedding(sym.Var("ids"), sym.EmbeddingParams{InputDim: 5, OutputDim: 2,
		SparseGrad: true}, sym.With("weight", sym.Var("w")))
	ex, err := sym.Sum(sym.Cos(e), sym.ReduceParams{}).SimpleBind(sym.BindConfig{
		Args:    map[string]*nd.Array{"ids": nd.FromSlice([]float32{3, 1, 3})},
		GradReq: map[string]op.Req{"ids": op.ReqNull}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	ex.Args["w"].Fill(1)
	nettest.Step(t, ex)
	if got := ex.Grads["w"].Storage(); got != nd.RowSparse {
		t.Errorf("the gradient is %v", got)
	}
	const s = -0.84147098
	expect(t, ex.Grads["w"], []int{5, 2}, 0, 0, s, s, 0, 0, 2*s, 2*s, 0, 0)
	if rows, err := ex.Grads["w"].Indices(); err != nil || !slices.Equal(rows, []int64{1, 3}) {
		t.Errorf("the gradient stores rows %v, %v, want 1 and 3", rows, err)
	}
	if _, err := ex.MemoryPlan(true); err != nil {
		t.Errorf("the graph has no plan of the memory: %v", err)
	}
}

// TestGradientsInATypeThatNoOperatorGives: a given row_sparse array takes the gradient of a layer,
// and of a table that is read twice.
func TestGradientsInATypeThatNoOperatorGives(t *testing.T) {
	ids, w := sym.Var("ids"), sym.Var("w")
	p := sym.EmbeddingParams{InputDim: 4, OutputDim: 2, SparseGrad: true}
	twice := sym.ElemwiseAdd(sym.Embedding(ids, p, sym.With("weight", w)),
		sym.Embedding(sym.Var("more"), p, sym.With("weight", w)))
	net := sym.Sum(sym.BroadcastMul(twice, sym.Var("factor")), sym.ReduceParams{})
	for _, req := range []op.Req{op.ReqWrite, op.ReqNull} {
		ex, err := net.SimpleBind(sym.BindConfig{Args: map[string]*nd.Array{
			"ids": nd.FromSlice([]float32{3, 1}), "more": nd.FromSlice([]float32{1, 1}),
			"factor": nd.FromSlice([]float32{2, 3}, 1, 2)},
			Grads:   map[string]*nd.Array{"factor": nd.ZerosOf(nd.RowSparse, nd.Shape{1, 2})},
			GradReq: map[string]op.Req{"ids": op.ReqNull, "more": op.ReqNull, "w": req}})
		if err != nil {
			t.Fatal(err)
		}
		defer ex.Close()
		ex.Args["w"].Fill(1)
		nettest.Step(t, ex)
		if _, err := ex.MemoryPlan(true); (err != nil) != (req == op.ReqWrite) {
			t.Errorf("request %v: a plan of the memory: %v", req, err)
		}
		if req == op.ReqWrite {
			expect(t, ex.Grads["w"], []int{4, 2}, 0, 0, 6, 9, 0, 0, 2, 3)
		}
		expect(t, ex.Grads["factor"], []int{1, 2}, 4, 4)
		if got := ex.Grads["factor"].Storage(); got != nd.RowSparse {
			t.Errorf("the gradient of factor is %v", got)
		}
	}
}
