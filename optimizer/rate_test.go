package optimizer_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// steps updates a weight of 1 by gradients of 1 under the name "w", and returns the weight.
func steps(t *testing.T, u *optimizer.Updater, n int) float64 {
	t.Helper()
	w := nd.Ones(nd.Shape{1}, nd.As(dtype.Float64))
	u.SetName(0, "w")
	for range n {
		if err := u.Update(0, w, nd.Ones(nd.Shape{1}, nd.As(dtype.Float64))); err != nil {
			t.Fatal(err)
		}
	}
	v, err := w.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

func TestUpdaterRates(t *testing.T) {
	none := op.Opt[float64]{}
	for name, c := range map[string]struct {
		opt  optimizer.Optimizer
		set  func(u *optimizer.Updater) error
		want float64
	}{
		"learning rate": {optimizer.SGD{LR: 0.5},
			func(u *optimizer.Updater) error { return u.SetLR(0.25) }, 0.75},
		"learning rate 0": {optimizer.SGD{LR: 0.5},
			func(u *optimizer.Updater) error { return u.SetLR(0) }, 1},
		"factor": {optimizer.SGD{LR: 0.5},
			func(u *optimizer.Updater) error { u.RescaleBy(0.5); return nil }, 0.75},
		"factor times the optimizer's": {
			optimizer.SGD{LR: 0.5, Common: optimizer.Common{Rescale: 0.5}},
			func(u *optimizer.Updater) error { u.RescaleBy(0.5); return nil }, 0.875},
		"multipliers": {optimizer.SGD{LR: 0.5, WD: 1},
			func(u *optimizer.Updater) error {
				u.SetMults("w", op.Some(0.5), op.Some(0.0))
				return nil
			}, 0.75},
		"multipliers of the optimizer": {optimizer.SGD{LR: 0.5, WD: 1, Common: optimizer.Common{
			LRMult: map[string]float64{"w": 0.5}}},
			func(u *optimizer.Updater) error {
				u.SetMults("w", op.Some(2.0), op.Some(2.0))
				u.SetMults("w", none, none)
				return nil
			}, 0.5},
	} {
		u, err := optimizer.NewUpdater(c.opt, nil)
		if err == nil {
			err = c.set(u)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := steps(t, u, 1); got != c.want {
			t.Errorf("%s: weight %v, want %v", name, got, c.want)
		}
		settled, err := u.Settled()
		if name == "learning rate 0" {
			if err == nil {
				t.Errorf("%s, settled: no error", name)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := optimizer.NewUpdater(settled, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := steps(t, again, 1); got != c.want {
			t.Errorf("%s, settled: weight %v, want %v", name, got, c.want)
		}
	}
}

func TestSetLRErrors(t *testing.T) {
	scheduled, err := optimizer.NewUpdater(optimizer.SGD{Common: optimizer.Common{
		Schedule: optimizer.FactorScheduler{Step: 2, Factor: 0.5}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := scheduled.SetLR(0.1); err == nil || !strings.Contains(err.Error(), "FactorScheduler") {
		t.Errorf("with a schedule: %v", err)
	}
	plain, err := optimizer.NewUpdater(optimizer.SGD{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.SetLR(-1); err == nil {
		t.Error("a negative learning rate is accepted")
	}
}
