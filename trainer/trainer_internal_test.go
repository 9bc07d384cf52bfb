package trainer

import (
	"slices"
	"testing"

	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// given is a list of gradients of one parameter, "w", one per device.
type given []*nd.Array

func (g given) Of(string) []*nd.Array { return g }

func (g given) Firsts() map[string]*nd.Array { return map[string]*nd.Array{"w": g[0]} }

func TestTrainerStepsAlone(t *testing.T) {
	weights := []*nd.Array{nd.Full(1, nd.Shape{2}), nd.Full(1, nd.Shape{2})}
	grads := given{nd.Full(3, nd.Shape{2}), nd.Full(5, nd.Shape{2})}
	var tr Trainer
	if err := tr.Track([]Param{{Name: "w", Weights: weights}}); err != nil {
		t.Fatal(err)
	}
	if err := tr.Step(grads, 1); err == nil {
		t.Error("a step without an optimizer succeeds")
	}
	u, err := optimizer.NewUpdater(optimizer.SGD{LR: 0.5}, []string{"w"})
	if err != nil {
		t.Fatal(err)
	}
	u.SetRescale(1. / 4)
	tr.SetUpdater(u)
	if err := tr.Reduce(grads); err != nil {
		t.Fatal(err)
	}
	if err := tr.Step(grads, 1); err != nil {
		t.Fatal(err)
	}
	for k, w := range weights { // 1 - 0.5 * (3+5)/4
		if v, err := w.Float32s(); err != nil || !slices.Equal(v, []float32{0, 0}) {
			t.Errorf("weights on device %d are %v, %v, want 0", k, v, err)
		}
	}
	if err := tr.Track(tr.params); err != nil {
		t.Error(err)
	}
}

// TestSparseGradientsStaySparse trains with row_sparse gradients of two devices, alone and in a store
// of this process: their sum is row_sparse, and rows without gradients keep their momentum and their
// weight decay to themselves.
func TestSparseGradientsStaySparse(t *testing.T) {
	shape := nd.Shape{3, 1}
	var notices []string
	old := op.NoticesTo(func(text string) { notices = append(notices, text) })
	defer func() { op.NoticesTo(old) }()
	run := func(store string) []float32 {
		t.Helper()
		w := []*nd.Array{nd.Full(1, shape), nd.Full(1, shape)}
		tr := &Trainer{}
		if err := tr.Track([]Param{{Name: "w", Weights: w}}); err != nil {
			t.Fatal(err)
		}
		u, err := optimizer.NewUpdater(optimizer.SGD{LR: 0.5, Momentum: 0.5, WD: 0.125}, nil)
		if err != nil {
			t.Fatal(err)
		}
		tr.SetUpdater(u)
		if store != "" {
			kv, err := kvstore.Open(t.Context(), store)
			if err == nil {
				err = tr.UseStore(t.Context(), kv, StoreUse{Grads: given{nd.Ones(shape)},
					Aux: func() []AuxState { return nil }, Settle: func() {}})
			}
			if err != nil {
				t.Fatal(err)
			}
			defer kv.Close()
		}
		for _, rows := range [][2]int{{0, 0}, {2, 0}} {
			g := given{nd.RowSparseFromSlices([]float32{1}, []int{rows[0]}, shape),
				nd.RowSparseFromSlices([]float32{2}, []int{rows[1]}, shape)}
			if err := tr.Reduce(g); err != nil {
				t.Fatal(err)
			}
			if g[0].Storage() != nd.RowSparse {
				t.Errorf("%q: the sum is %v", store, g[0].Storage())
			}
			if err := tr.Step(g, 1); err != nil {
				t.Fatal(err)
			}
		}
		v, err := w[1].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := run("")
	if want[1] != 1 {
		t.Errorf("weights %v: row 1 has no gradient and has changed", want)
	}
	if got := run("device"); !slices.Equal(got, want) {
		t.Errorf("a store makes %v, want %v", got, want)
	}
	if len(notices) > 0 {
		t.Errorf("notices %q", notices)
	}
}

// bare is a store that has no ability beside the core of all stores.
type bare struct{ kvstore.Store }

func TestTrainerNamesMissingAbility(t *testing.T) {
	kv, err := kvstore.Open(t.Context(), "local")
	if err != nil {
		t.Fatal(err)
	}
	defer kv.Close()
	var tr Trainer
	err = tr.UseStore(t.Context(), bare{kv}, StoreUse{Batch: 1})
	want := `kvstore: UseStore: found the store "local", want one that is a kvstore.Updater`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
