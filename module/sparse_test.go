package module_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
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

// TestFitLibSVM fits a logistic regression to lines in LibSVM's format, stored and dense alike.
func TestFitLibSVM(t *testing.T) {
	const features = 12
	r := rand.New(rand.NewPCG(3, 4))
	var file bytes.Buffer
	for range 600 {
		k := r.IntN(features)
		fmt.Fprintf(&file, "%d %d:1 %d:%.2f\n", k%2, k, (k+5)%features, 0.2*r.Float64())
	}
	path := filepath.Join(t.TempDir(), "data.svm")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *dataio.TextIter {
		it, err := dataio.LibSVMIter(dataio.LibSVMConfig{TextConfig: dataio.TextConfig{Data: path,
			DataShape: nd.Shape{features}, BatchSize: 16, Shuffle: true, Seed: 5}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = it.Close() })
		return it
	}
	var losses [2]float64
	for i, stored := range []sym.Storage{sym.StorageCSR, sym.StorageDefault} {
		weight := sym.StorageType(sym.StorageDefault)
		if stored == sym.StorageCSR {
			weight = sym.StorageType(sym.StorageRowSparse)
		}
		y := sym.Dot(sym.Var("data", sym.StorageType(stored)),
			sym.Var("weight", sym.Shape(features, 2), weight), sym.DotParams{})
		y = sym.BroadcastAdd(y, sym.Var("bias", sym.Shape(1, 2)))
		m := module.New(sym.SoftmaxOutput(y, sym.SoftmaxOutputParams{}, sym.Name("softmax")))
		train, err := dataio.Prefetch(open(), 2)
		if err != nil {
			t.Fatal(err)
		}
		defer train.Close()
		err = m.Fit(t.Context(), train, module.Epochs(3), module.Validate(open()),
			module.Optimize(optimizer.SGD{LR: 0.5}), module.Init(initializer.Zero{}),
			module.Metric(metric.CrossEntropy()))
		if err != nil {
			t.Fatal(err)
		}
		epochs := m.History().Epochs
		losses[i], _ = epochs[len(epochs)-1].Validation.Get("cross-entropy")
	}
	if d := losses[0] - losses[1]; losses[0] > 0.2 || d > 1e-4 || d < -1e-4 {
		t.Errorf("losses %v of stored and dense samples, want equal ones below 0.2", losses)
	}
}
