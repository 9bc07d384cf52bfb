//go:build cgo && linux

package launch_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/launch"

	"github.com/rs/zerolog"
)

var (
	resumeRuns = flag.Int("resume.runs", 2, "number of runs of TestResumeJobs")
	resumeSeed = flag.Uint64("resume.seed", 0,
		"seed of the first run of TestResumeJobs, 0: from the journal, or from the clock "+
			"without one")
)

func init() {
	plays["launcher of snapshots"] = func(_, dir string) int {
		l := launch.Local{Program: []string{os.Args[0]}, Workers: 3, Servers: 2, Replicas: 2,
			Snapshots: dir, Resume: true,
			Env: []string{"LAUNCH_TEST_PLAY=chaos", "LAUNCH_TEST_TIMEOUT=1m",
				"LAUNCH_TEST_TRACE=1", "GOMAXPROCS=1", "OMP_NUM_THREADS=1"},
			Stdout: os.Stdout, Stderr: os.Stderr, Log: zerolog.New(os.Stderr)}
		if err := l.Run(context.Background()); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
}

// TestResumeJobs kills a whole job, launcher first, at a random instant, most of them between the
// first snapshot and the last one, and wants the job that resumes it to end as one that was never
// disturbed, bit for bit.
func TestResumeJobs(t *testing.T) {
	j := openJournal(t, *chaosJournal, "resume")
	seed := *resumeSeed
	if seed == 0 && *chaosJournal == "" {
		seed = uint64(time.Now().UnixNano() % 1e9)
	}
	between := 0
	for run := range uint64(*resumeRuns) {
		s := seed + run
		if seed == 0 {
			s = j.next()
		}
		began := time.Now()
		k, out := resumeJob(t, s)
		if k.between {
			between++
		}
		j.add(t, entry{Seed: s, Scale: 1, Faults: []string{k.String()}, Hit: k.between,
			Outcome: k.outcome, Seconds: time.Since(began).Seconds()}, out)
		t.Logf("seed %d: %v: %s", s, k, k.outcome)
		if strings.HasPrefix(k.outcome, failed) {
			t.Errorf("seed %d: %v: %s\n%s", s, k, k.outcome, tail(out, 200))
		}
	}
	t.Logf("%d of %d kills came between the first snapshot and the last", between, *resumeRuns)
	j.report(t)
}

// killedJob is one run of TestResumeJobs.
type killedJob struct {
	step    int           // after which the job was killed
	after   time.Duration // from then on
	resumed int           // the step at which it was resumed
	between bool
	outcome string
}

// String says when the job was killed.
func (k *killedJob) String() string {
	return fmt.Sprintf("killed %v after step %d, resumed at %d", k.after, k.step, k.resumed)
}

// resumeJob is one run.
func resumeJob(t *testing.T, seed uint64) (*killedJob, string) {
	t.Helper()
	const workers, firstSnapshot, lastSnapshot = 3, chaosEvery, chaosSteps - chaosEvery
	rng := rand.New(rand.NewPCG(seed, 2))
	k := &killedJob{step: firstSnapshot + rng.IntN(lastSnapshot-firstSnapshot),
		after: time.Duration(rng.IntN(15)) * time.Millisecond}
	if rng.IntN(10) == 0 {
		k.step = rng.IntN(chaosSteps - 1)
	}
	dir, err := os.MkdirTemp("", "gomx-resume-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	tmp := t.TempDir() // the folders of the killed launcher
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second)
	defer cancel()
	start := func(out *output.Buffer) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, time.Second
		cmd.Env = append(os.Environ(), "LAUNCH_TEST_PLAY=launcher of snapshots",
			"LAUNCH_TEST_DIR="+dir, "TMPDIR="+tmp)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	var first, second output.Buffer
	cmd := start(&first)
	for !strings.Contains(first.String(), fmt.Sprintf("] step %d done\n", k.step)) &&
		ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(k.after)
	alive := syscall.Kill(cmd.Process.Pid, syscall.SIGKILL) == nil
	_ = cmd.Wait()
	k.between = alive && strings.Contains(first.String(), "at snapshot\n") &&
		strings.Contains(first.String(), fmt.Sprintf("step %d done\n", firstSnapshot)) &&
		!strings.Contains(first.String(), fmt.Sprintf("step %d done\n", lastSnapshot))
	err = start(&second).Wait()
	out := first.String() + "--- resumed\n" + second.String()
	k.outcome = k.judge(t, second.String(), workers, err)
	return k, out
}

// judge checks the output of the resumed job.
func (k *killedJob) judge(t *testing.T, out string, workers int, err error) string {
	t.Helper()
	if err != nil {
		return failed + err.Error()
	}
	for line := range strings.Lines(out) {
		if _, text, ok := strings.Cut(line, "resumes at step "); ok {
			_, _ = fmt.Sscan(text, &k.resumed)
		}
	}
	if k.between && (k.resumed == 0 || k.resumed > k.step+2) {
		return fmt.Sprintf("%sresumed at step %d", failed, k.resumed)
	}
	for key, sum := range alone(t, workers, chaosSteps) {
		for r := range workers {
			if want := fmt.Sprintf("[worker %d] result %s %08x\n", r, key,
				sum); !strings.Contains(out, want) {
				return fmt.Sprintf("%soutput lacks %q", failed, want)
			}
		}
	}
	return identical
}
