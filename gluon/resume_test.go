package gluon_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// resumeCase is a training loop. Everything in it is made anew by every process.
type resumeCase struct {
	optimizer optimizer.Optimizer
	options   []gluon.TrainerOption
	devices   int
	half      bool // parameters in float16
	passes    int  // batches whose gradients are added up for a step
}

// resumeCases are loops by name.
var resumeCases = map[string]resumeCase{
	"adam": {devices: 1, passes: 1, optimizer: optimizer.Adam{LR: 0.05, Common: optimizer.Common{
		Schedule: optimizer.FactorScheduler{Step: 7, Factor: 0.8}}}},
	"devices": {devices: 2, passes: 1, optimizer: optimizer.SGD{LR: 0.2, Momentum: 0.9},
		options: []gluon.TrainerOption{gluon.ClipGlobalNorm(0.5)}},
	"float16": {devices: 1, passes: 1, half: true, optimizer: optimizer.NAG{LR: 0.1, Momentum: 0.9,
		Common: optimizer.Common{MultiPrecision: true}},
		options: []gluon.TrainerOption{gluon.LossScale(gluon.Scaling{Initial: 1 << 23,
			Window: 5})}},
	"accumulation": {devices: 1, passes: 3, optimizer: optimizer.Nadam{LR: 0.02}},
}

// errCut ends a loop in the middle, as if its process had been killed.
var errCut = errors.New("cut")

// dropping is a network that drops values and has running statistics.
func (c *resumeCase) network() *gluon.Net {
	list := nn.Sequential{&nn.Dense{Units: 16, Activation: "tanh"}}
	if !c.half {
		list = append(list, &nn.BatchNorm{})
	}
	return gluon.New(append(list, &nn.Dropout{Rate: 0.3}, &nn.Dense{Units: 2}))
}

// run trains, and returns a text that depends on everything: parameters, states of the optimizer,
// scores. Step is called after each batch.
func (c *resumeCase) run(prefix string, step func(n int) error) (string, error) {
	nd.SetSeed(4) // as a process begins
	net := c.network()
	if err := net.Init(initializer.Xavier{}, gluon.On(processors(c.devices)...)); err != nil {
		return "", err
	}
	if c.half {
		net.Params().Cast(dtype.Float16)
	}
	if c.passes > 1 {
		net.Params().SetGradReq(nd.GradAdd)
	}
	tr, err := gluon.NewTrainer(net.Params(), c.optimizer, c.options...)
	if err != nil {
		return "", err
	}
	x, y := samples(0, 90)
	loader := data.NewLoader(data.Arrays(x, y), 8, data.Shuffle(5), data.Workers(2))
	acc, history, n := metric.Accuracy(), []string{}, 0
	run, err := gluon.Resume(prefix, net.Params(), tr, loader, acc.(metric.Stateful),
		gluon.Keep(&history), gluon.Keep(&n))
	if err != nil {
		return "", err
	}
	for loader.Epoch() < 4 {
		for batch, err := range loader.Batches(context.Background()) {
			if err != nil {
				return "", err
			}
			if err := c.batch(net, tr, acc, batch, n); err != nil {
				return "", err
			}
			if n++; n%4 == 0 {
				if err := run.Save(); err != nil {
					return "", err
				}
			}
			if err := step(n); err != nil {
				return "", err
			}
		}
		_, scores := acc.Value()
		history = append(history, fmt.Sprintf("epoch %d: %v", loader.Epoch(), scores))
		acc.Reset()
		if err := run.Save(); err != nil {
			return "", err
		}
	}
	return c.describe(net, tr, history)
}

// batch trains on a batch, cut into parts for the devices.
func (c *resumeCase) batch(net *gluon.Net, tr *gluon.Trainer, acc metric.Metric, b *data.Batch,
	n int) error {
	devices := processors(c.devices)
	xs, err := gluon.SplitAndLoad(b.Data, devices, 0, true)
	if err != nil {
		return err
	}
	ys, err := gluon.SplitAndLoad(b.Label, devices, 0, true)
	if err != nil {
		return err
	}
	for k, x := range xs {
		if c.half {
			x = x.AsType(dtype.Float16)
		}
		out := net.Forward(autograd.Train().Watch(x)).AsType(dtype.Float32)
		tr.ScaleLoss(loss.SoftmaxCE{}.Forward(out, ys[k])).Backward()
		if err := acc.Update(ys[k:k+1], []*nd.Array{out}); err != nil {
			return err
		}
	}
	if (n+1)%c.passes != 0 {
		return nil
	}
	if err := tr.Step(b.Size * c.passes); err != nil {
		return err
	}
	if c.passes > 1 {
		net.Params().ZeroGrad()
	}
	return nil
}

