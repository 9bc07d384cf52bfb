package module_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	"gomx/runs"
)

// loadRun reads the run in a folder.
func loadRun(t *testing.T, dir string) *runs.Data {
	t.Helper()
	d, err := runs.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// TestRecord trains with everything recorded, and compares curves with callbacks.
func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "mlp")
	var accuracy []float64
	mod := train(t, points(t, 200, 20, shuffled()), module.Epochs(3),
		module.Metric(metric.Composite(metric.Accuracy(), metric.ConfusionMatrix())),
		module.Validate(points(t, 100, 20, dataio.NDArrayConfig{})), module.Sample(1),
		module.Record(dir, runs.Histograms(10), runs.TensorBoard(), runs.Trace(4),
			runs.Hyper(map[string]any{"note": "test"})),
		module.OnEpoch(func(e *module.EpochEnd) error {
			v, _ := e.Validation.Get("accuracy")
			accuracy = append(accuracy, v)
			return nil
		}))
	d := loadRun(t, dir)
	c := d.Curve("train/accuracy")
	if c == nil || len(c.Step) != 30 || c.Step[0] != 1 || c.Step[29] != 30 {
		t.Fatalf("curve of the accuracy %+v, want 30 steps", c)
	}
	// the history has the windows of single batches but the first of each epoch
	for _, b := range mod.History().Batches {
		v, _ := b.Scores.Get("accuracy")
		step := 10*b.Epoch + b.Batch
		if b.Batch > 1 && math.Abs(v-c.Value[step]) > 1e-9 {
			t.Errorf("step %d: accuracy %v, the history has %v", step, c.Value[step], v)
		}
	}
	if v := d.Curve("validation/accuracy"); !slices.Equal(v.Value, accuracy) ||
		!slices.Equal(v.Step, []int64{10, 20, 30}) || d.Scores["validation/accuracy"] != accuracy[2] {
		t.Errorf("validation %+v, scores %v, want %v", v, d.Scores, accuracy)
	}
	for _, name := range []string{"speed/samples per second", "memory/bytes",
		"optimizer/learning rate"} {
		if c := d.Curve(name); c == nil || len(c.Value) != 30 || !(c.Last() > 0) {
			t.Errorf("curve %s is %+v", name, c)
		}
	}
	if list := d.Histograms["gradient/fc1_weight"]; len(list) != 3 || list[0].Count != 32 {
		t.Errorf("histograms %+v", list)
	}
	if d.Graph == nil || d.Graph.Parameters != 82 || d.Memory == nil || len(d.Memory.Blocks) == 0 ||
		d.TimelineStep != 4 || len(d.Timeline.Boxes) < 5 || len(d.Timeline.Flows) == 0 {
		t.Errorf("graph %+v, memory %+v, trace of step %d %+v", d.Graph, d.Memory, d.TimelineStep,
			d.Timeline)
	}
	kernels := map[string]bool{}
	for _, b := range d.Timeline.Boxes {
		kernels[b.Op] = true
	}
	if !kernels["FullyConnected"] {
		t.Errorf("the trace has the operators %v", kernels)
	}
	if d.Matrix == nil || len(d.Matrix.Counts) != 2 || d.Hyper["optimizer"] != "sgd" ||
		d.Hyper["note"] != "test" || d.Hyper["batch size"] != 20.0 || !d.Ended {
		t.Errorf("matrix %+v, hyper-parameters %v, ended %v", d.Matrix, d.Hyper, d.Ended)
	}
	if len(d.Events) != 3 || d.Events[2].Kind != "epoch" {
		t.Errorf("events %v", d.Events)
	}
}

