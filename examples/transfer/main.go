// Transfer takes the features of a network that MXNet 1.9.1 has trained on the digits 0 to 4, puts
// a new layer behind them, and trains that layer alone on ten pictures of each digit from 5 to 9.
// The same network without the first training shows the difference. The program make.py has made
// the checkpoint.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"

	"gomx/checkpoint"
	images "gomx/examples/data"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

const (
	each  = 10   // pictures of each new digit
	least = 0.83 // share of test pictures that must be classified correctly
)

func main() {
	prefix := flag.String("model", "examples/transfer/testdata/digits",
		"beginning of the names of the checkpoint's files")
	flag.Parse()
	old, fresh, err := run(context.Background(), *prefix, 30)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accuracy %.4f with the features of MXNet's network, %.4f without\n", old, fresh)
	if old < least || old < fresh {
		log.Fatalf("want at least %v, and not less than without", least)
	}
}

// samples returns an iterator over pictures of the digits from 5 to 9, with classes from 0 to 4: at
// most n of each.
func samples(set []*nd.Array, n int, shuffle bool) (*dataio.Table, error) {
	labels, err := set[1].Float32s()
	if err != nil {
		return nil, err
	}
	var which, classes []float32
	var seen [5]int
	for i, digit := range labels {
		if class := int(digit) - 5; class >= 0 && seen[class] < n {
			seen[class]++
			which, classes = append(which, float32(i)), append(classes, float32(class))
		}
	}
	return dataio.NDArrayIter(dataio.NDArrayConfig{
		Data:      []*nd.Array{set[0].Take(nd.FromSlice(which), 0)},
		Label:     []*nd.Array{nd.FromSlice(classes)},
		BatchSize: 25, Shuffle: shuffle, Seed: 1})
}

// network puts a new layer behind the first convolution of a model, whose features are the least
// particular to the old digits.
func network(model *checkpoint.Model) (*sym.Symbol, error) {
	features, err := model.Symbol.Internals().Output("pool0_output")
	if err != nil {
		return nil, err
	}
	x := sym.FullyConnected(features, sym.FullyConnectedParams{NumHidden: 5}, sym.Name("new"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax")), nil
}

// run trains for some epochs. It returns the accuracies with the parameters of the checkpoint,
// which stay as they are, and of the same network that begins with random numbers.
func run(ctx context.Context, prefix string, epochs int) (old, fresh float64, err error) {
	model, err := checkpoint.Load(prefix, 20)
	if err != nil {
		return 0, 0, err
	}
	net, err := network(model)
	if err != nil {
		return 0, 0, err
	}
	learn, check, err := images.Digits().Arrays()
	if err != nil {
		return 0, 0, err
	}
	train, err1 := samples(learn, each, true)
	test, err2 := samples(check, check[1].Size(), false)
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, err
	}
	var fixed []string
	for _, name := range net.Arguments() {
		if model.Args[name] != nil {
			fixed = append(fixed, name)
		}
	}
	transferred := module.New(net, module.Seed(1), module.Fixed(fixed...))
	if err := transferred.SetParams(model.Args, model.Aux, module.AllowMissing(),
		module.AllowExtra()); err != nil {
		return 0, 0, err
	}
	fit := func(mod *module.Module) (float64, error) {
		if err := mod.Fit(ctx, train, module.Epochs(epochs), module.Init(initializer.Xavier{}),
			module.Optimize(optimizer.Adam{LR: 2e-2})); err != nil {
			return 0, err
		}
		score, err := mod.Score(ctx, test, metric.Accuracy())
		if err != nil {
			return 0, err
		}
		return score[0].Value, nil
	}
	old, err1 = fit(transferred)
	fresh, err2 = fit(module.New(net, module.Seed(1)))
	return old, fresh, errors.Join(err1, err2)
}
