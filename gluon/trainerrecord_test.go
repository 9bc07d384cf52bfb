package gluon_test

import (
	"slices"
	"strings"
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

// TestTrainerRecordsNetwork finds the graph and the plan of the memory of a hybridized network in
// the run of its trainer, and neither of a network that runs line by line.
func TestTrainerRecordsNetwork(t *testing.T) {
	for _, hybrid := range []bool{true, false} {
		dir := t.TempDir()
		net := gluon.New(nn.Sequential{&nn.Dense{Units: 7}, &nn.Dense{Units: 1}})
		if err := net.Init(initializer.Xavier{}); err != nil {
			t.Fatal(err)
		}
		if _, err := net.MemoryPlan(); err == nil {
			t.Error("a plan of a network that has not been compiled")
		}
		if hybrid {
			net.Hybridize()
		}
		tr, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 0.1}, gluon.Record(dir))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			net.Forward(autograd.Train().Watch(nd.Ones(nd.Shape{5, 3}))).Square().Mean().Backward()
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
		if !hybrid {
			if d.Graph != nil || d.Memory != nil {
				t.Errorf("graph %+v, memory %+v, want none", d.Graph, d.Memory)
			}
			continue
		}
		if d.Graph == nil || d.Graph.Parameters != 3*7+7+7+1 {
			t.Fatalf("graph %+v, want one with 36 parameters", d.Graph)
		}
		last := d.Graph.Nodes[len(d.Graph.Nodes)-1]
		if last.Op != "FullyConnected" || !slices.Equal(last.Shape, []int{5, 1}) {
			t.Errorf("the last node is %+v, want a FullyConnected of 5 x 1", last)
		}
		plan, err := net.MemoryPlan()
		if err != nil {
			t.Fatal(err)
		}
		backward := func(s string) bool { return strings.Contains(s, "_backward") }
		if m := d.Memory; m == nil || m.Total != plan.Plan.Total || len(m.Blocks) == 0 ||
			!slices.Equal(m.Steps, plan.Steps) || !slices.ContainsFunc(m.Steps, backward) {
			t.Errorf("memory %+v, want the plan %+v with steps of the backward part", m, plan)
		}
	}
}
