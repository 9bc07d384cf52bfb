package module_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// TestFitErrors checks that mistakes are answered with the name of the thing.
func TestFitErrors(t *testing.T) {
	named := func(data, label string) dataio.NDArrayConfig {
		return dataio.NDArrayConfig{DataNames: []string{data}, LabelNames: []string{label}}
	}
	wide := func() *sym.Symbol {
		return sym.SoftmaxOutput(sym.FullyConnected(sym.Var("data"),
			sym.FullyConnectedParams{NumHidden: 2},
			sym.With("weight", sym.Var("w", sym.Shape(2, 7))), sym.Name("fc")),
			sym.SoftmaxOutputParams{}, sym.Name("softmax"))
	}
	for _, c := range []struct {
		name string
		net  *sym.Symbol
		it   dataio.NDArrayConfig
		opts []module.FitOption
		want []string
	}{
		{"label's name", mlp(), named("data", "labels"), nil,
			[]string{`wants label "softmax_label"`, `provides label "labels"`}},
		{"data's name", mlp(), named("x", "softmax_label"), nil,
			[]string{`data "x" is not an argument`, `"fc1_weight"`}},
		{"shapes", wide(), dataio.NDArrayConfig{}, nil, []string{"FullyConnected fc", "weight",
			"(2, 7)", "(2, 2)"}},
		{"store", mlp(), dataio.NDArrayConfig{}, []module.FitOption{module.Store("nowhere")},
			[]string{`store "nowhere"`}},
		{"schedule", mlp(), dataio.NDArrayConfig{},
			[]module.FitOption{module.Optimize(
				optimizer.SGD{Common: optimizer.Common{Schedule: optimizer.PolyScheduler{}}})},
			[]string{"optimizer sgd", "scheduler poly"}},
		{"initializer", mlp(), dataio.NDArrayConfig{},
			[]module.FitOption{module.Init(initializer.Xavier{FactorType: "both"})},
			[]string{"fc1_weight", "factor_type"}},
		{"metric", mlp(), dataio.NDArrayConfig{},
			[]module.FitOption{module.Metric(metric.Accuracy(metric.Axis(4)))},
			[]string{"epoch 0: batch 0: metric accuracy"}},
	} {
		err := module.New(c.net).Fit(context.Background(), points(t, 40, 20, c.it), c.opts...)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.name, err, want)
			}
		}
	}
}

// TestNoLabel trains a symbol on an iterator without labels.
func TestNoLabel(t *testing.T) {
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.Zeros(nd.Shape{4, 2})},
		BatchSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	err = module.New(mlp()).Fit(context.Background(), it)
	if err == nil || !strings.Contains(err.Error(),
		`wants label "softmax_label", the iterator provides no label`) {
		t.Errorf("%v", err)
	}
}

// TestGuard checks that training ends at the batch and the layer where NaN appears first.
func TestGuard(t *testing.T) {
	data := make([]float32, 100)
	data[50] = float32(math.Inf(1)) // sample 25: batch 2
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(data, 50, 2)},
		Label: []*nd.Array{nd.Zeros(nd.Shape{50})}, BatchSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	err = module.New(mlp()).Fit(context.Background(), it, module.Guard())
	for _, want := range []string{"epoch 0: batch 2:", "fc1", "value"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestSetParamsErrors checks what is wrong with given parameters.
func TestSetParamsErrors(t *testing.T) {
	mod := train(t, points(t, 40, 20, shuffled()))
	args, _ := mod.Params()
	with := func(name string, a *nd.Array) map[string]*nd.Array {
		m := map[string]*nd.Array{}
		for k, v := range args {
			m[k] = v
		}
		if delete(m, name); a != nil {
			m[name] = a
		}
		return m
	}
	for _, c := range []struct {
		args map[string]*nd.Array
		want string
	}{
		{with("fc1_weight", nil), `no value for parameter "fc1_weight"`},
		{with("fc1_weight", nd.Zeros(nd.Shape{1})), `"fc1_weight" has shape (1,), want (16, 2)`},
		{with("other", nd.Zeros(nd.Shape{1})), `"other"`},
	} {
		if err := mod.SetParams(c.args, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if err := mod.SetParams(with("fc1_weight", nil), nil, module.AllowMissing()); err != nil {
		t.Error(err)
	}
	if err := mod.SetParams(with("other", nd.Zeros(nd.Shape{1})), nil,
		module.AllowExtra()); err != nil {
		t.Error(err)
	}
	if _, err := module.Load("no-such-model", 1); err == nil ||
		!strings.Contains(err.Error(), "no-such-model") {
		t.Errorf("missing checkpoint: %v", err)
	}
	if _, err := module.New(mlp()).Score(context.Background(), points(t, 40, 20, shuffled()),
		metric.Accuracy()); err == nil {
		t.Error("Score without parameters: no error")
	}
}
