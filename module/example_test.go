package module_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gomx/device"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// line is a network that fits a straight line.
func line() *sym.Symbol {
	fc := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 1},
		sym.Name("fc"))
	return sym.LinearRegressionOutput(fc, sym.RegressionParams{}, sym.Name("line"))
}

// onLine are the points of y = 2x + 1 for x from -1 to 1.
func onLine() *dataio.Table {
	var x, y []float32
	for i := range 20 {
		v := float32(i)/10 - 0.95
		x, y = append(x, v), append(y, 2*v+1)
	}
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{
		Data:  []*nd.Array{nd.FromSlice(x, 20, 1)},
		Label: []*nd.Array{nd.FromSlice(y, 20, 1)}, LabelNames: []string{"line_label"},
		BatchSize: 5, Shuffle: true, Seed: 1})
	if err != nil {
		panic(err)
	}
	return it
}

func ExampleModule_Fit() {
	ctx := context.Background()
	mod := module.New(line())
	err := mod.Fit(ctx, onLine(),
		module.Epochs(40),
		module.Optimize(optimizer.SGD{LR: 0.2, Momentum: 0.5}),
		module.Init(initializer.Normal{}),
		module.Metric(metric.MSE()))
	if err != nil {
		fmt.Println(err)
		return
	}
	args, _ := mod.Params()
	w, _ := args["fc_weight"].Item()
	b, _ := args["fc_bias"].Item()
	fmt.Printf("y = %.2fx + %.2f\n", w, b)
	score, err := mod.Score(ctx, onLine(), metric.MSE())
	fmt.Printf("%.4f %v\n", score[0].Value, err)
	// Output:
	// y = 2.00x + 1.00
	// 0.0000 <nil>
}

// A run is continued from its checkpoint: parameters, the optimizer's states and the epoch.
func ExampleBeginEpoch() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	prefix := filepath.Join(dir, "line")
	sgd := optimizer.SGD{LR: 0.2, Momentum: 0.5}
	err = module.New(line()).Fit(ctx, onLine(), module.Epochs(2), module.Optimize(sgd),
		module.Metric(metric.MSE()),
		module.Checkpoint(prefix, module.WithStates()))
	if err != nil {
		fmt.Println(err)
		return
	}

	mod, err := module.Load(prefix, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	train := onLine()
	for _, step := range []func() error{
		func() error { return mod.Bind(train.ProvideData(), train.ProvideLabel()) },
		func() error { return mod.InitParams(nil) },
		func() error { return mod.InitOptimizer(sgd) },
		func() error { return mod.LoadStates(prefix + "-0002.states") },
		func() error {
			return mod.Fit(ctx, train, module.BeginEpoch(2), module.Epochs(40),
				module.Metric(metric.MSE()))
		},
	} {
		if err := step(); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(len(mod.History().Epochs), "epochs more")
	// Output: 38 epochs more
}

// Two devices share every batch, as gpu(0) and gpu(1) in MXNet's context=[mx.gpu(0), mx.gpu(1)] do.
// Here they are two devices of the processor, so that the example runs everywhere; on a machine
// with GPUs they are device.CUDA(0) and device.CUDA(1).
func ExampleOn() {
	ctx := context.Background()
	mod := module.New(line(), module.On(device.Device{ID: 0}, device.Device{ID: 1}))
	train, err := dataio.NDArrayIter(dataio.NDArrayConfig{
		Data:       []*nd.Array{nd.FromSlice([]float32{-1, -0.25, 0.5, 1}, 4, 1)},
		Label:      []*nd.Array{nd.FromSlice([]float32{-1, 0.5, 2, 3}, 4, 1)},
		LabelNames: []string{"line_label"},
		BatchSize:  2})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := mod.Fit(ctx, train, module.Epochs(100), module.Optimize(optimizer.SGD{LR: 0.2}),
		module.Metric(metric.MSE())); err != nil {
		fmt.Println(err)
		return
	}
	outs, err := mod.Predict(ctx, train)
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := outs[0].Float32s()
	fmt.Printf("%.2f %v\n", y, err)
	// Output: [-1.00 0.50 2.00 3.00] <nil>
}

// A run is cut in its third epoch, here by an error, and goes on when the program is started again.
func ExampleResume() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	program := func(cut bool) error {
		mod := module.New(line())
		err := mod.Fit(context.Background(), onLine(),
			module.Epochs(40),
			module.Optimize(optimizer.SGD{LR: 0.2, Momentum: 0.5}),
			module.Init(initializer.Normal{}),
			module.Metric(metric.MSE()),
			module.OnEpoch(func(e *module.EpochEnd) error {
				if cut && e.Epoch == 2 {
					return errors.New("cut")
				}
				if e.Epoch < 4 {
					fmt.Println("epoch", e.Epoch)
				}
				return nil
			}),
			module.Resume(filepath.Join(dir, "line"), module.KeepLast(1)))
		if err != nil {
			return err
		}
		args, _ := mod.Params()
		w, _ := args["fc_weight"].Item()
		fmt.Printf("slope %.2f after %d epochs\n", w, len(mod.History().Epochs))
		return nil
	}
	fmt.Println(program(true))
	fmt.Println(program(false))
	// Output:
	// epoch 0
	// epoch 1
	// epoch 2: cut
	// epoch 2
	// epoch 3
	// slope 2.00 after 40 epochs
	// <nil>
}
