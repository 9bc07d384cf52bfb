package estimator_test

import (
	"errors"
	"path/filepath"
	"testing"

	"gomx/gluon/estimator"
	"gomx/gluon/loss"
	"gomx/metric"
	"gomx/runs"
)

// TestRecord records a run that is broken off and resumed.
func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "net")
	fit := func(stop int) error {
		net, n := network(t), 0
		net.Hybridize()
		_, err := estimator.Fit(t.Context(), net, loss.SoftmaxCE{}, loaderOf(64, 8),
			estimator.Epochs(2), estimator.Validate(loaderOf(32, 8)),
			estimator.Metric(metric.Composite(metric.Accuracy(), metric.CrossEntropy())),
			estimator.Record(dir, runs.Histograms(8), runs.Trace(3)),
			estimator.Resume(filepath.Join(dir, "net"), estimator.EveryBatches(2)),
			estimator.OnBatch(func(*estimator.BatchEnd) error {
				if n++; n == stop {
					return errors.New("the process dies")
				}
				return nil
			}))
		return err
	}
	if err := fit(12); err == nil {
		t.Fatal("the run has not been broken off")
	}
	if err := fit(0); err != nil {
		t.Fatal(err)
	}
	d, err := runs.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for name, points := range map[string]int{"train/loss": 16, "train/accuracy": 16,
		"train/cross-entropy": 16, "validation/loss": 2, "epoch/accuracy": 2,
		"speed/samples per second": 16} {
		if c := d.Curve(name); c == nil || len(c.Step) != points {
			t.Errorf("curve %s: %+v, want %d points", name, c, points)
		}
	}
	if d.Graph == nil || d.Memory == nil || len(d.Memory.Blocks) == 0 || d.Timeline == nil ||
		len(d.Histograms["gradient/0.weight"]) != 2 ||
		!d.Ended || len(d.Begins) != 2 || d.Begins[1].Step != 10 {
		t.Errorf("graph %v, memory %+v, trace %v, histograms of %d arrays, ended %v, begins %+v",
			d.Graph != nil, d.Memory, d.Timeline != nil, len(d.Histograms), d.Ended, d.Begins)
	}
}
