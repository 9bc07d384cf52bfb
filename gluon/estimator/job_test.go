package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/estimator"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/cluster"
	"gomx/internal/nettest"
	"gomx/kvstore"
	"gomx/optimizer"
)

// dense is a network that computes the same for a batch and for its parts.
func dense(seed uint64) (*gluon.Net, error) {
	net := gluon.New(nn.Sequential{&nn.Dense{Units: 4, Activation: "tanh"}, &nn.Dense{Units: 2}})
	return net, net.Init(initializer.Xavier{}, gluon.Seed(seed))
}

// The workers of a job train as one process does whose batches have the samples of all workers,
// wherever the optimizer runs, and worker 0 saves. The last batches of an epoch are smaller, and
// worker 1 has the smallest.
func TestFitInJob(t *testing.T) {
	const workers = 2
	want, err := dense(3)
	if err != nil {
		t.Fatal(err)
	}
	adam := estimator.Optimize(optimizer.Adam{LR: 0.05})
	if _, err := estimator.Fit(t.Context(), want, loss.SoftmaxCE{},
		data.NewLoader(points(24), 8), estimator.Epochs(2), adam); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string][]gluon.TrainerOption{
		"servers": nil, "workers": {gluon.UpdateOnStore(false)},
		"clipping": {gluon.ClipGlobalNorm(1e6)}} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{24, 21} {
				got, files := fitInJob(t, workers, n, append(slices.Clone(opts),
					gluon.Store("dist_sync")), adam)
				if !slices.Equal(got[0], got[1]) {
					t.Errorf("%d samples: the workers have parameters %v and %v", n, got[0], got[1])
				}
				if n == 24 {
					nettest.Near(t, "parameters", got[0], weights(t, want))
				}
				if !slices.Equal(files, []string{"net-0002.params"}) {
					t.Errorf("files %v, want one checkpoint of worker 0", files)
				}
			}
		})
	}
}

// fitInJob trains in a job on n samples, and returns the parameters of the workers and the files.
func fitInJob(t *testing.T, workers, n int, trainer []gluon.TrainerOption,
	opts ...estimator.Option) (params [][]float32, files []string) {
	t.Helper()
	dir := t.TempDir()
	cl := cluster.Start(cluster.Config{Workers: workers, Servers: 2})
	nets, mu := make([]*gluon.Net, workers), sync.Mutex{}
	err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
		net, err := dense(3)
		if err != nil {
			return err
		}
		h, err := estimator.Fit(ctx, net, loss.SoftmaxCE{}, data.NewLoader(points(n), 4),
			append(slices.Clone(opts), estimator.Epochs(2), estimator.Trainer(trainer...),
				estimator.Validate(data.NewLoader(points(6), 3)),
				estimator.Checkpoint(filepath.Join(dir, "net"), estimator.Every(2)))...)
		if err == nil && (len(h.Epochs) != 2 || h.Epochs[1].Batches != 3) {
			t.Errorf("worker %d: history %+v, want 2 epochs of 3 batches", rank, h.Epochs)
		}
		mu.Lock()
		defer mu.Unlock()
		nets[rank] = net
		return err
	})
	if err := errors.Join(err, cl.Wait()); err != nil {
		t.Fatal(err)
	}
	for _, net := range nets {
		params = append(params, weights(t, net))
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		files = append(files, f.Name())
	}
	return params, files
}

// A worker that dies in the middle of an epoch continues the run of the job, also if it has saved
// its place some steps before.
func TestFitResumesInJob(t *testing.T) {
	cut := errors.New("cut")
	job := func(after, every int) []float32 {
		t.Helper()
		cl := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Heartbeat: 50 * time.Millisecond,
			Dead: time.Second})
		var params []float32
		prefix := filepath.Join(t.TempDir(), "net")
		life := func(ctx context.Context, rank, after int) (int, error) {
			net, err := dense(3)
			if err != nil {
				return 0, err
			}
			kv, err := kvstore.Open(ctx, "dist_sync")
			if err != nil {
				return 0, err
			}
			n := 0
			h, err := estimator.Fit(ctx, net, loss.SoftmaxCE{}, data.NewLoader(points(24), 4,
				data.Shuffle(2)), estimator.Epochs(3),
				estimator.Optimize(optimizer.Adam{LR: 0.05}),
				estimator.Trainer(gluon.StoreWith(kv)),
				estimator.Resume(prefix, estimator.EveryBatches(every)),
				estimator.OnBatch(func(*estimator.BatchEnd) error {
					if n++; n == after {
						return cut
					}
					return nil
				}))
			if err != nil {
				return n, err
			}
			if len(h.Epochs) != 3 {
				t.Errorf("%d epochs in the history, want 3", len(h.Epochs))
			}
			if rank == 1 {
				params = weights(t, net)
			}
			return n, kv.Close()
		}
		err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
			if rank == 1 && after > 0 {
				if _, err := life(ctx, rank, after); !errors.Is(err, cut) {
					return fmt.Errorf("got %w, want the cut", err)
				}
				var err error
				if ctx, err = cl.Again(ctx, rank); err != nil {
					return err
				}
			}
			n, err := life(ctx, rank, 0)
			if rank == 1 && after > every && n >= 9 {
				t.Errorf("%d batches after the cut, want some of 9", n)
			}
			return err
		})
		if err := errors.Join(err, cl.Wait()); err != nil {
			t.Fatal(err)
		}
		return params
	}
	want := job(0, 1)
	for _, c := range [][2]int{{5, 1}, {6, 2}, {2, 3}} {
		nettest.SameBits(t, fmt.Sprintf("cut after %d batches, saved every %d", c[0], c[1]),
			job(c[0], c[1]), want)
	}
}
