package runs_test

import (
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gomx/runs"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/v1 anew")

// open opens a run and fails the test if that is not possible.
func open(tb testing.TB, dir string, opts ...runs.Option) *runs.Run {
	tb.Helper()
	r, err := runs.Open(dir, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func load(tb testing.TB, dir string) *runs.Data {
	tb.Helper()
	d, err := runs.Load(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	return d
}

// write writes a run with everything that a run can have.
func write(tb testing.TB, dir string, opts ...runs.Option) {
	tb.Helper()
	r := open(tb, dir, append(opts, runs.Hyper(map[string]any{"lr": 0.5, "depth": 3}))...)
	loss, speed := r.Tag("loss"), r.Tag("samples/s")
	for step := int64(1); step <= 5; step++ {
		r.Add(step, runs.Point{Tag: loss, Value: 1 / float64(step)},
			runs.Point{Tag: speed, Value: float64(100 * step)})
	}
	r.Scalar("odd", 5, math.NaN())
	r.Scalar("odd", 6, math.Inf(-1))
	r.Histogram("fc weight", 5, []float32{-1, 0, 0.25, 3, float32(math.NaN())})
	r.Histogram("zeros", 5, make([]float32, 10))
	r.Histogram("none", 5, nil)
	r.Graph(&runs.Graph{Parameters: 30, Nodes: []runs.Node{{Name: "data", Shape: []int{2, 10}},
		{Name: "fc", Op: "FullyConnected", Kind: "product", In: []string{"data"},
			Shape: []int{2, 3}, Bytes: 24}}})
	r.Memory(&runs.Memory{Total: 64, Bound: 60, Naive: 90, Steps: []string{"fc"},
		Blocks: []runs.Block{{Name: "fc", Kind: "value", Bytes: 24}}})
	r.Timeline(4, &runs.Timeline{Lanes: []string{"worker 0"},
		Boxes: []runs.Box{{Name: "fc", Dur: 3}}, Flows: [][2]int{{0, 0}}})
	r.Event(3, runs.Event{Kind: "dead", Node: "server 1", Text: "server 1 is dead",
		Time: time.Unix(9, 0).UTC()})
	r.Matrix(5, runs.Matrix{Labels: []string{"a", "b"}, Counts: [][]int{{3, 1}, {0, 4}}})
	r.Samples(5, []runs.Sample{{Text: "x", Label: "a", Prediction: "b", Confidence: 0.75}})
	r.Score("accuracy", 0.875)
	r.Score("worst", math.Inf(1))
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
}

// check compares the content of a run that write has written.
func check(t *testing.T, d *runs.Data) {
	t.Helper()
	loss := d.Curve("loss")
	if loss == nil || !slices.Equal(loss.Step, []int64{1, 2, 3, 4, 5}) ||
		!slices.Equal(loss.Value, []float64{1, 0.5, 1.0 / 3, 0.25, 0.2}) {
		t.Errorf("curve of losses %+v", loss)
	}
	if c := d.Curve("samples/s"); c.Last() != 500 {
		t.Errorf("the last speed is %v, want 500", c.Last())
	}
	if c := d.Curve("odd"); !math.IsNaN(c.Value[0]) || !math.IsInf(c.Value[1], -1) {
		t.Errorf("odd values %v", c.Value)
	}
	h := d.Histograms["fc weight"][0]
	if h.Min != -1 || h.Max != 3 || h.Count != 4 || h.Other != 1 || len(h.Counts) != runs.Bins ||
		h.Counts[0] != 1 || h.Counts[16] != 1 || h.Counts[20] != 1 || h.Counts[63] != 1 {
		t.Errorf("histogram %+v", h)
	}
	if z := d.Histograms["zeros"][0]; len(z.Counts) != 1 || z.Counts[0] != 10 {
		t.Errorf("histogram of zeros %+v", z)
	}
	if n := d.Histograms["none"][0]; n.Count != 0 || len(n.Counts) != 0 {
		t.Errorf("histogram of nothing %+v", n)
	}
	if d.Graph == nil || len(d.Graph.Nodes) != 2 || d.Graph.Nodes[1].In[0] != "data" ||
		d.Memory == nil || d.Memory.Blocks[0].Bytes != 24 || d.Timeline == nil ||
		d.Timeline.Boxes[0].Dur != 3 || d.TimelineStep != 4 {
		t.Errorf("graph %+v, memory %+v, timeline %+v", d.Graph, d.Memory, d.Timeline)
	}
	if len(d.Events) != 1 || d.Events[0].Node != "server 1" || d.Matrix == nil ||
		d.Matrix.Counts[1][1] != 4 || len(d.Samples) != 1 || d.Samples[0].Confidence != 0.75 {
		t.Errorf("events %+v, matrix %+v, samples %+v", d.Events, d.Matrix, d.Samples)
	}
	if d.Scores["accuracy"] != 0.875 || !math.IsInf(d.Scores["worst"], 1) || d.Hyper["lr"] != 0.5 ||
		!d.Ended || len(d.Begins) != 1 {
		t.Errorf("scores %v, hyper-parameters %v, ended %v, begins %v", d.Scores, d.Hyper, d.Ended,
			d.Begins)
	}
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	write(t, dir)
	check(t, load(t, dir))
	list, err := runs.List(filepath.Dir(dir))
	if err != nil || len(list) != 1 || list[0] != filepath.Base(dir) {
		t.Errorf("runs %v, %v", list, err)
	}
}

// Files of version 1 stay readable for ever.
func TestOldVersion(t *testing.T) {
	dir := filepath.Join("testdata", "v1")
	if *rewrite {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		write(t, dir)
	}
	check(t, load(t, dir))
}

// A run goes on in the same file; points that are recorded anew are hidden.
func TestContinues(t *testing.T) {
	dir := t.TempDir()
	write(t, dir)
	d := load(t, dir)
	r := open(t, dir, runs.From(3))
	r.Scalar("loss", 4, 40)
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	if changed, err := d.Update(); err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	if c := d.Curve("loss"); !slices.Equal(c.Value, []float64{1, 0.5, 1.0 / 3, 40}) || d.Ended {
		t.Errorf("losses %v, ended %v", c.Value, d.Ended)
	}
	if len(d.Histograms["zeros"]) != 0 || d.Hyper["lr"] != 0.5 {
		t.Errorf("histograms %v of a later step, hyper-parameters %v", d.Histograms["zeros"],
			d.Hyper)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = open(t, dir)
	r.Scalar("loss", 1, 7)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Update(); err != nil {
		t.Fatal(err)
	}
	if c := d.Curve("loss"); !slices.Equal(c.Value, []float64{7}) || len(d.Events) != 0 ||
		len(d.Begins) != 3 {
		t.Errorf("losses %v, events %v, %d begins", c.Value, d.Events, len(d.Begins))
	}
}

// A process that is killed leaves a part of a record: at every length of the file readers read the
// complete records, and the next process goes on behind them.
func TestTornFiles(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	for step := range int64(3) {
		r.Scalar("loss", step+1, float64(step))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, runs.FileName(0)))
	if err != nil {
		t.Fatal(err)
	}
	points := -1
	for n := range len(whole) + 1 {
		torn := t.TempDir()
		path := filepath.Join(torn, runs.FileName(0))
		if err := os.WriteFile(path, whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		d := load(t, torn)
		now := 0
		if c := d.Curve("loss"); c != nil {
			now = len(c.Step)
		}
		if now < points {
			t.Fatalf("%d points in %d bytes, %d in fewer", now, n, points)
		}
		points = now
		again := open(t, torn, runs.From(int64(now)))
		again.Scalar("loss", int64(now)+1, 9)
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Update(); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if c := d.Curve("loss"); len(c.Step) != now+1 || c.Last() != 9 {
			t.Fatalf("%d bytes: %v after %d points", n, c.Value, now)
		}
	}
	if points != 3 {
		t.Errorf("%d points in the whole file, want 3", points)
	}
}

// Damage is an error that names file and place; the records before it are read.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir)
	path := filepath.Join(dir, runs.FileName(0))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole[len(whole)/2] ^= 1
	if err := os.WriteFile(path, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := runs.Load(dir)
	if !errors.Is(err, runs.ErrDamaged) || d.Curve("loss") == nil {
		t.Errorf("got %v, want damage behind the curves", err)
	}
	_ = d.Close()
	for _, text := range []string{"gomxrun\n\x02\x00\x00\x00", "something else", "gox"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := runs.Load(dir); err == nil {
			t.Errorf("no error for a file %q", text)
		}
		if _, err := runs.Open(dir); err == nil {
			t.Errorf("a run goes on in a file %q", text)
		}
	}
}

// A second process cannot write the same run.
func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	defer r.Close()
	if second, err := runs.Open(dir); err == nil {
		_ = second.Close()
		t.Skip("this system has no locks")
	}
}

// Workers of a job have files and names of their own.
func TestWorkers(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir, runs.Rank(2))
	a.Scalar("loss", 1, 1)
	b.Scalar("loss", 1, 2)
	for _, r := range []*runs.Run{a, b} {
		r.Event(1, runs.Event{Kind: "dead", Node: "server 1", Text: "server 1 is dead"})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d := load(t, dir)
	if d.Curve("loss").Last() != 1 || d.Curve("worker 2/loss").Last() != 2 || len(d.Events) != 1 {
		t.Errorf("curves %v, events %v", d.Curves, d.Events)
	}
}

func TestMistakes(t *testing.T) {
	for name, open := range map[string]func() (*runs.Run, error){
		"folder": func() (*runs.Run, error) { return runs.Open("") },
		"from":   func() (*runs.Run, error) { return runs.Open(t.TempDir(), runs.From(-1)) },
		"rank":   func() (*runs.Run, error) { return runs.Open(t.TempDir(), runs.Rank(-1)) },
	} {
		if _, err := open(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := runs.Load(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}

// Recording a step allocates nothing.
func TestStepsDoNotAllocate(t *testing.T) {
	for name, opts := range map[string][]runs.Option{"run": nil,
		"TensorBoard": {runs.TensorBoard()}} {
		r := open(t, t.TempDir(), opts...)
		defer r.Close()
		points := make([]runs.Point, 4)
		for i, tag := range []string{"loss", "accuracy", "samples/s", "memory"} {
			points[i].Tag = r.Tag(tag)
		}
		values := make([]float32, 1000)
		step := int64(0)
		record := func() {
			step++
			points[0].Value = float64(step)
			r.Add(step, points...)
			r.Histogram("weight", step, values)
		}
		// both buffers of the journal grow to the size of their work first
		for range 3 {
			for range 2000 {
				record()
			}
			if err := r.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(1000, record); n >= 1 {
			t.Errorf("%s: %v allocations a step", name, n)
		}
	}
}

func TestEndOfFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir)
	r, err := runs.OpenReader(filepath.Join(dir, runs.FileName(0)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for n := 0; ; n++ {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			if n < 20 {
				t.Errorf("%d records, want 20 or more", n)
			}
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
