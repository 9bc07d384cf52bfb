package gluon_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/internal/nettest"
)

var mxnetPython = flag.String("mxnet", "",
	"Python interpreter that can import MXNet 1.9.1, for the tests beside it")

// mxnetProgram goes on with the parameters and states of a folder as gluon's Trainer of MXNet, and
// saves its own.
const mxnetProgram = `
import json, sys, mxnet as mx
from mxnet import autograd, gluon, nd
folder = sys.argv[1]
case = json.load(open(folder + '/case.json'))
net = gluon.nn.HybridSequential()
with net.name_scope():
    net.add(gluon.nn.Dense(8, activation='tanh'), gluon.nn.Dense(2))
net.load_parameters(folder + '/net.params')
kwargs = case['kwargs']
trainer = gluon.Trainer(net.collect_params(), case['name'], kwargs, kvstore=None)
loss = gluon.loss.SoftmaxCrossEntropyLoss()
batches = [(nd.array(b[0]), nd.array(b[1])) for b in case['batches']]
def step(k):
    with autograd.record():
        l = loss(net(batches[k][0]), batches[k][1])
    l.backward()
    trainer.step(8)
net(batches[0][0])
trainer.load_states(folder + '/states')
for k in (3, 4): step(k)
net.save_parameters(folder + '/after.params')
trainer.save_states(folder + '/after.states')
for k in (5, 6): step(k)
net.save_parameters(folder + '/end.params')
`

// MXNet goes on from a file of states, with its optimizer and counts, and gomx goes on from
// MXNet's.
func TestStatesBesideMXNet(t *testing.T) {
	if *mxnetPython == "" {
		t.Skip("wants -mxnet PYTHON")
	}
	for name, o := range someOptimizers {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := func(name string) string { return filepath.Join(dir, name) }
			net := gluon.New(nn.Sequential{&nn.Dense{Units: 8, Activation: "tanh"},
				&nn.Dense{Units: 2}})
			order := gluon.Order("0.bias", "0.weight", "1.bias", "1.weight")
			tr := trained(t, net, o, processors(1), order)
			type batch [2]any
			var batches []batch
			for n := range 7 {
				x, y := samples(n, 8)
				rows := [][]float32{}
				for i, v := range nettest.Values(t, x) {
					if i%2 == 0 {
						rows = append(rows, nil)
					}
					rows[i/2] = append(rows[i/2], v)
				}
				batches = append(batches, batch{rows, nettest.Values(t, y)})
				if n < 3 {
					backward(net, x, y, nil)
					ok(t, tr.Step(8))
				}
			}
			ok(t, tr.SaveStates(file("states")))
			ok(t, net.Save(file("net.params")))
			// MXNet's trainer has other settings until it loads ours
			text, err := json.Marshal(map[string]any{"name": o.Name(), "batches": batches,
				"kwargs": map[string]any{"learning_rate": 7.0}})
			ok(t, err)
			ok(t, os.WriteFile(file("case.json"), text, 0o600))
			p := exec.CommandContext(t.Context(), *mxnetPython, "-c", mxnetProgram, dir)
			var out bytes.Buffer
			p.Stdout, p.Stderr = &out, &out
			if err := p.Run(); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			steps := func(net *gluon.Net, tr *gluon.Trainer, from, to int) {
				for n := from; n < to; n++ {
					x, y := samples(n, 8)
					backward(net, x, y, nil)
					ok(t, tr.Step(8))
				}
			}
			steps(net, tr, 3, 7)
			theirs := plain()
			tr2 := trained(t, theirs, o, processors(1), order)
			ok(t, theirs.Load(file("after.params")))
			ok(t, tr2.LoadStates(file("after.states")))
			steps(theirs, tr2, 5, 7)
			end := plain()
			ok(t, end.Load(file("end.params")))
			want := values(t, end, 0)
			nettest.Near(t, "gomx throughout", values(t, net, 0), want)
			nettest.Near(t, "gomx from MXNet's states", values(t, theirs, 0), want)
		})
	}
}
