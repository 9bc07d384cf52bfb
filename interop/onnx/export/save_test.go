package export_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/interop/onnx"
	"gomx/interop/onnx/export"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// perceptron is a small model with a batch norm and a label.
func perceptron() *checkpoint.Model {
	net := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 4},
		sym.Name("fc"))
	net = sym.BatchNorm(net, sym.BatchNormParams{NoFixGamma: true}, sym.Name("bn"))
	net = sym.SoftmaxOutput(net, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
	random := func(seed uint64, shape ...int) *nd.Array {
		return nd.Uniform(0.5, 1, shape, nd.Seed(seed))
	}
	return &checkpoint.Model{Symbol: net, Args: map[string]*nd.Array{
		"fc_weight": random(1, 4, 3), "fc_bias": random(2, 4), "bn_gamma": random(3, 4),
		"bn_beta": random(4, 4)},
		Aux: map[string]*nd.Array{"bn_moving_mean": random(5, 4), "bn_moving_var": random(6, 4)}}
}

var perceptronInputs = export.Inputs{"data": {2, 3}}

// TestSave: two exports have the same bytes, values in a second file give the same results, and the
// label is no input.
func TestSave(t *testing.T) {
	m := perceptron()
	inside, err := export.Marshal(m, perceptronInputs)
	if err != nil {
		t.Fatal(err)
	}
	again, err := export.Marshal(m, perceptronInputs)
	if err != nil || !bytes.Equal(inside, again) {
		t.Errorf("two exports differ (%v)", err)
	}
	x := nd.Uniform(-1, 1, nd.Shape{2, 3}, nd.Seed(7))
	values := func(in *onnx.Model) []float64 {
		t.Helper()
		if len(in.Inputs) != 1 || in.Inputs[0].Name != "data" || len(in.Outputs) != 1 ||
			in.Outputs[0].Name != "softmax_output" {
			t.Errorf("inputs %v and outputs %v, want data and softmax_output", in.Inputs,
				in.Outputs)
		}
		outs, err := in.Symbol.Eval(device.CPU(), in.Values(map[string]*nd.Array{"data": x}))
		if err != nil {
			t.Fatal(err)
		}
		list, err := numbers(outs[0])
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	whole, err := onnx.Parse(inside)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := export.Save(path, m, perceptronInputs, export.External(1)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path + ".data"); err != nil || info.Size() < 4*4*3 {
		t.Fatalf("no second file: %v", err)
	}
	parts, err := onnx.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := values(whole), values(parts); !slices.Equal(a, b) {
		t.Errorf("got %v with a second file, want %v", b, a)
	}
}

// TestErrors checks that errors name all that is wrong.
func TestErrors(t *testing.T) {
	bad := sym.Gamma(sym.Erfinv(sym.Var("x"), sym.Name("first")), sym.Name("second"))
	_, err := export.Marshal(&checkpoint.Model{Symbol: bad}, export.Inputs{"x": {2}})
	var unsupported *export.Unsupported
	if !errors.As(err, &unsupported) || len(unsupported.Operators) != 2 {
		t.Fatalf("got %v, want two operators", err)
	}
	for _, want := range []string{`erfinv at node "first": ONNX has no inverse of the error function`,
		`gamma at node "second": ONNX has no gamma function`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for name, c := range map[string]struct {
		m      *checkpoint.Model
		inputs export.Inputs
		want   string
	}{
		"no symbol":  {&checkpoint.Model{}, nil, "the model has no symbol"},
		"no model":   {nil, nil, "the model has no symbol"},
		"no shape":   {perceptron(), nil, `the shape of input "data" is not known`},
		"other name": {perceptron(), export.Inputs{"dta": {2, 3}}, `input "dta" is not an argument`},
		"parameter": {perceptron(), export.Inputs{"fc_bias": {4}},
			`input "fc_bias" is a parameter`},
		"wrong shape": {perceptron(), export.Inputs{"data": {2, 5}}, "fc"},
	} {
		if _, err := export.Marshal(c.m, c.inputs); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestTraining: the training form returns the averages that gomx computes in training.
func TestTraining(t *testing.T) {
	m := perceptron()
	file, err := export.Marshal(m, perceptronInputs, export.Training())
	if err != nil {
		t.Fatal(err)
	}
	in, err := onnx.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range in.Outputs {
		names = append(names, o.Name)
	}
	if got := strings.Join(names, " "); got !=
		"softmax_output bn_moving_mean_new bn_moving_var_new" {
		t.Fatalf("outputs %s", got)
	}
	x := nd.Uniform(-1, 1, nd.Shape{2, 3}, nd.Seed(7))
	got, err := in.Symbol.Eval(device.CPU(), in.Values(map[string]*nd.Array{"data": x}))
	if err != nil {
		t.Fatal(err)
	}
	c := sym.BindConfig{Device: device.CPU(), Args: map[string]*nd.Array{"data": x,
		"softmax_label": nd.Zeros(nd.Shape{2})}, Aux: map[string]*nd.Array{}}
	for name, a := range m.Args {
		c.Args[name] = a
	}
	for name, a := range m.Aux {
		c.Aux[name] = a.Copy()
	}
	ex, err := m.Symbol.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if err := errors.Join(ex.Forward(true), ex.Backward()); err != nil {
		t.Fatal(err)
	}
	want := []*nd.Array{ex.Outputs()[0], ex.Aux["bn_moving_mean"], ex.Aux["bn_moving_var"]}
	if err := compare(got, want, tolerance{1e-6, 1e-6}); err != nil {
		t.Error(err)
	}
}

// TestCompareSeesFaults demands that the comparison of results can fail.
func TestCompareSeesFaults(t *testing.T) {
	want := []*nd.Array{nd.FromSlice([]float32{1, 2})}
	for name, got := range map[string]*nd.Array{
		"value": nd.FromSlice([]float32{1, 2.0001}), "type": nd.FromSlice([]float64{1, 2}),
		"shape": nd.FromSlice([]float32{1, 2}, 2, 1), "NaN": nd.FromSlice([]float32{1, float32(nan())})} {
		if err := compare([]*nd.Array{got}, want, tolerance{1e-5, 1e-5}); err == nil {
			t.Errorf("%s: no fault found", name)
		}
	}
	if err := compare(nil, want, tolerance{}); err == nil {
		t.Error("a missing output passes")
	}
	if err := compare(want, want, tolerance{}); err != nil {
		t.Error(err)
	}
}

func nan() float64 { zero := 0.0; return zero / zero }
