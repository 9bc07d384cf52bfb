package gluon_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// tableWords is the number of rows of the tables.
const tableWords = 60

// tableNet returns a network with a table, whose values are row_sparse or dense, and a dense layer.
func tableNet(t *testing.T, sparse bool, init initializer.Initializer) *gluon.Net {
	t.Helper()
	net := gluon.New(nn.Sequential{&nn.Embedding{Rows: tableWords, Units: 4, SparseGrad: true,
		SparseWeight: sparse, WeightInit: init}, &nn.Dense{Units: 2}})
	if err := net.Init(initializer.Uniform{Scale: 1}, gluon.Seed(11)); err != nil {
		t.Fatal(err)
	}
	return net
}

// table returns the table of a network.
func table(net *gluon.Net) *gluon.Param { return net.Params().Get("0.weight") }

// allRows reads all rows of a table.
func allRows(t *testing.T, p *gluon.Param) []float32 {
	t.Helper()
	a := p.Data()
	if p.Storage == nd.RowSparse {
		var err error
		if a, err = p.RowSparseData(nd.Arange(0, float64(p.Shape[0]), 1)); err != nil {
			t.Fatal(err)
		}
	}
	v, err := a.ToStorage(nd.Dense).Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// alike gives the table of a dense network the values of the table of a sparse one.
func alike(t *testing.T, sparse, dense *gluon.Net) {
	t.Helper()
	if err := table(dense).Set(nd.FromSlice(allRows(t, table(sparse)), tableWords, 4)); err != nil {
		t.Fatal(err)
	}
}

// TestRowSparseParameter: a table that makes its rows at the first touch trains bit for bit like a
// dense one with the same values, and has memory for the rows that were looked up alone.
func TestRowSparseParameter(t *testing.T) {
	seed := rand.Uint64()
	for name, o := range map[string]optimizer.Optimizer{
		"sgd":      optimizer.SGD{LR: 0.1, WD: 0.01},
		"momentum": optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.01},
		"adam":     optimizer.Adam{LR: 0.1},
		"adagrad":  optimizer.AdaGrad{LR: 0.1},
	} {
		for _, init := range []initializer.Initializer{nil, initializer.Zero{},
			initializer.Normal{Sigma: 1}, initializer.Constant{Value: 0.5}, initializer.Xavier{}} {
			r := rand.New(rand.NewPCG(seed, 1))
			nets := []*gluon.Net{tableNet(t, true, init), tableNet(t, false, init)}
			alike(t, nets[0], nets[1])
			var trainers []*gluon.Trainer
			for _, net := range nets {
				trainer, err := gluon.NewTrainer(net.Params(), o)
				if err != nil {
					t.Fatal(err)
				}
				trainers = append(trainers, trainer)
			}
			touched := map[int]bool{}
			for range 6 {
				ids := make([]float32, 8)
				for i := range ids {
					ids[i] = float32(r.IntN(20))
					touched[int(ids[i])] = true
				}
				var losses [][]float32
				for i, net := range nets {
					y := net.Forward(autograd.Train().Watch(nd.FromSlice(ids)))
					l := y.Square().Sum()
					l.Backward()
					losses = append(losses, floats(t, l))
					if err := trainers[i].Step(8); err != nil {
						t.Fatal(err)
					}
				}
				if !slices.Equal(losses[0], losses[1]) {
					t.Fatalf("seed %d: %s, %T: loss %v, a dense table has %v", seed, name, init,
						losses[0], losses[1])
				}
			}
			if got, want := allRows(t, table(nets[0])), allRows(t, table(nets[1])); !slices.Equal(got,
				want) {
				t.Errorf("seed %d: %s, %T: other rows than a dense table", seed, name, init)
			}
			held, err := table(nets[0]).Data().Indices()
			if _, all := init.(initializer.Xavier); err != nil || !all && len(held) != len(touched) {
				t.Errorf("%s, %T: %d rows have memory, %v, want %d", name, init, len(held), err,
					len(touched))
			}
		}
	}
}

// TestRowSparseParameterRefuses lists calls that make no sense for a row_sparse parameter.
func TestRowSparseParameterRefuses(t *testing.T) {
	caught := func(f func()) (err error) {
		defer op.Recover(&err)
		f()
		return nil
	}
	net := tableNet(t, true, nil)
	p := table(net)
	x := nd.FromSlice([]float32{1, 2})
	big := func(init initializer.Initializer, s gluon.Spec) error {
		s.Storage = nd.RowSparse
		if s.Shape = (nd.Shape{1 << 31, 16}); init != nil {
			s.Init = init
		}
		net := gluon.New(&oneParam{gluon.NewParam(s)})
		return net.Init(initializer.Normal{})
	}
	step := func(o optimizer.Optimizer, opts ...gluon.TrainerOption) error {
		net := tableNet(t, true, nil)
		trainer, err := gluon.NewTrainer(net.Params(), o, opts...)
		if err != nil {
			return err
		}
		net.Forward(autograd.Train().Watch(x)).Backward()
		err = trainer.Step(2)
		if again := trainer.Step(2); err != nil && again == nil {
			t.Errorf("%v: the second step hides the error", err)
		}
		return err
	}
	_, dense := tableNet(t, false, nil).Params().Get("0.weight").RowSparseData(x)
	other := gluon.NewParam(gluon.Spec{Shape: nd.Shape{2}, Storage: nd.RowSparse})
	_, empty := other.RowSparseData(x)
	for want, err := range map[string]error{
		"it is row_sparse, and the layer reads all of it": caught(func() { p.At(x) }),
		"it is dense, want a row_sparse parameter":        dense,
		"call Init or Load first":                         empty,
		"makes no row alone":                              big(initializer.Xavier{}, gluon.Spec{}),
		"State or Fixed":                                  big(nil, gluon.Spec{State: true}),
		"changes rows without gradients":                  step(optimizer.SGD{LR: 1, WD: 1, NoLazyUpdate: true}),
		"it is default, the other is row_sparse":          tableNet(t, false, nil).Share(net.Params()),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := big(nil, gluon.Spec{}); err != nil {
		t.Errorf("a table of 2^37 bytes: %v", err)
	}
}

// oneParam is a block with one parameter.
type oneParam struct{ Weight *gluon.Param }

func (b *oneParam) Forward(x *nd.Array) *nd.Array { return b.Weight.At(x) }

// floats reads an array.
func floats(t *testing.T, a *nd.Array) []float32 {
	t.Helper()
	v, err := a.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
