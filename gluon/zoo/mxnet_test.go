package zoo_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

var mxnetPython = flag.String("mxnet", "",
	"Python interpreter that can import MXNet 1.9.1, for the tests beside it")

// mxnetProgram loads a network that gomx has written in three ways, compares names, and writes
// outputs and files of its own.
const mxnetProgram = `
import json, sys, mxnet as mx
from mxnet import gluon, nd
from mxnet.gluon.model_zoo import vision
function, folder = sys.argv[1:]
x = nd.load(folder + '/x.params')['x']
net = getattr(vision, function)()
net.load_parameters(folder + '/net.params')
outputs = [net(x)]
block = gluon.SymbolBlock.imports(folder + '/net-symbol.json', ['data'],
                                  folder + '/net-0000.params')
outputs.append(block(x))
mod = mx.mod.Module.load(folder + '/net', 0, label_names=None)
mod.bind([('data', x.shape)], for_training=False)
mod.forward(mx.io.DataBatch([x]), is_train=False)
outputs.append(mod.get_outputs()[0])
ours = {k: v.shape for k, v in nd.load(folder + '/net-0000.params').items()}
kinds = lambda p: 'aux:' if p.grad_req == 'null' and 'running' in p.name else 'arg:'
theirs = {kinds(p) + k: p.shape for k, p in net.collect_params().items()}
assert ours == theirs, sorted(set(ours.items()) ^ set(theirs.items()))[:8]
net.hybridize()
net(x)
net.save_parameters(folder + '/theirs.params')
net.export(folder + '/theirs')
net.collect_params().save(folder + '/global.params')
json.dump([o.reshape(-1).asnumpy().tolist() for o in outputs], open(folder + '/out.json', 'w'))
`

// TestVisionBesideMXNet writes every network for pictures, loads it in MXNet and back.
func TestVisionBesideMXNet(t *testing.T) {
	if *mxnetPython == "" {
		t.Skip("wants -mxnet PYTHON")
	}
	for _, e := range zoo.List() {
		if want, vision := totals[e.Function]; vision && (*largeFlag || want[0] <= large) {
			t.Run(e.Function, func(t *testing.T) { besideMXNet(t, e) })
		}
	}
}

func besideMXNet(t *testing.T, e zoo.Entry) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	net, err := e.New()
	ok(t, err)
	// values behind several layers stay of one size
	ok(t, net.Init(initializer.Xavier{FactorType: "in", Magnitude: 2}, gluon.Seed(4)))
	x := nd.Uniform(-1, 1, e.Inputs[0].Shape, nd.Seed(5))
	want := nettest.Values(t, net.Forward(x))
	ok(t, net.Save(file("net.params")))
	ok(t, net.Export(file("net"), 0, gluon.Input("data", x.Shape()...), gluon.GlobalNames("")))
	ok(t, checkpoint.SaveArrays(file("x.params"), []checkpoint.Named{{Name: "x", Array: x}}))
	p := exec.CommandContext(t.Context(), *mxnetPython, "-W", "ignore", "-c", mxnetProgram,
		e.Function, dir)
	var out bytes.Buffer
	p.Stdout, p.Stderr = &out, &out
	if err := p.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	text, err := os.ReadFile(file("out.json"))
	ok(t, err)
	var theirs [][]float64
	ok(t, json.Unmarshal(text, &theirs))
	for i, way := range strings.Fields("load_parameters SymbolBlock Module") {
		near(t, "MXNet's "+way, theirs[i], want)
	}
	for _, name := range []string{"theirs.params", "theirs-0000.params", "global.params"} {
		again, err := e.New()
		ok(t, err)
		ok(t, again.Load(file(name)))
		got := []float64{}
		for _, v := range nettest.Values(t, again.Forward(x)) {
			got = append(got, float64(v))
		}
		near(t, name, got, want)
	}
}

// near compares outputs, relative to the largest.
func near(t *testing.T, what string, got []float64, want []float32) {
	t.Helper()
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Abs(got[i]-float64(want[i])) > 1e-4*largest {
			t.Fatalf("%s: value %d is %v, want %v (largest %v)", what, i, got[i], want[i], largest)
		}
	}
}
