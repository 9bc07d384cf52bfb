package gluon_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gomx/checkpoint"
)

var (
	killRuns = flag.Int("resume.runs", 4, "runs of TestKill")
	killSeed = flag.Uint64("resume.seed", 0, "seed of TestKill, 0 for one from the clock")
)

// The variables of a process that TestKill starts: the loop that it runs, and its prefix.
const (
	playCase   = "GLUON_TEST_CASE"
	playPrefix = "GLUON_TEST_PREFIX"
	jobFolder  = "GLUON_TEST_JOB"
)

// jobPlay is the program of the processes of a job that a test starts; nil where jobs are not
// supported.
var jobPlay func() int

// TestMain lets the test's own binary be the process that is killed.
func TestMain(m *testing.M) {
	if os.Getenv(jobFolder) != "" && jobPlay != nil {
		os.Exit(jobPlay())
	}
	if name := os.Getenv(playCase); name != "" {
		c := resumeCases[name]
		text, err := c.run(os.Getenv(playPrefix), func(int) error {
			time.Sleep(4 * time.Millisecond) // so that there is time to kill it
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(text)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play starts the process of a loop.
func play(t *testing.T, name, prefix string) (p *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	out = &bytes.Buffer{}
	p = exec.CommandContext(t.Context(), os.Args[0])
	p.Env = append(os.Environ(), playCase+"="+name, playPrefix+"="+prefix)
	p.Stdout, p.Stderr = out, out
	ok(t, p.Start())
	return p, out
}

// awaitFile waits for the first file of a run, for 10 seconds at most.
func awaitFile(prefix string) {
	for range 10000 {
		if _, err := os.Stat(checkpoint.RunPath(prefix)); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestKill kills real processes that train, at random instants and up to three times each, and
// starts them again with the same command line: they end as a process that was left alone.
func TestKill(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano() % 1e9)
	}
	t.Logf("seed %d (-resume.seed)", seed)
	names := slices.Sorted(maps.Keys(resumeCases))
	want, length := map[string]string{}, map[string]time.Duration{} // length from the first file on
	identical, killed := 0, 0
	for run := range *killRuns {
		name := names[run%len(names)]
		if want[name] == "" {
			prefix := filepath.Join(t.TempDir(), "m")
			p, out := play(t, name, prefix)
			awaitFile(prefix)
			begin := time.Now()
			if err := p.Wait(); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			want[name], length[name] = out.String(), time.Since(begin)
		}
		r := rand.New(rand.NewPCG(seed+uint64(run), 0))
		kills, got := killAndResume(t, r, name, length[name])
		killed += kills
		if got != want[name] {
			t.Errorf("%s, seed %d, killed %d times:\n%s\nwant\n%s", name, seed+uint64(run), kills,
				got, want[name])
		} else {
			identical++
		}
	}
	t.Logf("%d of %d bit-identical, killed %d times", identical, *killRuns, killed)
}

// killAndResume runs a loop that is killed at random instants, and returns its text.
func killAndResume(t *testing.T, r *rand.Rand, name string, length time.Duration) (kills int,
	text string) {
	t.Helper()
	prefix := filepath.Join(t.TempDir(), "runs", "m")
	for limit := 1 + r.IntN(3); ; {
		p, out := play(t, name, prefix)
		if kills < limit {
			awaitFile(prefix)
			time.Sleep(time.Duration(r.Float64() * 0.5 * float64(length)))
			_ = p.Process.Kill()
			if p.Wait() != nil {
				kills++
				continue
			}
		} else if err := p.Wait(); err != nil {
			t.Fatalf("%s, killed %d times: %v\n%s", name, kills, err, out)
		}
		entries, err := os.ReadDir(filepath.Dir(prefix))
		ok(t, err)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".tmp") {
				t.Errorf("%s: %s is left over", name, e.Name())
			}
		}
		return kills, out.String()
	}
}
