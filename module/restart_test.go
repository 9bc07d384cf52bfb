package module_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/initializer"
	"gomx/internal/cluster"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// jobNet is a classifier for storeData that drops values.
func jobNet() *sym.Symbol {
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 8},
		sym.Name("fc1"))
	x = sym.BatchNorm(x, sym.BatchNormParams{}, sym.Name("bn"))
	x = sym.Dropout(sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh")),
		sym.DropoutParams{P: sym.Some(0.4)}, sym.Name("drop"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// jobLife is what a process of a worker has seen and made.
type jobLife struct {
	outcome string
	batches [][2]int // epoch and batch
	epochs  []module.EpochEnd
}

// narrow is what a store's name ends with in jobs that compute in float16.
const narrow = " in float16"

const jobRounds = 4 // of an epoch of storeData for three workers

// liveInJob trains as a worker, to the end, or until it dies after so many batches.
func liveInJob(ctx context.Context, t *testing.T, prefix, store string, dies int,
	opts ...module.FitOption) (life jobLife, err error) {
	t.Helper()
	kv, err := kvstore.Open(ctx, strings.TrimSuffix(store, narrow))
	if err != nil {
		return life, err
	}
	with := []module.Option{module.Seed(uint64(5 + kv.Rank()))}
	if strings.HasSuffix(store, narrow) {
		with = append(with, module.MixedPrecision(dtype.Float16),
			module.LossScale(module.Scaling{Initial: 1 << 20, Window: 3}))
	}
	m := module.New(jobNet(), with...)
	all := []module.FitOption{module.Epochs(3), module.Init(initializer.Xavier{}),
		module.StoreWith(kv),
		module.Optimize(optimizer.Adam{LR: 0.05,
			Common: optimizer.Common{Schedule: optimizer.FactorScheduler{Step: 3, Factor: 0.7}}}),
		module.Validate(samples(t, 20, 4, dataio.Pad)), module.Checkpoint(prefix,
			module.KeepLast(2), module.WithStates()), module.Sample(1),
		module.OnEpoch(func(e *module.EpochEnd) error {
			life.epochs = append(life.epochs,
				*e)
			return nil
		}),
		module.OnBatch(func(e *module.BatchEnd) error {
			life.batches = append(life.batches, [2]int{e.Epoch, e.Batch})
			if len(life.batches) == dies {
				return errDies
			}
			return nil
		})}
	if err := m.Fit(ctx, storeData(t, 53), append(all, opts...)...); err != nil {
		return life, err
	}
	if life.outcome, err = outcome(m); err != nil {
		return life, err
	}
	return life, kv.Close()
}

// readFiles returns the contents of the files of a folder.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

// TestRestartedWorkerZero lets worker 0, which saves, die in the middle and at the end of an epoch.
// The process that takes its place goes on at the batch that comes next, with the random numbers of
// that batch and its loss scale; it neither saves nor validates epochs that are over, and the job
// ends with the parameters and the files of one in which nobody dies.
func TestRestartedWorkerZero(t *testing.T) {
	for store, deaths := range map[string][]int{
		"dist_sync":          {jobRounds + 2, jobRounds, 2*jobRounds - 1},
		"dist_ssp":           {jobRounds + 2},
		"dist_sync" + narrow: {jobRounds + 2},
	} {
		t.Run(store, func(t *testing.T) {
			want, files := restartJob(t, store, 0)
			for _, dies := range deaths {
				life, got := restartJob(t, store, dies)
				for name := range files {
					if got[name] != files[name] {
						t.Errorf("death after %d batches: file %s differs", dies, name)
					}
				}
				if len(got) != len(files) {
					t.Errorf("death after %d batches: %d files, want %d", dies, len(got),
						len(files))
				}
				checkSecondLife(t, life, want, dies)
			}
		})
	}
}

// checkSecondLife compares the life of a process that has taken the place of one which died with an
// undisturbed one.
func checkSecondLife(t *testing.T, life, want jobLife, dies int) {
	t.Helper()
	first := slices.Index(want.batches, life.batches[0])
	if first < dies-1 || first > dies+1 {
		t.Errorf("the second process begins with batch %v, want the one after %d or its neighbour",
			life.batches[0], dies)
	}
	if !slices.Equal(life.batches, want.batches[first:]) {
		t.Errorf("the second process has batches %v, want %v", life.batches, want.batches[first:])
	}
	for i, e := range life.epochs {
		if e.Samples == 0 || e.Epoch != i+life.batches[0][0] {
			t.Errorf("the second process is told of epoch %d with %d samples", e.Epoch, e.Samples)
		}
	}
	if got, want := strings.SplitN(life.outcome, "\n", 2)[0], strings.SplitN(want.outcome, "\n",
		2)[0]; got != want {
		t.Errorf("the second process ends with %s, want %s", got, want)
	}
}

// restartJob runs a job whose worker 0 dies after so many batches and is started again; 0: nobody
// dies. It returns the last life of worker 0 and the files that it has saved.
func restartJob(t *testing.T, store string, dies int) (life jobLife, files map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	prefix := filepath.Join(dir, "m")
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Replicas: 2, Heartbeat: 50 *
		time.Millisecond, Dead: time.Second, Dir: t.TempDir()})
	var mu sync.Mutex
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		if rank == 0 && dies > 0 {
			if _, err := liveInJob(ctx, t, prefix, store, dies); !errors.Is(err, errDies) {
				return fmt.Errorf("got %w, want a death", err)
			}
			var err error
			if ctx, err = c.Again(ctx, rank); err != nil {
				return err
			}
		}
		l, err := liveInJob(ctx, t, prefix, store, -1)
		if mu.Lock(); rank == 0 {
			life = l
		}
		mu.Unlock()
		return err
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	return life, readFiles(t, dir)
}

