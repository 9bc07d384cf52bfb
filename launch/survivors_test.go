//go:build cgo && linux

package launch_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/kvstore/wire"
)

var (
	survivorRuns = flag.Int("survivors.runs", 4, "runs of TestElasticSurvivors")
	survivorSeed = flag.Uint64("survivors.seed", 0,
		"seed of the first run of TestElasticSurvivors, 0 for one from the clock")
)

// TestElasticSurvivors kills workers of a job of Fit, and of estimator.Fit, without servers for good, at random instants, and
// lets others stand still until they have been left behind. The others go on from the last round
// that all of them have. One process that replays the samples in the order that the workers have
// written gets the same outputs of every batch and the same parameters, bit for bit, and every
// epoch has each sample once.
func TestElasticSurvivors(t *testing.T) {
	onlyByName(t)
	seed := cmp.Or(*survivorSeed, uint64(time.Now().UnixNano()))
	for i := range uint64(*survivorRuns) {
		for _, play := range []string{"elastic fit", "elastic gluon"} {
			t.Run(fmt.Sprint(play, " ", seed+i), func(t *testing.T) { survivors(t, play, seed+i) })
		}
	}
}

func survivors(t *testing.T, play string, seed uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second)
	defer cancel()
	r := rand.New(rand.NewPCG(seed, 0))
	e := newElastic(t, play)
	e.Workers, e.Servers, e.Replicas, e.Shrink = 3+r.IntN(2), 0, 0, true
	e.Heartbeat, e.Dead = 100*time.Millisecond, 700*time.Millisecond
	e.Env = append(e.Env, "LAUNCH_TEST_STORE=allreduce")
	stays := r.IntN(3) > 0 // away
	if stays {
		e.Restarts = -1
	}
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	victims := r.Perm(e.Workers)[:1+r.IntN(2)]
	t.Logf("seed %d: %d workers, of which %v die, for good %v", seed, e.Workers, victims, stays)
	count := 3
	for _, rank := range victims {
		count += 5 + r.IntN(150)
		began := time.Now()
		for len(e.steps(t)) <= count && len(done) == 0 {
			if time.Sleep(10 * time.Millisecond); time.Since(began) > 40*time.Second {
				t.Fatalf("%d batches, want %d\n%s", len(e.steps(t)), count, tail(e.out.String(), 80))
			}
		}
		e.hit(t, rank, r)
		count = len(e.steps(t))
	}
	if err := <-done; err != nil {
		t.Fatalf("%v\n%s", err, tail(e.out.String(), 80))
	}
	list := counting(e.steps(t))
	outcomes := strings.Count(e.out.String(), "] outcome ")
	if least := e.Workers - len(victims); outcomes < least || stays && outcomes > e.Workers-1 {
		t.Errorf("%d workers have ended well, want at least %d\n%s", outcomes, least,
			tail(e.out.String(), 80))
	}
	e.check(t, list, outcomes)
	t.Logf("batches by the number of workers: %v; %d were taken back", byGroup(list),
		len(e.steps(t))-len(list))
}

// TestElasticScaleAllreduce takes a job without servers from 2 to 3 to 2 workers by orders to the
// scheduler, as gomx scale sends them, while it trains: a worker that comes takes the values and the
// states of the optimizer from the others. One process that replays the samples in the order that
// the workers have written gets the same outputs of every batch and the same parameters, bit for
// bit, and every epoch has each sample once.
func TestElasticScaleAllreduce(t *testing.T) {
	onlyByName(t)
	for _, play := range []string{"elastic fit", "elastic gluon"} {
		t.Run(play, func(t *testing.T) { scaleAllreduce(t, play) })
	}
}

func scaleAllreduce(t *testing.T, play string) {
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	e := newElastic(t, play)
	e.Servers, e.Replicas, e.Shrink = 0, 0, true
	e.Env = append(e.Env, "LAUNCH_TEST_STORE=allreduce", "LAUNCH_TEST_ORDERS=1")
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	e.size(ctx, t, 2, 0)
	e.rounds(t, 2)
	e.order(ctx, t, 3, 0)
	e.rounds(t, 3)
	e.order(ctx, t, 2, 0)
	e.rounds(t, 2)
	e.stop(t, 0)
	if err := <-done; err != nil {
		t.Fatalf("%v\n%s", err, tail(e.out.String(), 80))
	}
	all := e.steps(t)
	list := counting(all)
	e.check(t, list, 2)
	t.Logf("batches by the number of workers: %v; %d were taken back", byGroup(list),
		len(all)-len(list))
}

// rounds waits for more batches of a group of so many workers.
func (e *elastic) rounds(t *testing.T, workers int) {
	t.Helper()
	before := byGroup(e.steps(t))[workers]
	eventually(t, fmt.Sprintf("rounds of %d workers", workers),
		func() bool { return byGroup(e.steps(t))[workers] > before+30 })
}

// byGroup counts batches by the number of workers in their groups.
func byGroup(list []step) map[int]int {
	groups := map[int]int{}
	for _, s := range list {
		groups[s.group]++
	}
	return groups
}

// hit kills a worker, or lets it stand still for so long that the others go on without it.
func (e *elastic) hit(t *testing.T, rank int, r *rand.Rand) {
	e.mu.Lock()
	pid := e.pids[wire.Node{Role: wire.Worker, Rank: uint16(rank)}]
	e.mu.Unlock()
	if r.IntN(3) > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return
	}
	t.Logf("worker %d stands still", rank)
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	time.Sleep(2 * time.Second)
	_ = syscall.Kill(pid, syscall.SIGCONT)
}

// counting returns the batches that count: of each round those of the last group that has had it.
func counting(list []step) []step {
	last := map[[2]int]int{}
	for _, s := range list {
		k := [2]int{s.epoch, s.batch}
		last[k] = max(last[k], s.number)
	}
	return slices.DeleteFunc(slices.Clone(list), func(s step) bool {
		return s.number < last[[2]int{s.epoch, s.batch}]
	})
}
