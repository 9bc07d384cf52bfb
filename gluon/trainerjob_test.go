package gluon_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gomx/gluon"
	"gomx/initializer"
	"gomx/internal/cluster"
	"gomx/internal/nettest"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// inJob trains a network in each of several workers and returns their parameters. The seeds of the
// workers' first values are apart by a number.
func inJob(t *testing.T, workers, apart int, o optimizer.Optimizer, make func() *gluon.Net,
	opts ...gluon.TrainerOption) [][]float32 {
	t.Helper()
	cl := cluster.Start(cluster.Config{Workers: workers, Servers: 2})
	nets, mu := map[int]*gluon.Net{}, sync.Mutex{}
	err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
		net := make()
		if err := net.Init(initializer.Xavier{}, gluon.Seed(uint64(3+rank*apart))); err != nil {
			return err
		}
		tr, err := gluon.NewTrainer(net.Params(), o, append(slices.Clone(opts),
			gluon.Store("dist_sync"), gluon.InJob(ctx))...)
		if err != nil {
			return err
		}
		for step := range 5 {
			x, y := samples(step*workers+rank, 6)
			backward(net, x, y, tr.ScaleLoss)
			if err := tr.Step(6 * workers); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		nets[rank] = net
		for _, p := range net.Params().All() {
			if err := p.Data().Wait(ctx); err != nil {
				return err
			}
		}
		return tr.Close()
	})
	ok(t, errors.Join(err, cl.Wait()))
	list := [][]float32{}
	for rank := range workers {
		list = append(list, values(t, nets[rank], 0))
	}
	return list
}

// alone trains on the batches of several workers in one process.
func alone(t *testing.T, workers int, o optimizer.Optimizer,
	opts ...gluon.TrainerOption) []float32 {
	t.Helper()
	net := plain()
	tr := trained(t, net, o, processors(1), opts...)
	for step := range 5 {
		var xs, ys []*nd.Array
		for rank := range workers {
			x, y := samples(step*workers+rank, 6)
			xs, ys = append(xs, x), append(ys, y)
		}
		backward(net, nd.Concat(xs, nd.ConcatParams{Dim: nd.Some(0)}),
			nd.Concat(ys, nd.ConcatParams{Dim: nd.Some(0)}), nil)
		ok(t, tr.Step(6*workers))
	}
	return values(t, net, 0)
}

// The workers of a job train as one process with all batches does, wherever the optimizer runs.
func TestTrainerInJob(t *testing.T) {
	momentum := optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.01}
	for name, c := range map[string]struct {
		opts  []gluon.TrainerOption // of the job
		alone []gluon.TrainerOption
	}{
		"servers": {},
		"workers": {opts: []gluon.TrainerOption{gluon.UpdateOnStore(false)}},
		"clipping": {opts: []gluon.TrainerOption{gluon.ClipGlobalNorm(0.1)},
			alone: []gluon.TrainerOption{gluon.ClipGlobalNorm(0.1)}},
		"loss scale": {opts: []gluon.TrainerOption{gluon.LossScale(gluon.Scaling{Window: 2})}},
	} {
		t.Run(name, func(t *testing.T) {
			got := inJob(t, 2, 0, momentum, plain, c.opts...)
			if !slices.Equal(got[0], got[1]) {
				t.Errorf("the workers have parameters %v and %v", got[0], got[1])
			}
			nettest.Near(t, "parameters", got[0], alone(t, 2, momentum, c.alone...))
		})
	}
}

// The workers take the first values of worker 0. Running statistics are common to the workers if
// the servers run the optimizer.
func TestTrainerSharesRunningStatistics(t *testing.T) {
	got := inJob(t, 2, 1, optimizer.SGD{LR: 0.1}, classifier)
	if !slices.Equal(got[0], got[1]) {
		t.Errorf("the workers have parameters and statistics %v and %v", got[0], got[1])
	}
}

// noted is a store that notes the order of pushes.
type noted struct {
	kvstore.Store
	pushed *[]string
}

func (s noted) Push(key string, priority int, grads ...*nd.Array) error {
	*s.pushed = append(*s.pushed, fmt.Sprint(key, " ", priority))
	return s.Store.Push(key, priority, grads...)
}

func (s noted) SetOptimizer(ctx context.Context, o optimizer.Optimizer) error {
	return s.Store.(kvstore.Updater).SetOptimizer(ctx, o)
}

// Gradients are pushed in the order in which Backward computes them; those that the next Forward
// needs first have the highest priority.
func TestTrainerPushesLastLayerFirst(t *testing.T) {
	kv, err := kvstore.Open(t.Context(), "local")
	ok(t, err)
	var pushed []string
	net := plain()
	tr := trained(t, net, optimizer.SGD{LR: 0.1}, processors(1), gluon.UpdateOnStore(true),
		gluon.StoreWith(noted{kv.Store, &pushed}))
	x, y := samples(0, 6)
	backward(net, x, y, nil)
	ok(t, tr.Step(6))
	want := []string{"1.bias -3", "1.weight -2", "0.bias -1", "0.weight 0"}
	if !slices.Equal(pushed, want) {
		t.Errorf("pushed %v, want %v", pushed, want)
	}
	if err := tr.SetLearningRate(1); err == nil ||
		!strings.Contains(err.Error(), "the store local") {
		t.Errorf("a learning rate for an optimizer in a store: %v", err)
	}
	ok(t, tr.Close())
	ok(t, kv.Close())
}

func TestTrainerNeedsSums(t *testing.T) {
	cl := cluster.Start(cluster.Config{})
	err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
		net, _ := one()
		if err := net.Init(nil); err != nil {
			return err
		}
		tr, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 0.1}, gluon.InJob(ctx),
			gluon.Store("dist_async"), gluon.UpdateOnStore(false))
		if err != nil {
			return err
		}
		net.Forward(nd.Ones(nd.Shape{1, 1}))
		err = tr.AllreduceGrads()
		if err == nil || !strings.Contains(err.Error(), "adds up no gradients") {
			t.Errorf("sums of dist_async: %v", err)
		}
		return tr.Close()
	})
	ok(t, errors.Join(err, cl.Wait()))
}

// A job that begins anew does not continue the files of another one.
func TestResumeNeedsItsJob(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "net")
	for life := range 2 {
		cl := cluster.Start(cluster.Config{})
		err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
			net := plain()
			if err := net.Init(nil); err != nil {
				return err
			}
			tr, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 0.1}, gluon.InJob(ctx),
				gluon.Store("dist_sync"))
			if err != nil {
				return err
			}
			run, err := gluon.Resume(prefix, net.Params(), tr)
			if life == 1 {
				if err == nil || !strings.Contains(err.Error(), "--snapshots and --resume") {
					t.Errorf("files of another job: %v, want an error", err)
				}
				return tr.Close()
			}
			if err != nil || run.Resumed() {
				return fmt.Errorf("resumed %v, %w", run.Resumed(), err)
			}
			x, y := samples(0, 6)
			backward(net, x, y, nil)
			return errors.Join(tr.Step(6), run.Save(), tr.Close())
		})
		ok(t, errors.Join(err, cl.Wait()))
	}
}
