package module_test

import (
	"math/rand/v2"
	"testing"

	dataio "gomx/io"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// TestSparseModule trains a linear model with sparse data and weights, and the same model with
// dense ones.
func TestSparseModule(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	const batch, features = 4, 9
	net := func(data, weight sym.Storage) *sym.Symbol {
		w := sym.Var("weight", sym.Shape(features, 1), sym.StorageType(weight))
		y := sym.Dot(sym.Var("data", sym.StorageType(data)), w, sym.DotParams{})
		return sym.LinearRegressionOutput(sym.BroadcastAdd(y, sym.Var("bias", sym.Shape(1))),
			sym.RegressionParams{}, sym.With("label", sym.Var("label")))
	}
	weight := nd.Uniform(-1, 1, nd.Shape{features, 1})
	bind := func(s *sym.Symbol) *module.Module {
		m := module.New(s, module.Data("data"), module.Labels("label"))
		err := m.Bind([]dataio.Desc{{Name: "data", Shape: nd.Shape{batch, features}}},
			[]dataio.Desc{{Name: "label", Shape: nd.Shape{batch, 1}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SetParams(map[string]*nd.Array{"weight": weight, "bias": nd.Zeros(nd.Shape{1})},
			nil); err != nil {
			t.Fatal(err)
		}
		if err := m.InitOptimizer(optimizer.AdaGrad{LR: 0.1}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	sparse := bind(net(sym.StorageCSR, sym.StorageRowSparse))
	dense := bind(net(sym.StorageDefault, sym.StorageDefault))
	for range 5 {
		var values []float32
		var rows, columns []int
		for i := range batch {
			for k := range features {
				if r.Float64() < 0.2 {
					values, rows, columns = append(values, r.Float32()), append(rows, i),
						append(columns, k)
				}
			}
		}
		x := nd.CSRFromCOO(values, rows, columns, nd.Shape{batch, features})
		label := nd.Uniform(-1, 1, nd.Shape{batch, 1})
		for _, m := range []*module.Module{sparse, dense} {
			if err := m.ForwardBackward(&dataio.Batch{Data: []*nd.Array{x},
				Label: []*nd.Array{label}}); err != nil {
				t.Fatal(err)
			}
			if err := m.Update(); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, _ := sparse.Params()
	b, _ := dense.Params()
	if a["weight"].Storage() != nd.RowSparse {
		t.Errorf("the weight is %v", a["weight"].Storage())
	}
	for name := range a {
		x, err := a[name].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		y, err := b[name].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		for i := range x {
			if d := x[i] - y[i]; d > 1e-5 || d < -1e-5 {
				t.Errorf("seed %d: %s[%d] is %v, the dense model has %v", seed, name, i, x[i], y[i])
			}
		}
	}
}
