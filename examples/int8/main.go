// Int8 trains a convolutional network, turns it into one that computes with integers of 8 bits, and
// compares the two: accuracy on test images, and bytes of parameters. The ranges of the data are
// found in three ways.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	images "gomx/examples/data"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	"gomx/quantize"
	sym "gomx/symbol"
)

const (
	most  = 12_000 // training images
	least = 0.84   // accuracy of integers
	lost  = 0.01   // most accuracy that integers may lose
)

func main() {
	dir := flag.String("data", images.Dir,
		"folder of Fashion-MNIST's files; without them digits are used")
	flag.Parse()
	set, epochs := images.Open(*dir), 4
	if set.Name == "digits" {
		epochs = 15
	}
	float, integer, err := run(context.Background(), set, epochs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: accuracy %.4f in float32, %.4f in int8\n", set.Name, float, integer)
	if integer < least || integer < float-lost {
		log.Fatalf("want at least %v in int8, and at most %v less than in float32", least, lost)
	}
}

// network has two convolutions and two dense layers.
func network(classes int) *sym.Symbol {
	x := sym.Var("data")
	for i, filters := range []int{16, 32} {
		layer := sym.NewScope(fmt.Sprint("conv", i, "_"))
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: filters, NoBias: true}, layer.Name("conv"))
		x = sym.BatchNorm(x, sym.BatchNormParams{}, layer.Name("norm")).At(0)
		x = sym.Relu(x, layer.Name("relu"))
		x = sym.Pooling(x, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}}, layer.Name("pool"))
	}
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 64}, sym.Name("fc1"))
	x = sym.FullyConnected(sym.Relu(x), sym.FullyConnectedParams{NumHidden: classes},
		sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// run trains for some epochs. It returns the accuracies of the network in float32 and in int8, with
// ranges that leave out 0.01 % of the data.
func run(ctx context.Context, set images.Set, epochs int) (float, integer float64, err error) {
	train, test, err := set.Arrays()
	if err != nil {
		return 0, 0, err
	}
	iter := func(a []*nd.Array, n int, shuffle bool) *dataio.Table {
		n = min(n, a[1].Size())
		it, e := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{a[0].Slice(0, n)},
			Label: []*nd.Array{a[1].Slice(0, n)}, BatchSize: 64, Shuffle: shuffle})
		if e != nil {
			err = e
		}
		return it
	}
	learn, check, calibrate := iter(train, most, true), iter(test, most, false),
		iter(train, 320, false)
	if err != nil {
		return 0, 0, err
	}
	mod := module.New(network(len(set.Classes)), module.Seed(1))
	if err := mod.Fit(ctx, learn, module.Epochs(epochs), module.Init(initializer.Xavier{}),
		module.Optimize(optimizer.SGD{LR: 0.05, Momentum: 0.9})); err != nil {
		return 0, 0, err
	}
	if float, err = score(ctx, mod, check); err != nil {
		return 0, 0, err
	}
	for _, mode := range []quantize.Mode{quantize.Naive, quantize.Percentile, quantize.Entropy} {
		q, err := quantize.Calibrate(ctx, mod.Model(), calibrate, quantize.Config{Mode: mode})
		if err != nil {
			return 0, 0, err
		}
		narrow := module.New(q.Model.Symbol)
		if err := narrow.SetParams(q.Model.Args, q.Model.Aux); err != nil {
			return 0, 0, err
		}
		v, err := score(ctx, narrow, check)
		if err != nil {
			return 0, 0, err
		}
		fmt.Printf("%-10s ranges: accuracy %.4f, data of the layers", mode, v)
		for _, l := range q.Layers {
			fmt.Printf("  %.3g to %.3g", l.Low, l.High)
		}
		fmt.Printf("\nparameters: %d bytes in float32, %d in int8\n", size(mod.Model().Args),
			size(q.Model.Args))
		if mode == quantize.Percentile {
			integer = v
		}
	}
	return float, integer, nil
}

// size returns the bytes of arrays.
func size(arrays map[string]*nd.Array) (bytes int) {
	for _, a := range arrays {
		bytes += a.Bytes()
	}
	return bytes
}

// score returns the share of images that are classified correctly.
func score(ctx context.Context, mod *module.Module, test dataio.Iter) (float64, error) {
	scores, err := mod.Score(ctx, test, metric.Accuracy())
	if err != nil {
		return 0, err
	}
	return scores[0].Value, nil
}