// TestSnapshotsOfFit lets all processes of a job die at once and continues from the last snapshot:
// every worker goes on at the batch that comes next, and has the parameters and the history of a
// job in which nobody dies.
func TestSnapshotsOfFit(t *testing.T) {
	for every, dies := range map[int]int{0: 2*jobRounds + 3, 3: jobRounds + 3, 2: 2*jobRounds + 1} {
		t.Run(fmt.Sprintf("every %d rounds", every), func(t *testing.T) {
			dir := t.TempDir()
			want := snapshotJob(t, dir, filepath.Join(dir, "undisturbed"), "", every, -1)
			folder := filepath.Join(dir, "snapshots")
			snapshotJob(t, dir, folder, "", every, dies)
			restore, _, err := kvstore.LatestSnapshot(folder)
			if err != nil || restore == "" {
				t.Fatalf("snapshot %q, %v", restore, err)
			}
			got := snapshotJob(t, dir, folder, restore, every, -1)
			for rank := range got {
				if got[rank].outcome != want[rank].outcome {
					t.Errorf("worker %d:\n%s\nwant\n%s", rank, got[rank].outcome,
						want[rank].outcome)
				}
				if b := got[rank].batches; len(b) == 0 || len(b) >= 3*jobRounds {
					t.Errorf("worker %d continues with %d batches of %d", rank, len(b), 3*jobRounds)
				}
			}
		})
	}
}

// snapshotJob runs a job with a folder for snapshots, in which everybody dies after so many
// batches, and returns the lives of the workers.
func snapshotJob(t *testing.T, dir, folder, restore string, every, dies int) []jobLife {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	nd.SetSeed(1)
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Replicas: 2, Heartbeat: 50 *
		time.Millisecond, Dead: time.Second, Snapshots: folder, Restore: restore})
	var mu sync.Mutex
	lives := make([]jobLife, 3)
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		l, err := liveInJob(ctx, t, filepath.Join(dir, "m"), "dist_sync", dies,
			module.Snapshots(folder, every))
		if errors.Is(err, errDies) {
			return nil // and leaves: the job ends
		}
		mu.Lock()
		defer mu.Unlock()
		lives[rank] = l
		return err
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	if list, err := checkpoint.Epochs(filepath.Join(dir, "m")); err != nil || len(list) == 0 {
		t.Fatalf("epochs %v are saved, %v", list, err)
	}
	return lives
}
