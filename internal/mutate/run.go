package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/build"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"gomx/internal/mutate/plant"
)

// mutant is a fault and the text of the file that it is planted in.
type mutant struct {
	site plant.Site
	path string // of the file, absolute
	text []byte
}

// verdict is the answer of the tests to a mutant.
type verdict int

const (
	survived verdict = iota
	killed
	invalid // does not compile
)

// run plants mutants until o.n of them compiled, and reports each survivor as it is found.
func run(ctx context.Context, o options, out io.Writer) error {
	all, err := mutants(o.folder)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s: no Go file has a place for a fault", o.folder)
	}
	if _, err := judge(ctx, o, nil); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(o.seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	tried, dead, err := campaign(ctx, o, all, out)
	if err != nil {
		return err
	}
	share := float64(dead) / float64(max(tried, 1))
	fmt.Fprintf(out, "mutate: %d of %d killed (%.1f %%), seed %d\n", dead, tried, 100*share, o.seed)
	if share < o.least {
		return fmt.Errorf("%w: got %.3f, want %.3f", errWeak, share, o.least)
	}
	return nil
}

// campaign tests mutants in the given order, o.workers at a time, until o.n compiled.
func campaign(ctx context.Context, o options, all []mutant, out io.Writer) (tried, dead int,
	err error) {
	var mu sync.Mutex // guards all results and next
	next := 0
	take := func() (mutant, bool) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil || tried >= o.n || next >= len(all) {
			return mutant{}, false
		}
		next++
		return all[next-1], true
	}
	report := func(m mutant, v verdict, e error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case e != nil:
			err = e
		case v == invalid || tried >= o.n:
		case v == killed:
			tried, dead = tried+1, dead+1
		default:
			tried++
			fmt.Fprintf(out, "survived: %s\n", m.site)
		}
	}
	var wg sync.WaitGroup
	for range max(o.workers, 1) {
		wg.Go(func() {
			for m, ok := take(); ok; m, ok = take() {
				v, e := judge(ctx, o, &m)
				report(m, v, e)
			}
		})
	}
	wg.Wait()
	return tried, dead, err
}

// mutants lists the faults of all files of a package but tests, generated files, and files that
// are not built on this machine without tags.
func mutants(folder string) ([]mutant, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_gen.go") {
			continue
		}
		built, err := build.Default.MatchFile(folder, filepath.Base(name))
		if err != nil {
			return nil, err
		}
		if !built {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		sites, err := plant.Sites(name, text)
		if err != nil {
			return nil, err
		}
		for _, s := range sites {
			all = append(all, mutant{s, path, text})
		}
	}
	return all, nil
}

// judge runs the tests over a mutant: the package's own, and the others that o names as long as
// none has failed. Without a mutant it returns an error when they fail.
func judge(ctx context.Context, o options, m *mutant) (verdict, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	overlay, err := lay(dir, m)
	if err != nil {
		return 0, err
	}
	for _, folder := range append([]string{o.folder}, o.also...) {
		v, err := judgeBy(ctx, o, m, folder, overlay, filepath.Join(dir, "tests"))
		if err != nil || v != survived {
			return v, err
		}
	}
	return survived, nil
}

// judgeBy runs the tests of one folder over a mutant, by a binary that it builds.
func judgeBy(ctx context.Context, o options, m *mutant, folder, overlay, binary string,
) (verdict, error) {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o",
		binary, folder)
	if text, err := build.CombinedOutput(); err != nil {
		if m == nil || ctx.Err() != nil {
			return 0, fmt.Errorf("%s does not build: %w\n%s", folder, err, text)
		}
		return invalid, nil
	}
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	args := make([]string, 0, len(o.args)+1)
	for _, a := range o.args {
		args = append(args, testFlag(a))
	}
	test := limitedCommand(limited, binary, append(args, "-test.failfast")...)
	test.Dir = folder
	text, err := test.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err == nil:
		return survived, nil
	case m == nil:
		return 0, fmt.Errorf("the tests of %s fail without a fault: %w\n%s", folder, err, text)
	}
	return killed, nil
}

// mostMemory is the address space in KiB that the tests of a mutant may use: a mutant that allocates
// without end would take the memory of the machine.
const mostMemory = 12 << 20

// limitedCommand is a command that may use as much address space as mostMemory, where there is a
// shell that can limit it.
func limitedCommand(ctx context.Context, name string, args ...string) *exec.Cmd {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return exec.CommandContext(ctx, name, args...)
	}
	script := fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, mostMemory)
	return exec.CommandContext(ctx, shell, append([]string{"-c", script, name}, args...)...)
}

// lay writes the overlay that puts a mutant in the place of its file.
func lay(dir string, m *mutant) (string, error) {
	replace := map[string]string{}
	if m != nil {
		faulty := filepath.Join(dir, "faulty.go")
		if err := os.WriteFile(faulty, m.site.Apply(m.text), 0o600); err != nil {
			return "", err
		}
		replace[m.path] = faulty
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// testFlags are the flags of go test that a test binary knows under a longer name.
var testFlags = []string{"run", "short", "skip", "count", "v"}

// testFlag spells a flag as a test binary wants it: -run becomes -test.run.
func testFlag(arg string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	for _, f := range testFlags {
		if strings.HasPrefix(arg, "-") && name == f {
			return "-test." + strings.TrimLeft(arg, "-")
		}
	}
	return arg
}
