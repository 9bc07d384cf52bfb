package module_test

import (
	"bytes"
	"context"
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
	"gomx/module"
)

var killRuns = flag.Int("resume.runs", 5, "runs of TestKill")

// The variables of a process that TestKill starts: the case that it trains, and the prefix of its
// checkpoints.
const (
	playCase   = "MODULE_TEST_CASE"
	playPrefix = "MODULE_TEST_PREFIX"
)

// TestMain lets the test's own binary be the process that is killed.
func TestMain(m *testing.M) {
	if name := os.Getenv(playCase); name != "" {
		c := resumeCases[name]
		text, err := c.fit(context.Background(), func(*module.BatchEnd) error {
			time.Sleep(4 * time.Millisecond) // so that there is time to kill it
			return nil
		}, module.Resume(os.Getenv(playPrefix), module.KeepLast(2), module.WithStates(),
			module.EveryBatches(3)))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(text)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play starts the process of a case.
func play(ctx context.Context, name, prefix string) (p *exec.Cmd, out *bytes.Buffer, err error) {
	out = &bytes.Buffer{}
	p = exec.CommandContext(ctx, os.Args[0])
	p.Env = append(os.Environ(), playCase+"="+name, playPrefix+"="+prefix)
	p.Stdout, p.Stderr = out, out
	return p, out, p.Start()
}

// TestKill kills real processes that train, at random instants and up to three times each, and
// starts them again with the same command line: they end as a process that was left alone, and
// leave no file that is not complete.
func TestKill(t *testing.T) {
	seed := drawResumeSeed(t)
	names := slices.Sorted(maps.Keys(resumeCases))
	// length is from the first checkpoint on
	want, length := map[string]string{}, map[string]time.Duration{}
	identical, between := 0, 0
	for run := range *killRuns {
		r := rand.New(rand.NewPCG(seed+uint64(run), 0))
		name := names[run%len(names)]
		if want[name] == "" {
			prefix := filepath.Join(t.TempDir(), "m")
			p, out, err := play(t.Context(), name, prefix)
			begin := time.Now()
			if err == nil {
				awaitCheckpoint(prefix)
				begin = time.Now()
				err = p.Wait()
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			want[name], length[name] = out.String(), time.Since(begin)
		}
		prefix := filepath.Join(t.TempDir(), "runs", "m")
		kills, struck := 0, false
		for {
			p, out, err := play(t.Context(), name, prefix)
			if err != nil {
				t.Fatal(err)
			}
			if kills < 1+r.IntN(3) {
				// Most of the runs are to be hit between their first checkpoint and their end.
				if kills > 0 || r.IntN(10) > 0 {
					awaitCheckpoint(prefix)
				}
				time.Sleep(time.Duration(r.Float64() * 0.5 * float64(length[name])))
				_, statErr := os.Stat(checkpoint.RunPath(prefix))
				_ = p.Process.Kill()
				if p.Wait() != nil {
					kills++
					struck = struck || statErr == nil
					continue
				}
			} else if err := p.Wait(); err != nil {
				t.Fatalf("%s, seed %d: %v\n%s", name, seed+uint64(run), err, out)
			}
			if out.String() != want[name] {
				t.Errorf("%s, seed %d, killed %d times:\n%s\nwant\n%s", name, seed+uint64(run),
					kills, out, want[name])
			} else {
				identical++
			}
			break
		}
		if struck {
			between++
		}
		checkFiles(t, prefix)
	}
	t.Logf("%d of %d bit-identical; %d killed between the first checkpoint and the last", identical,
		*killRuns, between)
	if 10*between < 8**killRuns && *killRuns >= 20 {
		t.Errorf("%d of %d runs were killed between the first checkpoint and the last, want 80 %%",
			between, *killRuns)
	}
}

// awaitCheckpoint waits for the first checkpoint of a run, for 10 seconds at most.
func awaitCheckpoint(prefix string) {
	for range 10000 {
		if _, err := os.Stat(checkpoint.RunPath(prefix)); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// checkFiles looks at the files of a finished run.
func checkFiles(t *testing.T, prefix string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		t.Fatal(err)
	}
	params := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s is left over", e.Name())
		}
		if strings.HasSuffix(e.Name(), ".params") {
			params++
		}
	}
	if params != 2 {
		t.Errorf("%d files of parameters, want 2 (KeepLast): %v", params, entries)
	}
}
