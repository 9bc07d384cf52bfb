// Mnist trains LeNet on Fashion-MNIST, or on handwritten digits if that is not installed, saves the
// model, loads it again and scores it. Under gomx launch several workers train it together.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gomx/device"
	"gomx/examples/data"
	"gomx/initializer"
	"gomx/kvstore"
	_ "gomx/kvstore/view/etcd" // gomx launch --view etcd://…
	"gomx/launch"
	"gomx/metric"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"
)

type options struct {
	data, out string
	epochs    int
	batch     int
	seed      uint64
	lr        float64
	store     string
	staleness int
	on        []device.Device
	least     float64 // share of validation images that must be classified correctly
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", data.Dir,
		"folder of Fashion-MNIST's files; without them digits are used")
	flag.StringVar(&o.out, "out", filepath.Join("runs", "mnist"),
		"folder for checkpoints and pictures")
	flag.IntVar(&o.epochs, "epochs", 0, "number of passes over the images (0: 6, or 30 for "+
		"digits)")
	flag.IntVar(&o.batch, "batch", 64, "number of images per step")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the initial weights and of the order of the images")
	flag.Float64Var(&o.lr, "lr", 0.05, "learning rate")
	flag.StringVar(&o.store, "kvstore", "",
		"store of the gradients (default: dist_sync under gomx launch, local otherwise)")
	flag.IntVar(&o.staleness, "staleness", 3,
		"number of steps that a worker of dist_ssp may be ahead of the slowest")
	flag.Func("device", "device to train on, gpu in binaries with the tag cuda; gpu(0),gpu(1) "+
		"share every batch (default cpu)", func(list string) error {
		for name := range strings.SplitSeq(list, ",") {
			d, err := device.Parse(name)
			if err != nil {
				return err
			}
			o.on = append(o.on, d)
		}
		return nil
	})
	flag.Parse()
	launch.Main(func(ctx context.Context) error { return run(ctx, o) })
}

// lenet is LeNet-5 with tanh, as in MXNet's examples. Images of 8×8 pixels get smaller kernels.
func lenet(size, classes int) *sym.Symbol {
	kernel, pad := []int{5, 5}, []int{0, 0}
	if size < 28 {
		kernel, pad = []int{3, 3}, []int{1, 1}
	}
	stage := func(x *sym.Symbol, i, filters int) *sym.Symbol {
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: kernel, Pad: pad, NumFilter: filters},
			sym.Name(fmt.Sprint("conv", i)))
		x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"},
			sym.Name(fmt.Sprint("tanh", i)))
		return sym.Pooling(x, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}}, sym.Name(fmt.Sprint("pool", i)))
	}
	x := stage(stage(sym.Var("data"), 1, 20), 2, 50)
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 500},
		sym.Name("fc1"))
	x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh3"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: classes}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

func run(ctx context.Context, o options) error {
	set := data.Open(o.data)
	if o.store == "" {
		if o.store = "local"; kvstore.JobOf(ctx) != nil {
			o.store = "dist_sync"
		}
	}
	if o.epochs == 0 {
		o.least = 0.88
		if o.epochs = 6; set.Name == "digits" {
			o.epochs = 30
		}
	}
	train, err := set.Train(o.batch, o.seed)
	if err != nil {
		return err
	}
	test, err := set.Test(o.batch)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d images for training, %d for validation\n", set.Name, train.Samples(),
		test.Samples())
	prefix := filepath.Join(o.out, "lenet")
	mod := module.New(lenet(set.Size, len(set.Classes)), module.Seed(o.seed), module.On(o.on...))
	err = mod.Fit(ctx, train,
		module.Validate(test),
		module.Epochs(o.epochs),
		module.Optimize(optimizer.SGD{LR: o.lr, Momentum: 0.9, WD: 1e-4, Common: optimizer.Common{
			Schedule: optimizer.CosineScheduler{MaxUpdate: o.epochs * train.Batches()}}}),
		module.Init(initializer.Xavier{}),
		module.Metric(metric.Composite(metric.Accuracy(), metric.CrossEntropy())),
		module.Store(o.store, kvstore.Staleness(o.staleness)),
		module.Checkpoint(prefix, module.KeepLast(3)),
		module.Record(o.out), // gomx board shows it
		module.Progress(os.Stderr))
	if err != nil {
		return err
	}
	if job := kvstore.JobOf(ctx); job != nil && job.Rank() > 0 {
		return nil // worker 0 writes the checkpoint
	}
	return report(ctx, o, set, mod, test)
}
