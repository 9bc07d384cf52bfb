//go:build cgo && linux

package launch_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore/wire"
	"gomx/launch"
)

var (
	chaosRuns = flag.Int("chaos.runs", 3, "number of runs of TestChaos")
	chaosSeed = flag.Uint64("chaos.seed", 0,
		"seed of the first run of TestChaos, 0: from the journal, or from the clock without one")
	chaosJournal = flag.String("chaos.journal", "",
		"file to which every run adds a line; runs go on with seeds that are not in it for this "+
			"commit")
)

// One run in slowRuns has the default intervals of the protocol; in the others they are divided by
// chaosScale.
const (
	slowRuns   = 10
	chaosScale = 6
)

// TestChaos disturbs the processes of a job once or twice at random instants. If a copy of every
// shard survives, the result must equal the result of one process, bit for bit; otherwise an error
// must name the lost shards. Only the victims may end early, and no job may hang.
func TestChaos(t *testing.T) {
	j := openJournal(t, *chaosJournal, "chaos")
	seed := *chaosSeed
	if seed == 0 && *chaosJournal == "" {
		seed = uint64(time.Now().UnixNano()%1e9)*slowRuns + 1 // a quick one
	}
	for run := range uint64(*chaosRuns) {
		s := seed + run
		if seed == 0 {
			s = j.next()
		}
		c := newChaos(s)
		began := time.Now()
		outcome := c.run(t)
		e := entry{Seed: s, Scale: c.scale, Outcome: outcome, Seconds: time.Since(began).Seconds()}
		for i, f := range c.n.faults {
			e.Faults = append(e.Faults, f.String())
			e.Hit = e.Hit || c.n.hits[i]
		}
		j.add(t, e, c.out.String())
		t.Logf("seed %d, intervals divided by %v: %v: %s after %.1f s, longest step %v", s, c.scale,
			c.n.faults, firstLine(outcome), e.Seconds, longestStep(c.out.String()))
		if strings.HasPrefix(outcome, failed) {
			t.Errorf("seed %d: %v: %s\n%s", s, c.n.faults, outcome, tail(c.out.String(), 200))
		}
	}
	j.report(t)
}

func firstLine(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }

// tail returns the last lines of a text.
func tail(s string, n int) string {
	lines := strings.SplitAfter(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

// chaosRun is one run of TestChaos.
type chaosRun struct {
	seed             uint64
	scale            float64
	workers, servers int
	n                *nemesis
	out              output.Buffer
}

func newChaos(seed uint64) *chaosRun {
	rng := rand.New(rand.NewPCG(seed, 1))
	c := &chaosRun{seed: seed, scale: chaosScale, workers: 2 + rng.IntN(2), servers: 2 +
		rng.IntN(2)}
	if seed%slowRuns == 0 {
		c.scale = 1
	}
	c.n = newNemesis(drawFaults(rng, c.workers, c.servers, c.scale)...)
	return c
}

// job returns the job of the run.
func (c *chaosRun) job(dir string) launch.Local {
	l := trainJob(c.workers, c.servers, 2, chaosSteps, &c.out)
	// Calls outlive every pause, so that only the protocol ends them.
	l.Env = append(l.Env, "LAUNCH_TEST_PLAY=chaos", "LAUNCH_TEST_TIMEOUT=5m", "GOTRACEBACK=single")
	l.Started = c.n.started
	l.Snapshots = dir
	if c.scale != 1 {
		scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) / c.scale) }
		l.Heartbeat, l.Dead, l.Patience = scaled(500*time.Millisecond), scaled(3*time.Second),
			scaled(100*time.Second)
	}
	return l
}

// limit is the longest time of the run: twice the time of its pauses, and time for the rest on a
// busy machine.
func (c *chaosRun) limit() time.Duration {
	limit := 90 * time.Second
	for _, f := range c.n.faults {
		if !f.deadly() {
			limit += 2 * f.pause
		}
	}
	return limit
}

// lostShards matches the error of a job that has lost all copies of some shards.
var lostShards = regexp.MustCompile(`all copies of shards are lost: [0-9]+ of [0-9]+, numbers [0-9]`)

// run carries out the run and returns its outcome.
func (c *chaosRun) run(t *testing.T) (outcome string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gomx-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l := c.job(dir)
	ctx, cancel := context.WithTimeout(t.Context(), c.limit()+20*time.Second)
	defer cancel()
	struck, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { c.n.strike(struck, &c.out) })
	hung := time.AfterFunc(c.limit(), c.n.explain)
	err = l.Run(ctx)
	ended := time.Now()
	inTime := hung.Stop()
	stop()
	wg.Wait()
	var exit *launch.ExitError
	switch {
	case !inTime:
		return fmt.Sprintf("%sthe job hangs (%v)", failed, err)
	case err == nil:
		return c.checkEnd(t)
	case !c.n.mayLose():
		return fmt.Sprintf("%sthough a copy of everything survived: %v", failed, err)
	case !errors.As(err, &exit) || exit.Code != launch.ExitLost ||
		!lostShards.MatchString(c.out.String()):
		return fmt.Sprintf("%swant an error that names the lost shards: %v", failed, err)
	case ended.Sub(c.n.last()) > 30*time.Second:
		return fmt.Sprintf("%sthe error came %v after the last death", failed,
			ended.Sub(c.n.last()))
	}
	return lost
}

// checkEnd checks the results of a job that has ended well.
func (c *chaosRun) checkEnd(t *testing.T) string {
	t.Helper()
	wrong := c.n.check()
	out := c.out.String()
	sums := alone(t, c.workers, chaosSteps)
	sums["rows"] = tableAlone(t, c.workers, chaosSteps)
	for key, sum := range sums {
		for r := range c.workers {
			if want := fmt.Sprintf("[worker %d] result %s %08x\n", r, key,
				sum); !strings.Contains(out, want) {
				wrong = append(wrong, fmt.Sprintf("output lacks %q", want))
			}
		}
	}
	if f := c.n.faults[0]; len(c.n.faults) == 1 && f.deadly() && f.victim.Role == wire.Server &&
		f.moment == "step" {
		if d := longestStep(out); d > 5*time.Second {
			wrong = append(wrong, fmt.Sprintf(
				"the death of a server has stopped a step for %v, want at most 5 s", d))
		}
	}
	if len(wrong) > 0 {
		return failed + strings.Join(wrong, "; ")
	}
	return identical
}

// longestStep returns the longest step that workers print.
func longestStep(out string) (longest time.Duration) {
	for line := range strings.Lines(out) {
		if _, text, ok := strings.Cut(line, "longest step "); ok {
			if d, err := time.ParseDuration(strings.TrimSpace(text)); err == nil {
				longest = max(longest, d)
			}
		}
	}
	return longest
}
