package kvstore

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/hostile"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/update"
	"gomx/kvstore/wire"
	"gomx/optimizer"
)

// TestHostileOptimizers gives servers damaged specifications of optimizers, as a worker sends them,
// and lets those that are accepted update a value.
func TestHostileOptimizers(t *testing.T) {
	var seeds [][]byte
	schedule := optimizer.FactorScheduler{Step: 2, Factor: 0.5}
	list := []optimizer.Optimizer{optimizer.SGD{LR: 0.1, Momentum: 0.9,
		Common: optimizer.Common{Schedule: schedule, LRMult: map[string]float64{"w": 2}}}}
	for _, name := range optimizer.Names() {
		o, err := optimizer.New(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	for _, o := range list {
		p := update.Spec{Names: []string{"w", "b"}, Rounds: true,
			States: []update.SliceState{{Key: 0, State: make([]byte, update.ProgressSize+4)}}}
		s, err := p.Encode(2, o)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, s.Params)
	}
	hostile.Kind{Name: "optimizer", Seeds: seeds, Text: true, Decode: func(b []byte) (err error) {
		u, err := update.New()
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		err = u.SetSpec(wire.Spec{Version: 2, Name: "sgd", Params: b})
		value, grad := make([]byte, 64), make([]byte, 64)
		for range 3 {
			if u.Active() {
				u.Update(server.Update{DType: dtype.Float32, Dst: value, Value: value, Grad: grad,
					Contributors: 1, Count: 2, Version: 1})
			}
		}
		u.AppendState(nil, ps.ID{})
		return err
	}}.Run(t)
}

// TestHostileOptimizerStates gives servers damaged states of slices, as transfers and snapshots
// hold them, and goes on from those that are accepted.
func TestHostileOptimizerStates(t *testing.T) {
	for _, o := range []optimizer.Optimizer{
		optimizer.SGD{LR: 0.1, Momentum: 0.9,
			Common: optimizer.Common{Schedule: optimizer.FactorScheduler{Step: 2, Factor: 0.5}}},
		optimizer.SGD{LR: 0.1, Common: optimizer.Common{Schedule: optimizer.MultiFactorScheduler{Step: []int{2, 5}, Factor: 0.5}}},
		optimizer.Adam{}, optimizer.Nadam{}, optimizer.LBSGD{}, optimizer.FTML{},
	} {
		var p update.Spec
		spec, err := p.Encode(2, o)
		if err != nil {
			t.Fatal(err)
		}
		value, grad := make([]byte, 64), make([]byte, 64)
		step := func(u *update.Updater) []byte {
			for range 3 {
				u.Update(server.Update{DType: dtype.Float32, Dst: value, Value: value, Grad: grad,
					Contributors: 1, Count: 2, Version: 1})
			}
			return u.AppendState(nil, ps.ID{})
		}
		updater := func() *update.Updater {
			u, err := update.New()
			if err == nil {
				err = u.SetSpec(spec)
			}
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		u := updater()
		state := step(u)
		u.Close()
		hostile.Kind{Name: "state of " + o.Name(), Seeds: [][]byte{state},
			Decode: func(b []byte) error {
				u := updater()
				defer u.Close()
				err := u.SetState(ps.ID{}, b)
				step(u)
				return err
			}}.Run(t)
	}
}
