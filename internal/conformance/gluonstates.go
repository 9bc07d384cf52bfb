package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gomx/checkpoint"
	"gomx/gluon"
	nd "gomx/ndarray"
)

// trainerStates trains, compares parameters and states with MXNet's files, and goes on from the
// files.
func (c *filesCase) trainerStates(env Env) error {
	for _, resumed := range []bool{false, true} {
		if err := c.trainFrom(env, resumed); err != nil {
			return fmt.Errorf("resumed %v: %w", resumed, err)
		}
	}
	return nil
}

// trainFrom trains from the first step, or from the files that MXNet has saved after some steps.
func (c *filesCase) trainFrom(env Env, resumed bool) error {
	var params []blockParam
	var names []string
	for _, r := range c.Arrays {
		params = append(params, blockParam{Name: r.Name, Shape: r.Shape,
			Fill: c.FillBase + "/" + r.Name})
		names = append(names, r.Name)
	}
	slices.Sort(names) // as the order of MXNet's names, which count the layers
	loss := &blockSpec{Class: "SoftmaxCrossEntropyLoss"}
	r, err := newGluonRun(c.Net, loss, params, env.Device)
	if err != nil {
		return err
	}
	if err := r.train(c.Optimizer, c.OptimizerParams, nil, gluon.Order(names...)); err != nil {
		return err
	}
	x, err := c.X.upload(env.Device)
	if err != nil {
		return err
	}
	y, err := c.Y.upload(env.Device)
	if err != nil {
		return err
	}
	if !resumed {
		if err := c.trainSteps(&r, x, y, c.LossesBefore); err != nil {
			return err
		}
		if err := c.compareStates(env, &r, names); err != nil {
			return err
		}
	} else {
		if err := r.net.Load(env.Golden.Path(filesFolder + c.File)); err != nil {
			return err
		}
		if err := r.trainer.LoadStates(env.Golden.Path(filesFolder + c.States)); err != nil {
			return err
		}
	}
	if err := c.trainSteps(&r, x, y, c.LossesAfter); err != nil {
		return err
	}
	return c.compareParams(env, &r, c.Final)
}

// trainSteps trains for as many steps as there are losses, and compares them.
func (c *filesCase) trainSteps(r *gluonRun, x, y *nd.Array, losses []float64) error {
	for i, want := range losses {
		l, err := r.backward(x, y)
		if err == nil {
			err = near(fmt.Sprintf("loss %d", i), l, want, Tolerance{1e-6, 1e-4})
		}
		if err == nil {
			err = r.trainer.Step(c.StepBatch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compareStates compares the parameters and the states of the optimizer with the file's.
func (c *filesCase) compareStates(env Env, r *gluonRun, names []string) error {
	if err := c.compareParams(env, r, c.Arrays); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "gomx")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "states")
	if err := r.trainer.SaveStates(path); err != nil {
		return err
	}
	got, err := checkpoint.LoadStates(path)
	if err != nil {
		return err
	}
	if len(got) != len(names) {
		return fmt.Errorf("states of %d parameters, want %d", len(got), len(names))
	}
	for i, s := range got {
		arrays, err := s.State.Arrays()
		if err != nil {
			return err
		}
		for k, a := range arrays {
			if err := c.compareState(env, fmt.Sprintf("%s/%d", names[i], k), a); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareState compares an array of a state with the reference of its name.
func (c *filesCase) compareState(env Env, name string, a *nd.Array) error {
	i := slices.IndexFunc(c.StateArrays, func(r Ref) bool { return r.Name == name })
	if i < 0 {
		return fmt.Errorf("state %s, which MXNet does not have", name)
	}
	return compareWith(env.Golden, "state "+name, a, filesFolder+c.NPZ, c.StateArrays[i],
		Tolerance{1e-5, 1e-3})
}

func (c *filesCase) compareParams(env Env, r *gluonRun, want []Ref) error {
	for _, f := range want {
		if err := compareWith(env.Golden, f.Name, r.net.Params().Get(f.Name).Data(),
			filesFolder+c.NPZ, f, Tolerance{1e-4, 1e-3}); err != nil {
			return err
		}
	}
	return nil
}
