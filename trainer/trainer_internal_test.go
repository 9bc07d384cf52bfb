package trainer

import (
	"slices"
	"testing"

	"gomx/kvstore"
	nd "gomx/ndarray"
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
