// Mixed trains a network in float32, in bfloat16 and in float16 with scaled gradients, and compares
// the accuracies: mixed precision changes one option of a program.
package main

import (
	"context"
	"fmt"
	"log"

	"gomx/device"
	"gomx/dtype"
	images "gomx/examples/data"
	"gomx/initializer"
	"gomx/metric"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"
)

const (
	least = 0.9  // accuracy in each precision
	apart = 0.03 // most accuracy that a narrow type may lose
)

func main() {
	accuracy, err := run(context.Background(), 15)
	if err != nil {
		log.Fatal(err)
	}
	wide := accuracy[dtype.Float32]
	fmt.Printf("accuracy %.4f in float32, %.4f in bfloat16, %.4f in float16\n", wide,
		accuracy[dtype.BFloat16], accuracy[dtype.Float16])
	for t, v := range accuracy {
		if v < least || v < wide-apart {
			log.Fatalf("%v: want at least %v, and at most %v less than in float32", t, least, apart)
		}
	}
}

// network has two convolutions and two dense layers.
func network() *sym.Symbol {
	x := sym.Var("data")
	for i, filters := range []int{16, 32} {
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: filters}, sym.Name(fmt.Sprint("conv", i)))
		x = sym.Pooling(sym.Relu(x), sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}})
	}
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 64}, sym.Name("fc1"))
	x = sym.FullyConnected(sym.Relu(x), sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// run trains for some epochs in each precision, and returns the accuracies on test images.
func run(ctx context.Context, epochs int) (map[dtype.Type]float64, error) {
	train, err := images.Digits().Train(64, 1)
	if err != nil {
		return nil, err
	}
	test, err := images.Digits().Test(64)
	if err != nil {
		return nil, err
	}
	accuracy := map[dtype.Type]float64{}
	for _, t := range []dtype.Type{dtype.Float32, dtype.BFloat16, dtype.Float16} {
		opts := []module.Option{module.Seed(1)}
		if t != dtype.Float32 {
			// Without NarrowProducts a processor computes in bfloat16 only the products that it
			// computes faster so. Here all are to be narrow, on every processor.
			opts = append(opts, module.MixedPrecision(t),
				module.NarrowProducts(device.AllProducts))
		}
		mod := module.New(network(), opts...)
		train.SetEpoch(0)
		if err := mod.Fit(ctx, train,
			module.Epochs(epochs),
			module.Init(initializer.Xavier{}),
			module.Optimize(optimizer.SGD{LR: 0.05, Momentum: 0.9})); err != nil {
			return nil, err
		}
		score, err := mod.Score(ctx, test, metric.Accuracy())
		if err != nil {
			return nil, err
		}
		args, _ := mod.Params()
		fmt.Printf("%v: weights are %v, gradients are scaled by %v, %d batches skipped\n", t,
			args["fc1_weight"].DType(), mod.LossScale(), mod.Skipped())
		accuracy[t], _ = score.Get("accuracy")
	}
	return accuracy, nil
}
