package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/cmd/gomx/fault"
	"gomx/cmd/gomx/profiling"
	"gomx/engine"
	nd "gomx/ndarray"
)

const profiledPlay = "GOMX_TEST_PROFILED"

// playProfiled is the program that is profiled.
func playProfiled() {
	a := nd.Ones(nd.Shape{64, 64})
	for range 10 {
		a = nd.Dot(a, a, nd.DotParams{}).MulScalar(1e-3)
	}
	if _, err := a.Float32s(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// TestProfile profiles a program with ten products, as JSON, as a table and as a trace.
func TestProfile(t *testing.T) {
	t.Setenv(profiledPlay, "1")
	trace := filepath.Join(t.TempDir(), "step.json")
	args := []string{"profile", "--peak", "100", "--bandwidth", "10", "--trace", trace}
	out, err := gomx(t, append(args, "--json", "--", os.Args[0])...)
	if err != nil {
		t.Fatal(err)
	}
	var r profiling.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	found := map[string]*profiling.Row{}
	for _, row := range r.Rows {
		found[row.Name] = row
	}
	dot := found["dot"]
	if dot == nil || dot.Count != 10 || dot.FLOPs != 10*2*64*64*64 || dot.Bytes != 10*3*64*64*4 ||
		!(dot.Total > 0 && dot.Min <= dot.Mean && dot.Mean <= dot.Max && dot.Roofline > 0) {
		t.Errorf("row of dot %+v in %s", dot, out)
	}
	if s := found["_mul_scalar"]; s == nil || s.Count != 10 || r.Processes != 1 {
		t.Errorf("row of _mul_scalar %+v, %d processes", s, r.Processes)
	}
	var events struct {
		TraceEvents []struct {
			Name, Cat string
			Dur       float64
		}
	}
	text, err := os.ReadFile(trace)
	if err == nil {
		err = json.Unmarshal(text, &events)
	}
	if err != nil {
		t.Fatal(err)
	}
	kernels := 0
	for _, e := range events.TraceEvents {
		if e.Cat == "operator" && e.Name == "dot" {
			kernels++
		}
	}
	if kernels != 10 {
		t.Errorf("%d products in the trace, want 10", kernels)
	}
	out, err = gomx(t, "profile", "--peak", "100", "--bandwidth", "10", "--", os.Args[0])
	if err != nil || !strings.Contains(out, "roofline") || !strings.Contains(out, "dot") {
		t.Errorf("table %s, %v", out, err)
	}
	if engine.Profiling(engine.Default()) {
		t.Error("the command itself is profiled")
	}
}

// A program that records nothing is an error with a hint.
func TestProfileOfNothing(t *testing.T) {
	_, err := gomx(t, "profile", "--", "true")
	if err == nil || fault.HintOf(nil, err, false) == "" {
		t.Errorf("got %v, want an error with a hint", err)
	}
	if _, err := gomx(t, "profile", "--", "false"); err == nil {
		t.Error("no error for a program that fails")
	}
}
