package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a shell script that stands for a program and returns its path.
func program(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// fakePeer is a peer whose interpreter runs a shell script.
func fakePeer(t *testing.T, name, text string) Peer {
	return Peer{name, program(t, t.TempDir(), "python", text)}
}

func workload(unit string, ours float64) Workload {
	return Workload{Name: "w", Unit: unit, Run: func(context.Context) (float64, error) {
		return ours, nil
	}}
}

// compare alternates between a workload and one peer and returns the line that is printed.
func compare(t *testing.T, s *Suite, p Peer, w Workload) (string, error) {
	t.Helper()
	ps, err := newPrograms()
	if err != nil {
		t.Fatal(err)
	}
	defer ps.close()
	r, err := s.alternate(context.Background(), &Config{Rounds: 2, Peers: []Peer{p}}, ps, &w)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	r.print(&b, &w)
	return b.String(), nil
}

func TestComparesWithTheBestPeer(t *testing.T) {
	python := Suite{Script: "local.py", args: onlyLine, variants: alone}
	other := workload("us/op", 5)
	other.Line = "v"
	tests := []struct {
		name, peer, want string
		suite            Suite
		w                Workload
	}{
		{"rate", `printf 'w\t10\tx\n'`, "w\t20\t10\t2.00\timages/s\ttorch\n", python,
			workload("images/s", 20)},
		{"time", `printf 'w\t10\tx\n'`, "w\t20\t10\t0.50\tus/op\ttorch\n", python,
			workload("us/op", 20)},
		{"best line of several", `printf 'w\t12\tx\nw\t10\tx\nw\t11\tx\n'`,
			"w\t20\t10\t0.50\tns/op\ttorch\n", python, workload("ns/op", 20)},
		{"another name", `printf 'v\t10\tx\nw\t1\tx\n'`, "w\t5\t10\t2.00\tus/op\ttorch\n", python,
			other},
		{"arguments", `test "${1##*/} $2 $3" = 'local.py torch ^w$' && printf 'w\t10\tx\n'`,
			"w\t20\t10\t2.00\timages/s\ttorch\n",
			Suite{Script: "local.py", args: peerAndLine, variants: alone},
			workload("images/s", 20)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := compare(t, &tt.suite, fakePeer(t, "torch", tt.peer), tt.w); err != nil ||
				got != tt.want {
				t.Errorf("got %q and error %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestTheBestVariantCounts(t *testing.T) {
	threads := Suite{Script: "local.py", args: onlyLine, variants: byThreads}
	got, err := compare(t, &threads, fakePeer(t, "mxnet", `printf "w\t${OMP_NUM_THREADS:-1}\tx\n"`),
		workload("images/s", 4))
	if want := "w\t4\t2\t2.00\timages/s\tmxnet omp2\n"; err != nil || got != want {
		t.Errorf("got %q and error %v, want %q", got, err, want)
	}
}

// TestCompilesPrograms gives mxnet's place to a folder without a library and gcc's to a script that
// copies another to where the binary goes.
func TestCompilesPrograms(t *testing.T) {
	bin, lib := t.TempDir(), t.TempDir()
	program(t, bin, "gcc", `test "$3" = `+lib+`/libmxnet.so && grep -q MXEnginePushSyncND "$2" && cp `+lib+`/binary "$6"`)
	program(t, lib, "binary", `test "$LD_LIBRARY_PATH" = `+lib+` && printf "w\t$MXNET_CPU_WORKER_NTHREADS\tns/op\n"`)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	suite := Suite{Script: "engine.c", args: everything, variants: byWorkers}
	peer := fakePeer(t, "mxnet", "echo "+lib)
	got, err := compare(t, &suite, peer, workload("ns/op", 2))
	if want := "w\t2\t1\t0.50\tns/op\tmxnet workers1\n"; err != nil || got != want {
		t.Errorf("got %q and error %v, want %q", got, err, want)
	}
	if _, err := compare(t, &suite, fakePeer(t, "torch", ""), workload("ns/op", 2)); err == nil ||
		!strings.Contains(err.Error(), "torch: engine.c: want peer mxnet") {
		t.Errorf("another peer: got %v", err)
	}
	program(t, bin, "gcc", "echo no such library >&2; exit 1")
	if _, err := compare(t, &suite, peer, workload("ns/op", 2)); err == nil ||
		!strings.Contains(err.Error(), "libmxnet.so") ||
		!strings.Contains(err.Error(), "no such library") {
		t.Errorf("a compiler that fails: got %v", err)
	}
}

func TestNamesAPeerThatSaysNothing(t *testing.T) {
	suite := Suite{Script: "local.py", args: onlyLine, variants: alone}
	_, err := compare(t, &suite, fakePeer(t, "torch", `printf 'other\t1\tx\n'`),
		workload("images/s", 1))
	if err == nil || !strings.Contains(err.Error(), `torch: found no line "w" in its output`) {
		t.Errorf("got %v, want the peer and the missing line", err)
	}
	_, err = compare(t, &suite, fakePeer(t, "torch", `echo no module >&2; exit 3`),
		workload("images/s", 1))
	if err == nil || !strings.Contains(err.Error(), "torch: local.py") ||
		!strings.Contains(err.Error(), "no module") {
		t.Errorf("got %v, want the peer, the script and its complaint", err)
	}
}

func TestRunRejectsUnknownSuites(t *testing.T) {
	err := Run(context.Background(), Config{Suite: "nope"})
	if err == nil || !strings.Contains(err.Error(), "engine, imperative, gemm, local") {
		t.Errorf("got %v, want the names of the suites", err)
	}
}

func TestParsePeer(t *testing.T) {
	if p, err := ParsePeer("mxnet=/x/python"); err != nil || p.Name != "mxnet" ||
		p.Python != "/x/python" {
		t.Errorf("got %+v, %v", p, err)
	}
	for _, bad := range []string{"mxnet", "mxnet=", "caffe=python"} {
		if _, err := ParsePeer(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

// TestWorkloadsRun runs the smallest workload of every suite once, so that suites do not rot.
func TestWorkloadsRun(t *testing.T) {
	for _, match := range []struct{ suite, name string }{
		{"engine", "engine.chain.workers2"}, {"imperative", "imperative.dependent.queue"},
		{"gemm", "imperative.dot256"}, {"local", "local.mlp.bs64"},
	} {
		var b bytes.Buffer
		if err := Run(context.Background(), Config{Suite: match.suite, Match: match.name, Rounds: 1,
			Out: &b}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "\n"+match.name+"\t") {
			t.Errorf("got %q, want a line of %s", b.String(), match.name)
		}
	}
}
