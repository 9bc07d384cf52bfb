// Modelparallel trains two layers of LSTM on two devices: groups of the network's layers, with
// their parameters, live on devices of their own, and arrays between them are copied. The processor
// stands for two GPUs here.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"gomx/device"
	images "gomx/examples/data"
	"gomx/initializer"
	"gomx/metric"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// least is the share of test images that must be classified correctly.
const least = 0.88

func main() {
	accuracy, err := run(context.Background(), 12)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accuracy %.4f, with the parameters of one device\n", accuracy)
	if accuracy < least {
		log.Fatalf("want at least %v", least)
	}
}

// lstm is a layer in a group.
func lstm(x *sym.Symbol, group *sym.Scope, name string) *sym.Symbol {
	const size = 64
	zeros := func(name string) *sym.Symbol {
		return sym.Zeros(sym.InitParams{Shape: []int{1, 0, size}}, group.Name(name))
	}
	return sym.RNN(x, sym.RNNParams{Mode: "lstm", StateSize: size, NumLayers: 1}, group.Name(name),
		sym.With("state", zeros(name+"_h")), sym.With("state_cell", zeros(name+"_c"))).At(0)
}

// network reads the rows of an image one after the other. The first layer is in one group, the
// second one and the classifier are in another.
func network(classes int) *sym.Symbol {
	first, second := sym.NewScope("", sym.CtxGroup("first")),
		sym.NewScope("", sym.CtxGroup("second"))
	x := sym.Reshape(sym.Var("data"), sym.ReshapeParams{Shape: []int{0, 8, 8}}, first.Name("rows"))
	x = sym.SwapAxis(x, sym.SwapAxisParams{Dim1: 0, Dim2: 1}, first.Name("steps"))
	x = lstm(lstm(x, first, "lstm0"), second, "lstm1")
	x = sym.SequenceLast(x, sym.SequenceParams{}, second.Name("last"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: classes}, second.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, second.Name("softmax"))
}

// train trains for some epochs, and returns the module and its accuracy on test images.
func train(ctx context.Context, epochs int, opts ...module.Option) (mod *module.Module,
	accuracy float64, err error) {
	set := images.Digits()
	data, err := set.Train(32, 1)
	test, err2 := set.Test(32)
	if err := errors.Join(err, err2); err != nil {
		return nil, 0, err
	}
	mod = module.New(network(len(set.Classes)), append(opts, module.Seed(1))...)
	if err := mod.Fit(ctx, data,
		module.Epochs(epochs),
		module.Init(initializer.Xavier{}),
		module.Optimize(optimizer.Adam{LR: 0.005})); err != nil {
		return nil, 0, err
	}
	score, err := mod.Score(ctx, test, metric.Accuracy())
	if err != nil {
		return nil, 0, err
	}
	return mod, score[0].Value, nil
}

// run trains on two devices and on one, and returns the accuracy. Other parameters than on one
// device are an error: the same operations run in the same order, only elsewhere.
func run(ctx context.Context, epochs int) (float64, error) {
	devices := map[string]device.Device{"first": device.CPU(), "second": {ID: 1}}
	two, accuracy, err := train(ctx, epochs, module.Group2Ctx(devices))
	one, _, err2 := train(ctx, epochs)
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	want, _ := one.Params()
	got, _ := two.Params()
	for _, name := range one.ParamNames() {
		fmt.Printf("%-20s on %v\n", name, got[name].Device())
		a, err := got[name].Float32s()
		b, err2 := want[name].Float32s()
		if err := errors.Join(err, err2); err != nil {
			return 0, err
		}
		if !slices.Equal(a, b) {
			return 0, fmt.Errorf("%s differs from its values on one device", name)
		}
	}
	return accuracy, nil
}