// A run that is resumed continues its file: the curve is that of a run without a break.
func TestRecordResumes(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, stop int) {
		n := 0
		mod := module.New(mlp(), module.Seed(5))
		err := mod.Fit(t.Context(), points(t, 200, 20, shuffled()), module.Epochs(3),
			module.Record(filepath.Join(dir, name)),
			module.Resume(filepath.Join(dir, name, "m"), module.EveryBatches(4)),
			module.OnBatch(func(*module.BatchEnd) error {
				if n++; n == stop {
					return errors.New("the process dies")
				}
				return nil
			}))
		if (err != nil) != (stop > 0) {
			t.Fatal(err)
		}
	}
	run("whole", 0)
	run("broken", 17)
	if d := loadRun(t, filepath.Join(dir, "broken")); d.Ended || len(d.Curve("train/accuracy").Step) != 17 {
		t.Errorf("after the break: ended %v, %v", d.Ended, d.Curve("train/accuracy").Step)
	}
	run("broken", 0)
	want, got := loadRun(t, filepath.Join(dir, "whole")), loadRun(t, filepath.Join(dir, "broken"))
	a, b := want.Curve("train/accuracy"), got.Curve("train/accuracy")
	if !slices.Equal(a.Step, b.Step) || !slices.Equal(a.Value, b.Value) || !got.Ended ||
		len(got.Begins) != 2 || got.Begins[1].Step != 14 {
		t.Errorf("curves %v, want %v; begins %+v", b, a, got.Begins)
	}
}

// A program adds its own curves and samples to a run that it has opened.
func TestRecordTo(t *testing.T) {
	dir := t.TempDir()
	r, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	train(t, points(t, 40, 20, shuffled()), module.RecordTo(r))
	r.Scalar("own", 1, 3)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if d := loadRun(t, dir); d.Curve("own").Last() != 3 || d.Curve("train/accuracy") == nil {
		t.Errorf("curves %v", d.Curves)
	}
	bad := module.New(mlp())
	if err := bad.Fit(t.Context(), points(t, 40, 20, shuffled()), module.RecordTo(nil)); err == nil {
		t.Error("no error for RecordTo(nil)")
	}
}

// fitAllocs returns the allocations of a step of Fit: the difference between a long and a short run.
func fitAllocs(t *testing.T, opts ...module.FitOption) float64 {
	t.Helper()
	const long, short = 4000, 1000
	all := func(steps int) float64 {
		it := points(t, 20*steps, 20, dataio.NDArrayConfig{})
		mod := module.New(mlp(), module.Seed(5))
		return testing.AllocsPerRun(1, func() {
			if err := mod.Fit(t.Context(), it, append(opts, module.Sample(0))...); err != nil {
				t.Fatal(err)
			}
		})
	}
	return (all(long) - all(short)) / (long - short)
}

// Recording adds no allocation to a step of Fit.
func TestRecordDoesNotAllocate(t *testing.T) {
	without := fitAllocs(t)
	with := fitAllocs(t, module.Record(filepath.Join(t.TempDir(), "r"), runs.Trace(0)))
	if with-without > 0.5 {
		t.Errorf("%.2f allocations a step with a record, %.2f without", with, without)
	}
}

// BenchmarkFit is a step of Fit of a small network, with a record and without. The difference is
// the cost of recording: 20 us at most.
func BenchmarkFit(b *testing.B) {
	for name, opts := range map[string][]module.FitOption{"plain": nil,
		"recorded": {module.Record(filepath.Join(b.TempDir(), "r"), runs.Trace(0))},
		"tensorboard": {module.Record(filepath.Join(b.TempDir(), "t"), runs.Trace(0),
			runs.TensorBoard())}} {
		b.Run(name, func(b *testing.B) {
			const steps = 500
			it := points(b, 20*steps, 20, dataio.NDArrayConfig{})
			mod := module.New(mlp(), module.Seed(5))
			n := 0
			b.ReportAllocs()
			b.ResetTimer()
			err := mod.Fit(context.Background(), it, append(opts, module.Sample(0),
				module.Epochs(b.N/steps+2), module.OnBatch(func(*module.BatchEnd) error {
					switch n++; n {
					case steps:
						b.ResetTimer()
					case steps + b.N:
						b.StopTimer()
					}
					return nil
				}))...)
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
