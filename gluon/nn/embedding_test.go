package nn_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// TestSparseGrad trains an embedding by row_sparse gradients, line by line, hybridized, and with a
// store that the program has opened, beside one with dense gradients. Plain gradient descent without
// decay gives the same values.
func TestSparseGrad(t *testing.T) {
	var notices []string
	old := op.NoticesTo(func(text string) { notices = append(notices, text) })
	defer func() { op.NoticesTo(old) }()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	const rows, units = 40, 3
	type model struct {
		net     *gluon.Net
		table   *nn.Embedding
		trainer *gluon.Trainer
	}
	var list []model
	for i := range 4 {
		e := &nn.Embedding{Rows: rows, Units: units, SparseGrad: i > 0}
		net := gluon.New(nn.Sequential{e, &nn.Dense{Units: 2}})
		if err := net.Init(initializer.Uniform{Scale: 1}, gluon.Seed(7)); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			net.Hybridize()
		}
		var opts []gluon.TrainerOption
		if i == 3 {
			kv, err := kvstore.Open(t.Context(), "local")
			if err != nil {
				t.Fatal(err)
			}
			defer kv.Close()
			opts = append(opts, gluon.StoreWith(kv))
		}
		trainer, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 0.5}, opts...)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, model{net, e, trainer})
	}
	for range 4 {
		ids := make([]float32, 8)
		for i := range ids {
			ids[i] = float32(r.IntN(rows))
		}
		for _, m := range list {
			y := m.net.Forward(autograd.Train().Watch(nd.FromSlice(ids)))
			y.Square().Sum().Backward()
			if err := m.trainer.Step(len(ids)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := floats(t, list[0].table.Weight.Data())
	for i, m := range list[1:] {
		if got := m.table.Weight.Grad().Storage(); got != nd.RowSparse {
			t.Errorf("model %d: the gradient is %v, want row_sparse", i+1, got)
		}
		for k, v := range floats(t, m.table.Weight.Data()) {
			if d := v - want[k]; d > 1e-5 || d < -1e-5 {
				t.Fatalf("seed %d: model %d: element %d is %v, want %v", seed, i+1, k, v, want[k])
			}
		}
	}
	if len(notices) != 0 {
		t.Errorf("notices %q, want none", notices)
	}
}

// tied reads one table twice.
type tied struct{ Table *nn.Embedding }

func (b *tied) Forward(x *nd.Array) *nd.Array {
	return b.Table.Forward(x).Mul(b.Table.Forward(x.AddScalar(1)))
}

// TestTiedSparseGrad: a hybridized network whose row_sparse gradient is a sum runs line by line.
func TestTiedSparseGrad(t *testing.T) {
	var notices []string
	old := op.NoticesTo(func(text string) { notices = append(notices, text) })
	defer func() { op.NoticesTo(old) }()
	e := &nn.Embedding{Rows: 6, Units: 1, SparseGrad: true, WeightInit: initializer.One{}}
	net := gluon.New(&tied{e})
	if err := net.Init(initializer.One{}); err != nil {
		t.Fatal(err)
	}
	net.Hybridize()
	for range 2 {
		net.Forward(autograd.Train().Watch(nd.FromSlice([]float32{1, 2, 2}))).Backward()
	}
	want := []float32{0, 1, 3, 2, 0, 0}
	if got := floats(t, e.Weight.Grad()); !slices.Equal(got, want) {
		t.Errorf("gradient %v, want %v", got, want)
	}
	if got := e.Weight.Grad().Storage(); got != nd.RowSparse {
		t.Errorf("the gradient is %v", got)
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "runs line by line") {
		t.Errorf("notices %q, want one that the network runs line by line", notices)
	}
}

func floats(t *testing.T, a *nd.Array) []float32 {
	t.Helper()
	v, err := a.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
