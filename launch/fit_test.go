//go:build cgo && linux

package launch_test

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gomx/initializer"
	"gomx/internal/output"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/launch"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

var (
	fitRuns = flag.Int("fit.runs", 2, "runs of TestFitResumes")
	fitSeed = flag.Uint64("fit.seed", 0,
		"seed of the first run of TestFitResumes, 0 for one from the clock")
)

func init() {
	plays["fit"] = func(string, string) int {
		err := launch.Run(context.Background(), fitPlay)
		if err != nil {
			fmt.Println(err)
		}
		return launch.ExitCode(err)
	}
}

// fitData is an iterator over points of the plane.
func fitData(n int, seed uint64) (*dataio.Table, error) {
	r := rand.New(rand.NewPCG(3, 0))
	data, label := make([]float32, 2*n), make([]float32, n)
	for i := range label {
		data[2*i], data[2*i+1] = float32(r.Float64()*2-1), float32(r.Float64()*2-1)
		if data[2*i]*data[2*i+1] > 0 {
			label[i] = 1
		}
	}
	return dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(data, n, 2)},
		Label:     []*nd.Array{nd.FromSlice(label)},
		BatchSize: 10, Shuffle: true, Seed: seed})
}

// fitPlay trains a network with Dropout and prints a checksum of the parameters and of the history.
func fitPlay(ctx context.Context) error {
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 16},
		sym.Name("fc1"))
	x = sym.BatchNorm(x, sym.BatchNormParams{}, sym.Name("bn"))
	x = sym.Dropout(sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh")),
		sym.DropoutParams{P: sym.Some(0.3)}, sym.Name("drop"))
	x = sym.SoftmaxOutput(sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 2},
		sym.Name("fc2")), sym.SoftmaxOutputParams{}, sym.Name("softmax"))
	train, err := fitData(240, 7)
	if err != nil {
		return err
	}
	validation, err := fitData(40, 8)
	if err != nil {
		return err
	}
	m := module.New(x, module.Seed(3+uint64(kvstore.JobOf(ctx).Rank())))
	opts := []module.FitOption{module.Epochs(4), module.Store("dist_sync",
		kvstore.Timeout(40*time.Second)), module.Init(initializer.Xavier{}),
		module.Optimize(optimizer.Adam{LR: 0.05,
			Common: optimizer.Common{Schedule: optimizer.FactorScheduler{Step: 9, Factor: 0.8}}}),
		module.Validate(validation), module.Sample(2),
		module.Checkpoint(os.Getenv("LAUNCH_TEST_PREFIX"), module.KeepLast(2)),
		module.OnBatch(func(e *module.BatchEnd) error {
			fmt.Printf("at batch %d of epoch %d\n", e.Batch, e.Epoch)
			time.Sleep(10 * time.Millisecond) // stands for the work of a step
			return nil
		})}
	// otherwise at the end of epochs, because the job has a folder
	if os.Getenv("LAUNCH_TEST_EVERY") == "3" {
		opts = append(opts, module.Snapshots("", 3))
	}
	if err := m.Fit(ctx, train, opts...); err != nil {
		return err
	}
	h := sha256.New()
	args, aux := m.Params()
	for _, arrays := range []map[string]*nd.Array{args, aux} {
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			b := make([]byte, arrays[name].Bytes())
			if err := arrays[name].ReadBytes(ctx, b); err != nil {
				return err
			}
			fmt.Fprintf(h, "%s %x\n", name, b)
		}
	}
	for _, e := range m.History().Epochs {
		e.Time = 0
		fmt.Fprintln(h, e)
	}
	fmt.Fprintln(h, m.History().Batches)
	fmt.Printf("outcome %x\n", h.Sum(nil))
	return nil
}

// fitJob is a job of fitPlay whose processes can be killed all at once.
type fitJob struct {
	launch.Local
	out  output.Buffer
	mu   sync.Mutex
	pids map[wire.Node]int
}