// describe returns the text of a finished loop.
func (c *resumeCase) describe(net *gluon.Net, tr *gluon.Trainer, history []string) (string, error) {
	sum := sha256.New()
	for name, p := range net.Params().All() {
		for _, a := range p.All() {
			v, err := a.Float64s()
			if err != nil {
				return "", err
			}
			fmt.Fprintln(sum, name, v)
		}
	}
	return fmt.Sprintf("%s\nsteps %d, rate %v, scale %v, skipped %d\nparameters %x\n",
		strings.Join(history, "\n"), tr.Steps(), tr.LearningRate(), tr.LossScale(), tr.Skipped(),
		sum.Sum(nil)), nil
}

// A loop that is cut after any batch and resumed ends as one that is not.
func TestResumeAnywhere(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(resumeCases)) {
		t.Run(name, func(t *testing.T) {
			c := resumeCases[name]
			want, err := c.run(filepath.Join(t.TempDir(), "whole"), func(int) error { return nil })
			ok(t, err)
			for _, cut := range []int{1, 5, 12, 47} {
				prefix := filepath.Join(t.TempDir(), "runs", "m")
				_, err := c.run(prefix, func(n int) error {
					if n == cut {
						return errCut
					}
					return nil
				})
				if !errors.Is(err, errCut) {
					t.Fatal(err)
				}
				got, err := c.run(prefix, func(int) error { return nil })
				ok(t, err)
				if got != want {
					t.Errorf("cut after %d batches:\n%s\nwant\n%s", cut, got, want)
				}
			}
		})
	}
}

func TestResumeMisuse(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "m")
	begin := func(units int, o optimizer.Optimizer, states int,
		opts ...gluon.TrainerOption) (*gluon.Run, *gluon.Trainer, error) {
		net := gluon.New(&nn.Dense{Units: units, InUnits: 1})
		if err := net.Init(nil); err != nil {
			return nil, nil, err
		}
		tr, err := gluon.NewTrainer(net.Params(), o, opts...)
		if err != nil {
			return nil, nil, err
		}
		values := []int{1, 2}
		if states == 1 {
			r, err := gluon.Resume(prefix, net.Params(), tr, gluon.Keep(&values))
			return r, tr, err
		}
		r, err := gluon.Resume(prefix, net.Params(), tr)
		return r, tr, err
	}
	sgd := optimizer.SGD{LR: 0.1}
	run, tr, err := begin(1, sgd, 1)
	ok(t, err)
	if run.Resumed() {
		t.Error("a run without a file is resumed")
	}
	ok(t, tr.SetLearningRate(0.5))
	ok(t, run.Save())
	run, tr, err = begin(1, sgd, 1)
	ok(t, err)
	if !run.Resumed() || tr.LearningRate() != 0.5 {
		t.Errorf("resumed %v with rate %v, want 0.5", run.Resumed(), tr.LearningRate())
	}
	for name, c := range map[string]struct {
		units, states int
		opt           optimizer.Optimizer
		opts          []gluon.TrainerOption
		want          string
	}{
		"other shapes":    {2, 1, sgd, nil, "values of shape (1, 1), want (2, 1)"},
		"other optimizer": {1, 1, optimizer.Adam{}, nil, "optimizer"},
		"fewer states":    {1, 0, sgd, nil, "number of states 1"},
		"job": {1, 1, sgd, []gluon.TrainerOption{gluon.Store("dist_sync")},
			"dist_sync"},
		"store": {1, 1, sgd, []gluon.TrainerOption{gluon.UpdateOnStore(true)},
			"UpdateOnStore(true)"},
	} {
		if _, _, err := begin(c.units, c.opt, c.states, c.opts...); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	ok(t, checkpoint.SaveRun(checkpoint.RunPath(prefix), []byte("{"), nil))
	if _, _, err := begin(1, sgd, 1); err == nil ||
		!strings.Contains(err.Error(), "remove the file") {
		t.Errorf("a damaged file: %v", err)
	}
}
