package module_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/internal/cluster"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// TestNil gives nil wherever there is a place for it: the error names it.
func TestNil(t *testing.T) {
	ctx := t.Context()
	var none *module.Module
	var noTable *dataio.Table
	var noPredictor *module.Predictor
	it := func() dataio.Iter { return points(t, 40, 20, shuffled()) }
	mod, empty := module.New(mlp()), module.New(nil)
	fit := func(opts ...module.FitOption) error { return module.New(mlp()).Fit(ctx, it(), opts...) }
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 1}, sym.Name("fc"))
	model := &checkpoint.Model{Symbol: x,
		Args: map[string]*nd.Array{"fc_weight": nd.Ones(nd.Shape{1, 2}),
			"fc_bias": nd.Ones(nd.Shape{1})}}
	p, err := module.NewPredictor(model, module.Input("data", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	second := func(_ any, err error) error { return err }
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"receiver of Fit", none.Fit(ctx, it()), "module that is nil"},
		{"receiver of Bind", none.Bind(nil, nil), "module that is nil"},
		{"receiver of Save", none.Save("x", 1), "module that is nil"},
		{"receiver of LoadStates", none.LoadStates("x"), "module that is nil"},
		{"receiver of SaveStates", none.SaveStates("x"), "module that is nil"},
		{"receiver of SetParams", none.SetParams(nil, nil), "module that is nil"},
		{"receiver of Wait", none.Wait(ctx), "module that is nil"},
		{"receiver of Score", second(none.Score(ctx, it(), metric.Accuracy())),
			"module that is nil"},
		{"receiver of Predict", second(none.Predict(ctx, it())), "module that is nil"},
		{"receiver of Forward", none.Forward(&dataio.Batch{}, true), "not bound"},
		{"receiver of Update", none.Update(), "not bound"},
		{"receiver of InitParams", none.InitParams(nil), "not bound"},
		{"symbol", empty.Fit(ctx, it()), "symbol that is nil"},
		{"symbol in Score", second(empty.Score(ctx, it(), metric.Accuracy())),
			"symbol that is nil"},
		{"data", mod.Fit(ctx, nil), "training data is nil"},
		{"data of a type", mod.Fit(ctx, noTable), "training data is nil"},
		{"data in Score", second(mod.Score(ctx, nil, metric.Accuracy())),
			"iterator of the data is nil"},
		{"metric in Score", second(mod.Score(ctx, it(), nil)), "metric is nil"},
		{"context", mod.Fit(nil, it()), "context is nil"}, //lint:ignore SA1012 the mistake is the test
		{"store", mod.UseStore(ctx, nil), "store is nil"},
		{"Optimize", fit(module.Optimize(nil)), "Optimize(nil)"},
		{"Metric", fit(module.Metric(nil)), "Metric(nil)"},
		{"StoreWith", fit(module.StoreWith(nil)), "StoreWith(nil)"},
		{"Progress", fit(module.Progress(nil)), "Progress(nil)"},
		{"OnEpoch", fit(module.OnEpoch(nil)), "OnEpoch(nil)"},
		{"Epochs", fit(module.Epochs(-1)), "Epochs(-1)"},
		{"BeginEpoch", fit(module.BeginEpoch(-2)), "BeginEpoch(-2)"},
		{"KeepLast", fit(module.Checkpoint("x", module.KeepLast(-1))), "KeepLast(-1)"},
		{"Snapshots", fit(module.Snapshots("x", 5)), "Resume"},
		{"no option", fit(nil), ""},
		{"Validate", fit(module.Validate(nil)), ""},
		{"no epochs", fit(module.Epochs(0)), ""},
		{"model", second(module.NewPredictor(nil, module.Input("data", 1))), "model is nil"},
		{"model's symbol", second(module.NewPredictor(&checkpoint.Model{},
			module.Input("data", 1))), "no symbol"},
		{"input", second(p.Predict(ctx, nil)), `"data", is nil`},
		{"predictor", second(noPredictor.Predict(ctx, nil)), "predictor that is nil"},
		{"predictor's parameter", p.SetParams(map[string]*nd.Array{"fc_weight": nil}, nil),
			`"fc_weight" is nil`},
	} {
		if c.want == "" && c.err != nil || c.want != "" &&
			(c.err == nil || !strings.Contains(c.err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, c.err, c.want)
		}
	}
	noPredictor.Close()
}

// TestOptimizeAfterLoadStates continues a run with Optimize: the states that were loaded stay, here
// and in a store.
func TestOptimizeAfterLoadStates(t *testing.T) {
	whole := values(t, train(t, points(t, 200, 20, shuffled()), module.Epochs(4)))
	prefix := filepath.Join(t.TempDir(), "mlp")
	train(t, points(t, 200, 20, shuffled()), module.Epochs(2), module.Checkpoint(prefix,
		module.WithStates()))
	sgd := optimizer.SGD{LR: 0.5, Momentum: 0.9}
	run := func(ctx context.Context, opts ...module.FitOption) (*module.Module, error) {
		mod, err := module.Load(prefix, 2, module.Seed(5))
		if err != nil {
			return nil, err
		}
		it := points(t, 200, 20, shuffled())
		return mod, errors.Join(mod.Bind(it.ProvideData(), it.ProvideLabel()), mod.InitParams(nil),
			mod.InitOptimizer(sgd),
			mod.LoadStates(prefix+"-0002.states"),
			mod.Fit(ctx, it, append(opts, module.BeginEpoch(2), module.Epochs(4))...))
	}
	if mod, err := run(t.Context(), module.Optimize(sgd)); err != nil ||
		!same(whole, values(t, mod)) {
		t.Errorf("the continued run differs, %v", err)
	}
	c := cluster.Start(cluster.Config{Workers: 1})
	err := c.Work(t.Context(), func(ctx context.Context, _ int) error {
		mod, err := run(ctx, module.Optimize(sgd), module.Store("dist_sync"))
		if err == nil && !same(whole, values(t, mod)) {
			err = errors.New("the run that is continued on servers differs")
		}
		return err
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Error(err)
	}
	kv, err := kvstore.Open(t.Context(), "local")
	if err != nil {
		t.Fatal(err)
	}
	if mod, err := run(t.Context(), module.Optimize(sgd), module.StoreWith(kv)); err != nil ||
		!same(whole, values(t, mod)) {
		t.Errorf("the run that is continued in a local store differs, %v", err)
	}
	for want, o := range map[string]optimizer.Optimizer{"Optimize(adam)": optimizer.Adam{},
		"Optimize(sgd) keeps 0 arrays": optimizer.SGD{LR: 0.5}} {
		if _, err := run(t.Context(), module.Optimize(o)); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "sgd") {
			t.Errorf("got %v, want an error with %q and sgd", err, want)
		}
	}
}

// endless is an iterator that does not look at its context.
type endless struct{ *dataio.Table }

func (e endless) Next(context.Context) (*dataio.Batch, error) {
	return e.Table.Next(context.Background())
}

// TestPredictCanceled wants Predict and Score to end with their context, whatever the iterator
// does.
func TestPredictCanceled(t *testing.T) {
	mod := train(t, points(t, 40, 20, shuffled()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	it := endless{points(t, 40, 20, shuffled())}
	if _, err := mod.Predict(ctx, it); !errors.Is(err, context.Canceled) {
		t.Errorf("Predict: %v", err)
	}
	if _, err := mod.Score(ctx, it, metric.Accuracy()); !errors.Is(err, context.Canceled) {
		t.Errorf("Score: %v", err)
	}
}
