// Sparselinear trains a logistic regression on sparse samples in LibSVM's format. In a job the
// weights live on the servers as rows; a step pulls the rows that its batch has elements for, and
// pushes their gradients. So a worker needs memory for its batches only:
//
//	go build -o sparselinear ./examples/sparselinear
//	gomx launch -n 3 -s 2 -- ./sparselinear -kvstore dist_async
//
// Without files every worker trains on made-up clicks of its own.
package main

import (
	"context"
	"flag"
	"fmt"

	"gomx/examples/data"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/launch"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

type options struct {
	dataio.LibSVMConfig
	test, out, store string
	samples, epochs  int
	lr               float64
}

// most is the validation loss that must be reached with made-up clicks.
const most = 0.53

func main() {
	var o options
	flag.StringVar(&o.Data, "train", "", "file or folder for training (default: made-up clicks)")
	flag.StringVar(&o.test, "test", "", "file or folder for validation")
	flag.StringVar(&o.out, "out", "runs/sparselinear", "folder of the made-up clicks")
	features := flag.Int("features", 20_000, "number of columns")
	flag.IntVar(&o.samples, "samples", 50_000, "number of made-up clicks of a worker")
	flag.IntVar(&o.BatchSize, "batch", 128, "number of samples per step")
	flag.IntVar(&o.epochs, "epochs", 2, "number of passes over the samples")
	flag.Float64Var(&o.lr, "lr", 0.1, "learning rate")
	flag.StringVar(&o.store, "kvstore", "local", "store of the weights, such as dist_async")
	flag.Parse()
	o.DataShape = nd.Shape{*features}
	launch.Main(func(ctx context.Context) error {
		loss, err := run(ctx, o)
		if err == nil && o.Data == "" && loss > most {
			err = fmt.Errorf("validation loss %.4f, want at most %v", loss, most)
		}
		return err
	})
}

// network is p(click) = 1/(1+exp(-x·weight-bias)).
func network(features int) *sym.Symbol {
	x := sym.Var("data", sym.StorageType(sym.StorageCSR))
	w := sym.Var("weight", sym.Shape(features, 1), sym.StorageType(sym.StorageRowSparse))
	score := sym.BroadcastAdd(sym.Dot(x, w, sym.DotParams{}), sym.Var("bias", sym.Shape(1, 1)))
	return sym.LogisticRegressionOutput(score, sym.RegressionParams{}, sym.Name("softmax"))
}

// run trains the model and returns its mean loss over the validation samples.
func run(ctx context.Context, o options) (loss float64, err error) {
	kv, err := kvstore.Open(ctx, o.store)
	if err != nil {
		return 0, err
	}
	defer kv.Close()
	train, test, err := data.ClickFiles{LibSVMConfig: o.LibSVMConfig, Test: o.test, Folder: o.out,
		Clicks: data.Clicks{Fields: 20, Seed: 1}, Samples: o.samples}.Open(kv)
	if err != nil {
		return 0, err
	}
	defer train.Close()
	defer test.Close()
	err = module.New(network(o.DataShape[0])).Fit(ctx, train, module.Epochs(o.epochs),
		module.StoreWith(kv), module.Init(initializer.Zero{}),
		module.Optimize(optimizer.AdaGrad{LR: o.lr}), module.Metric(data.LogLoss()),
		module.Validate(test), module.OnEpoch(func(e *module.EpochEnd) error {
			loss, _ = e.Validation.Get("loss")
			fmt.Printf("worker %d, epoch %d: validation loss %.4f\n", kv.Rank(), e.Epoch, loss)
			return nil
		}))
	return loss, err
}
