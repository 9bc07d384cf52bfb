package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakePython writes a program that stands for a peer's interpreter and prints one line.
func fakePython(t *testing.T, line string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	script := "#!/bin/sh\nprintf '" + line + "'\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMeasureComparesWithTheBestPeer(t *testing.T) {
	tests := []struct {
		name, unit, want string
		ours             float64
	}{
		{"rate", "images/s", "w\t20\t10\t2.00\timages/s\ttorch\n", 20},
		{"time", "us/op", "w\t20\t10\t0.50\tus/op\ttorch\n", 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := Workload{Name: "w", Unit: tt.unit, Run: func(context.Context) (float64, error) { return tt.ours, nil }}
			c := Config{Rounds: 2, Peers: []Peer{{"torch", fakePython(t, `w\t10\tx\n`)}}}
			r, err := measure(context.Background(), &c, &Suite{Script: "local.py"}, &w)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			r.print(&b, &w)
			if b.String() != tt.want {
				t.Errorf("got %q, want %q", b.String(), tt.want)
			}
		})
	}
}

func TestMeasureNamesAPeerThatSaysNothing(t *testing.T) {
	w := Workload{Name: "w", Unit: "images/s", Run: func(context.Context) (float64, error) { return 1, nil }}
	c := Config{Rounds: 1, Peers: []Peer{{"torch", fakePython(t, `other\t1\tx\n`)}}}
	_, err := measure(context.Background(), &c, &Suite{Script: "local.py"}, &w)
	if err == nil || !strings.Contains(err.Error(), `torch: its output has no line "w"`) {
		t.Errorf("got %v, want the peer and the missing line", err)
	}
}

func TestRunRejectsUnknownSuites(t *testing.T) {
	err := Run(context.Background(), Config{Suite: "nope"})
	if err == nil || !strings.Contains(err.Error(), "imperative, gemm, local") {
		t.Errorf("got %v, want the names of the suites", err)
	}
}

func TestParsePeer(t *testing.T) {
	if p, err := ParsePeer("mxnet=/x/python"); err != nil || p.Name != "mxnet" || p.Python != "/x/python" {
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
	for _, match := range []struct{ suite, name string }{{"imperative", "imperative.dependent"}, {"gemm", "imperative.dot256"}, {"local", "local.mlp.bs64"}} {
		var b bytes.Buffer
		if err := Run(context.Background(), Config{Suite: match.suite, Match: match.name, Rounds: 1, Out: &b}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), match.name+"\t") {
			t.Errorf("got %q, want a line of %s", b.String(), match.name)
		}
	}
}
