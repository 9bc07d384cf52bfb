package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// TestQuantize quantizes a small network from files and compares the outputs of both networks.
func TestQuantize(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "net")
	x := sym.Relu(sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 8},
		sym.Name("f1")))
	m := &checkpoint.Model{Args: map[string]*nd.Array{}, Symbol: sym.FullyConnected(x,
		sym.FullyConnectedParams{NumHidden: 3}, sym.Name("f2"))}
	shape := dtype.Shape{10, 6}
	shapes, _, _, err := m.Symbol.InferShape(map[string]dtype.Shape{"data": shape})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range m.Symbol.Arguments() {
		if name != "data" {
			m.Args[name] = nd.Uniform(-1, 1, nd.Shape(shapes[i]), nd.Seed(uint64(i)))
		}
	}
	data := nd.Uniform(-1, 1, nd.Shape(shape), nd.Seed(9))
	if err := m.Save(prefix, 2); err != nil {
		t.Fatal(err)
	}
	samples := prefix + "-samples.params"
	if err := checkpoint.SaveMap(samples, map[string]*nd.Array{"data": data}); err != nil {
		t.Fatal(err)
	}
	f := quantizeFlags{data: samples, mode: "naive", epoch: 2, batch: 4}
	var text bytes.Buffer
	if err := f.run(context.Background(), &text, prefix); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"f1     FullyConnected  int8 ", "f2     FullyConnected  uint8  0 to"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
	var list struct {
		Params string
		Layers []layerRow
	}
	text.Reset()
	f.json = true
	if err := f.run(context.Background(), &text, prefix); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text.Bytes(), &list); err != nil || len(list.Layers) != 2 ||
		list.Params != prefix+"-int8-0000.params" || list.Layers[0].Type != "int8" ||
		list.Layers[1].Type != "uint8" || list.Layers[1].Range[0] != 0 ||
		list.Layers[1].Range[1] <= 0 {
		t.Errorf("--json: %v\n%s", err, text.String())
	}
	q, err := checkpoint.Load(prefix+"-int8", 0)
	if err != nil {
		t.Fatal(err)
	}
	var out [2][]float32
	for i, m := range []*checkpoint.Model{m, q} {
		values := map[string]*nd.Array{"data": data}
		for name, a := range m.Args {
			values[name] = a
		}
		y, err := m.Symbol.Eval(device.CPU(), values)
		if err != nil {
			t.Fatal(err)
		}
		if out[i], err = y[0].Float32s(); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range out[0] {
		if got := out[1][i]; math.Abs(float64(got-want)) > 0.05 {
			t.Errorf("output %d is %v, want about %v", i, got, want)
		}
	}
	other := prefix + "-other.params"
	if err := checkpoint.SaveMap(other, map[string]*nd.Array{"images": data}); err != nil {
		t.Fatal(err)
	}
	f.data = other
	if err := f.run(context.Background(), io.Discard, prefix); err == nil ||
		!strings.Contains(err.Error(), `["images"], want names of inputs`) {
		t.Errorf("samples of another name give the error %v", err)
	}
}
