// Zoo classifies digits by the features of a residual network: the network's own output is replaced
// by one for ten digits, which alone is trained.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"

	images "gomx/examples/data"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/estimator"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/gluon/zoo"
	"gomx/initializer"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// least is the share of test images that must be classified correctly.
const least = 0.85

func main() {
	params := flag.String("params", "",
		"file of MXNet with parameters for resnet18_v2 with thumbnail=True; random ones by default")
	export := flag.String("export", "", "prefix of files for the trained network, none by default")
	flag.Parse()
	accuracy, err := run(context.Background(), images.Digits(), *params, *export)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("validation accuracy %.4f\n", accuracy)
	if accuracy < least {
		log.Fatalf("want at least %v", least)
	}
}

// run trains the output and returns the share of test images that the network classifies correctly.
func run(ctx context.Context, set images.Set, params, export string) (float64, error) {
	train, test, err := set.Arrays()
	if err != nil {
		return 0, err
	}
	model := zoo.ResNet18V2(zoo.Thumbnail())
	net := gluon.New(model)
	if params != "" {
		err = net.Load(params)
	} else {
		err = net.Init(initializer.Xavier{Magnitude: 2, FactorType: "in"}, gluon.Seed(1))
	}
	if err != nil {
		return 0, err
	}
	model.Output = nn.Sequential{&nn.BatchNorm{}, &nn.Dense{Units: 10}}
	// Features do not change: they are computed once.
	features := gluon.New(model.Features)
	features.Hybridize()
	output := gluon.New(model.Output)
	loader := func(arrays []*nd.Array, opts ...data.Option) *data.Loader {
		x := nd.Concat(inParts(features, arrays[0], 64), nd.ConcatParams{Dim: nd.Some(0)})
		return data.NewLoader(data.Arrays(x.Flatten(), arrays[1]), 64, opts...)
	}
	history, err := estimator.Fit(ctx, output, loss.SoftmaxCE{}, loader(train, data.Shuffle(7)),
		estimator.Epochs(30), estimator.Optimize(optimizer.Adam{LR: 3e-3}),
		estimator.Init(initializer.Xavier{}, gluon.Seed(2)), estimator.Metric(metric.Accuracy()),
		estimator.Validate(loader(test)))
	if err != nil {
		return 0, err
	}
	if export != "" { // MXNet reads the files, too
		err = net.Export(export, 0, gluon.Input("data", test[0].Slice(0, 1).Shape()...),
			gluon.GlobalNames(""))
	}
	accuracy, ok := history.Epochs[len(history.Epochs)-1].Validation.Get("accuracy")
	if !ok {
		err = errors.Join(err, errors.New("there is no accuracy"))
	}
	return accuracy, err
}

// inParts calls a network with n samples at a time.
func inParts(net *gluon.Net, x *nd.Array, n int) (list []*nd.Array) {
	for i := 0; i < x.Shape()[0]; i += n {
		list = append(list, net.Forward(x.Slice(i, min(i+n, x.Shape()[0]))))
	}
	return list
}
