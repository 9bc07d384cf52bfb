//go:build cgo

package launch_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/launch"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

func init() {
	plays["train"] = func(string, string) int {
		err := launch.Run(context.Background(), trainPlay)
		if err != nil {
			fmt.Println(err)
		}
		return launch.ExitCode(err)
	}
}

// trainSize is the length of the keys of trainPlay: one travels whole, the other in slices.
var trainSize = map[string]int{"a": 1000, "b": 300_000}

// pushed is a gradient of trainPlay: whole numbers, whose sums are exact.
func pushed(key string, rank, step, i int) float32 {
	return float32((step*7+rank*3+i+len(key))%11 - 5)
}

// trainPlay runs rounds with an optimizer on the servers and prints a checksum of the result. Steps
// that an earlier process in the same place has completed are skipped, as Fit does.
func trainPlay(ctx context.Context) error {
	steps, _ := strconv.Atoi(os.Getenv("LAUNCH_TEST_STEPS"))
	timeout, err := time.ParseDuration(os.Getenv("LAUNCH_TEST_TIMEOUT"))
	if err != nil {
		timeout = 40 * time.Second
	}
	s, err := kvstore.Open(ctx, "dist_sync", kvstore.Timeout(timeout))
	if err != nil {
		return err
	}
	keys := []string{"a", "b"}
	out, grad := map[string]*nd.Array{}, map[string]*nd.Array{}
	for _, key := range keys {
		n := trainSize[key]
		out[key], grad[key] = nd.Zeros(nd.Shape{n}), nd.Zeros(nd.Shape{n})
		if err := s.Broadcast(ctx, key, nd.Ones(nd.Shape{n}), out[key]); err != nil {
			return err
		}
	}
	if err := s.SetOptimizer(ctx, optimizer.SGD{LR: 0.125, Momentum: 0.5}); err != nil {
		return err
	}
	first := int(s.Resumed())
	if first > 0 {
		fmt.Printf("resumes at step %d\n", first)
	}
	longest := time.Duration(0)
	pause, _ := time.ParseDuration(os.Getenv("LAUNCH_TEST_PAUSE"))
	for step := first; step < steps; step++ {
		time.Sleep(pause) // stands for the work of a step
		began := time.Now()
		for _, key := range keys {
			g := make([]float32, trainSize[key])
			for i := range g {
				g[i] = pushed(key, s.Rank(), step, i)
			}
			if err := nd.CopyFrom(grad[key], g); err != nil {
				return err
			}
			if err := s.PushPull(key, 0, []*nd.Array{grad[key]},
				[]*nd.Array{out[key]}); err != nil {
				return err
			}
		}
		if err := out["a"].Wait(ctx); err != nil {
			return err
		}
		longest = max(longest, time.Since(began))
		if err := snapshotPlay(ctx, s, step+1); err != nil {
			return err
		}
		if step == 0 || step == steps/2 {
			fmt.Printf("step %d\n", step)
		}
	}
	fmt.Printf("longest step %v\n", longest)
	for _, key := range keys {
		v, err := out[key].Float32s()
		if err != nil {
			return err
		}
		fmt.Printf("result %s %08x\n", key, checksum(v))
	}
	return s.Close()
}

// snapshotPlay takes a snapshot after the step that LAUNCH_TEST_SNAPSHOT names, or after each
// LAUNCH_TEST_SNAPSHOTS steps.
func snapshotPlay(ctx context.Context, s *kvstore.KV, steps int) error {
	every, _ := strconv.Atoi(os.Getenv("LAUNCH_TEST_SNAPSHOTS"))
	if os.Getenv("LAUNCH_TEST_SNAPSHOT") != strconv.Itoa(steps) &&
		(every == 0 || steps%every != 0) {
		return nil
	}
	if err := s.Snapshot(ctx, uint64(steps)); err != nil {
		return err
	}
	fmt.Printf("snapshot %d\n", steps)
	return nil
}

func checksum(v []float32) uint32 {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		bits := math.Float32bits(x)
		b = append(b, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	}
	return wire.Checksum(b)
}

// alone computes the wanted output of trainPlay's jobs.
func alone(t *testing.T, workers, steps int) map[string]uint32 {
	t.Helper()
	return aloneSteps(t, slices.Repeat([]int{workers}, steps))
}

// aloneSteps does the same for a job of which step i has workers[i] workers.
func aloneSteps(t *testing.T, workers []int) map[string]uint32 {
	t.Helper()
	sums := map[string]uint32{}
	for key, n := range trainSize {
		u, err := optimizer.NewUpdater(optimizer.SGD{LR: 0.125, Momentum: 0.5}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := nd.Ones(nd.Shape{n})
		for step, count := range workers {
			g := make([]float32, n)
			for r := range count {
				for i := range g {
					g[i] += pushed(key, r, step, i)
				}
			}
			if err := u.Update(0, w, nd.FromSlice(g)); err != nil {
				t.Fatal(err)
			}
		}
		v, err := w.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		sums[key] = checksum(v)
	}
	return sums
}

// trainJob returns a job of trainPlay.
func trainJob(workers, servers, replicas, steps int, out *output.Buffer) launch.Local {
	return launch.Local{
		Program: []string{os.Args[0]}, Workers: workers, Servers: servers, Replicas: replicas,
		Stdout: out, Stderr: out,
		Env: []string{"LAUNCH_TEST_PLAY=train", fmt.Sprint("LAUNCH_TEST_STEPS=", steps),
			"GOMAXPROCS=1", "OMP_NUM_THREADS=1"},
	}
}

// checkResults compares the output of every worker with the output of one process.
func checkResults(t *testing.T, out string, workers, steps int) {
	t.Helper()
	checkSteps(t, out, slices.Repeat([]int{workers}, steps))
}

// checkSteps does the same for a job of which step i has workers[i] workers.
func checkSteps(t *testing.T, out string, workers []int) {
	t.Helper()
	for key, sum := range aloneSteps(t, workers) {
		for r := range workers[len(workers)-1] {
			want := fmt.Sprintf("[worker %d] result %s %08x\n", r, key, sum)
			if !strings.Contains(out, want) {
				t.Errorf("output lacks %q:\n%s", want, out)
			}
		}
	}
}

// TestProcesses runs jobs of real processes over local sockets, over TCP, and encrypted.
func TestProcesses(t *testing.T) {
	keys := t.TempDir()
	if err := launch.MakeKeys(keys, 3, 2); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(l *launch.Local){
		"sockets": func(*launch.Local) {},
		"tcp":     func(l *launch.Local) { l.TCP = true },
		"curve": func(l *launch.Local) {
			l.TCP, l.Keys, l.Encrypt = true, keys, launch.EncryptCurve
		},
		"bulk": func(l *launch.Local) {
			l.TCP, l.Keys = true, keys
			l.Env = append(l.Env, "GOMX_SHARED_MEMORY=off")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out output.Buffer
			l := trainJob(3, 2, 2, 6, &out)
			change(&l)
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			if err := l.Run(ctx); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			checkResults(t, out.String(), 3, 6)
		})
	}
}
