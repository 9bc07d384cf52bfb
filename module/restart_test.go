package module_test

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

	"gomx/checkpoint"
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
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 8}, sym.Name("fc1"))
	x = sym.BatchNorm(x, sym.BatchNormParams{}, sym.Name("bn"))
	x = sym.Dropout(sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh")), sym.DropoutParams{P: sym.Some(0.4)}, sym.Name("drop"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// jobLife is what a process of a worker has seen and made.
type jobLife struct {
	outcome string
	batches [][2]int // epoch and batch
	epochs  []module.EpochEnd
}

const jobRounds = 4 // of an epoch of storeData for three workers

// liveInJob trains as a worker, to the end, or until it dies after so many batches.
func liveInJob(ctx context.Context, t *testing.T, prefix string, dies int, opts ...module.FitOption) (life jobLife, err error) {
	t.Helper()
	kv, err := kvstore.Open(ctx, "dist_sync")
	if err != nil {
		return life, err
	}
	m := module.New(jobNet(), module.Seed(uint64(5+kv.Rank())))
	all := []module.FitOption{module.Epochs(3), module.Init(initializer.Xavier{}), module.StoreWith(kv),
		module.Optimize(optimizer.Adam{LR: 0.05, Common: optimizer.Common{Schedule: optimizer.FactorScheduler{Step: 3, Factor: 0.7}}}),
		module.Validate(samples(t, 20, 4, dataio.Pad)), module.Checkpoint(prefix, module.KeepLast(2), module.WithStates()), module.Sample(1),
		module.OnEpoch(func(e *module.EpochEnd) error { life.epochs = append(life.epochs, *e); return nil }),
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

// TestRestartedWorkerZero lets worker 0, which saves, die in the middle and at the end of an epoch. The process that takes its place
// goes on at the batch that comes next, with the random numbers of that batch; it neither saves nor validates epochs that are
// over, and the job ends with the parameters and the files of one in which nobody dies.
func TestRestartedWorkerZero(t *testing.T) {
	var want jobLife
	var files map[string]string
	for _, dies := range []int{0, jobRounds + 2, jobRounds, 2*jobRounds - 1} {
		ok := t.Run(fmt.Sprintf("after %d batches", dies), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			dir := t.TempDir()
			prefix := filepath.Join(dir, "m")
			c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Replicas: 2, Heartbeat: 50 * time.Millisecond, Dead: time.Second})
			var mu sync.Mutex
			var life jobLife
			err := c.Work(ctx, func(ctx context.Context, rank int) error {
				if rank == 0 && dies > 0 {
					if _, err := liveInJob(ctx, t, prefix, dies); !errors.Is(err, errDies) {
						return fmt.Errorf("got %w, want a death", err)
					}
					var err error
					if ctx, err = c.Again(ctx, rank); err != nil {
						return err
					}
				}
				l, err := liveInJob(ctx, t, prefix, -1)
				if mu.Lock(); rank == 0 {
					life = l
				}
				mu.Unlock()
				return err
			})
			if err := errors.Join(err, c.Wait()); err != nil {
				t.Fatal(err)
			}
			if dies == 0 {
				want, files = life, readFiles(t, dir)
				return
			}
			if got := readFiles(t, dir); fmt.Sprintf("%x", got) != fmt.Sprintf("%x", files) {
				for name := range files {
					t.Errorf("file %s is the same: %v", name, got[name] == files[name])
				}
			}
			first := slices.Index(want.batches, life.batches[0])
			if first < dies-1 || first > dies+1 {
				t.Errorf("the second process begins with batch %v, want the one after %d or its neighbour", life.batches[0], dies)
			}
			if !slices.Equal(life.batches, want.batches[first:]) {
				t.Errorf("the second process has batches %v, want %v", life.batches, want.batches[first:])
			}
			for i, e := range life.epochs {
				if e.Samples == 0 || e.Epoch != i+life.batches[0][0] {
					t.Errorf("the second process is told of epoch %d with %d samples", e.Epoch, e.Samples)
				}
			}
		})
		if !ok {
			return
		}
	}
}

// TestSnapshotsOfFit lets all processes of a job die at once and continues from the last snapshot: every worker goes on at the batch that
// comes next, and has the parameters and the history of a job in which nobody dies.
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
					t.Errorf("worker %d:\n%s\nwant\n%s", rank, got[rank].outcome, want[rank].outcome)
				}
				if b := got[rank].batches; len(b) == 0 || len(b) >= 3*jobRounds {
					t.Errorf("worker %d continues with %d batches of %d", rank, len(b), 3*jobRounds)
				}
			}
		})
	}
}

// snapshotJob runs a job with a folder for snapshots, in which everybody dies after so many batches, and returns the lives of the workers.
func snapshotJob(t *testing.T, dir, folder, restore string, every, dies int) []jobLife {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	nd.SetSeed(1)
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Replicas: 2, Heartbeat: 50 * time.Millisecond, Dead: time.Second, Snapshots: folder, Restore: restore})
	var mu sync.Mutex
	lives := make([]jobLife, 3)
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		l, err := liveInJob(ctx, t, filepath.Join(dir, "m"), dies, module.Snapshots(folder, every))
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