func newFitJob(dir, every string, resume bool) *fitJob {
	j := &fitJob{pids: map[wire.Node]int{}}
	j.Local = trainJob(2, 2, 2, 1, &j.out)
	j.Env = append(j.Env, "LAUNCH_TEST_PLAY=fit", "LAUNCH_TEST_EVERY="+every,
		"LAUNCH_TEST_PREFIX="+filepath.Join(dir, "m"))
	j.Snapshots, j.Resume = filepath.Join(dir, "snapshots"), resume
	j.Started = func(n wire.Node, pid int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.pids[n] = pid
	}
	return j
}

// complete lists the snapshots of the job that are complete.
func (j *fitJob) complete() []string {
	list, _ := filepath.Glob(filepath.Join(j.Snapshots, "job-1", "snapshot-*", "manifest"))
	return list
}

// run runs the job to its end, or kills all of its processes after a time: from the first batch on,
// or the first snapshot.
func (j *fitJob) run(t *testing.T, kill time.Duration, snapshot bool) (outcomes []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- j.Run(ctx) }()
	if kill > 0 {
		for range 30000 {
			if strings.Contains(j.out.String(), "at batch") &&
				(!snapshot || len(j.complete()) > 0) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		select {
		case err := <-done: // it was faster
			done <- err
		case <-time.After(kill):
			j.mu.Lock()
			for _, pid := range j.pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			j.mu.Unlock()
			cancel()
			<-done
			return nil
		}
	}
	if err := <-done; err != nil {
		t.Fatalf("%v\n%s", err, tail(j.out.String(), 60))
	}
	for _, m := range regexp.MustCompile(`(worker \d+)\] (outcome \w+)`).FindAllStringSubmatch(
		j.out.String(), -1) {
		outcomes = append(outcomes, m[1]+" "+m[2])
	}
	slices.Sort(outcomes)
	return outcomes
}

// TestFitResumes kills all processes of a dist_sync job of module.Fit at a random instant, and
// wants the job that continues with --resume to end with the parameters and the history of every
// worker of a job that was left alone.
func TestFitResumes(t *testing.T) {
	seed := *fitSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano() % 1e9)
	}
	want := map[string][]string{}
	length := map[string]time.Duration{}
	identical, between := 0, 0
	for run := range uint64(*fitRuns) {
		r := rand.New(rand.NewPCG(seed+run, 2))
		every := []string{"", "3"}[run%2]
		if want[every] == nil {
			begun := time.Now()
			want[every] = newFitJob(t.TempDir(), every, false).run(t, 0, false)
			length[every] = time.Since(begun)
			if len(want[every]) != 2 {
				t.Fatalf("outcomes %v, want those of two workers", want[every])
			}
		}
		dir := t.TempDir()
		first := newFitJob(dir, every, false)
		// Most of the runs are to be hit between their first snapshot and their last.
		first.run(t, time.Duration(r.Float64()*float64(30*11*time.Millisecond)), r.IntN(10) > 0)
		list := first.complete()
		again := newFitJob(dir, every, true)
		got := again.run(t, 0, false)
		hit := len(list) > 0 && strings.Contains(again.out.String(), "at batch")
		if hit {
			between++
		}
		if slices.Equal(got, want[every]) {
			identical++
		} else {
			t.Errorf("seed %d: got %v, want %v\n%s", seed+run, got, want[every],
				tail(again.out.String(), 60))
		}
		t.Logf("seed %d: after %d snapshots, between the first and the last: %v", seed+run,
			len(list), hit)
	}
	t.Logf("%d of %d bit-identical; %d killed between the first snapshot and the last; an "+
		"undisturbed job takes %v", identical, *fitRuns, between, length)
	if *fitRuns >= 20 && 10*between < 8**fitRuns {
		t.Errorf("%d of %d runs were killed between the first snapshot and the last, want 80 %%",
			between, *fitRuns)
	}
}
