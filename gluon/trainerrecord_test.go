package gluon_test

import (
	"testing"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
	"gomx/runs"
)

// TestTrainerRecords records the steps of a loop of the program's own, which adds its loss.
func TestTrainerRecords(t *testing.T) {
	dir := t.TempDir()
	net := gluon.New(&nn.Dense{Units: 1})
	if err := net.Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	tr, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 0.1},
		gluon.Record(dir, runs.Histograms(2), runs.Trace(3)))
	if err != nil {
		t.Fatal(err)
	}
	run, err := gluon.RunOf(tr)
	if err != nil {
		t.Fatal(err)
	}
	for step := int64(1); step <= 4; step++ {
		tape := autograd.Train()
		l := net.Forward(tape.Watch(nd.Ones(nd.Shape{5, 3}))).Square().Mean()
		l.Backward()
		v, err := l.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		run.Scalar("train/loss", step, float64(v[0]))
		if err := tr.Step(5); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := runs.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if c := d.Curve("train/loss"); len(c.Step) != 4 || c.Last() >= c.Value[0] {
		t.Errorf("losses %+v", c)
	}
	if c := d.Curve("optimizer/learning rate"); len(c.Step) != 4 || c.Last() != 0.1 {
		t.Errorf("learning rates %+v", c)
	}
	if len(d.Histograms["gradient/weight"]) != 2 || d.TimelineStep != 3 || d.Timeline == nil {
		t.Errorf("histograms %v, trace of step %d", d.Histograms, d.TimelineStep)
	}
}
