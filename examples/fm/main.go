// Fm trains a factorization machine on sparse samples in LibSVM's format (Rendle, 2010): every
// column has a weight, and every pair of columns has the product of their factors as a weight. In a
// job both live on the servers as rows; a step pulls the rows that its batch has elements for, and
// pushes their gradients. Servers make a row of factors when it is touched first:
//
//	go build -o fm ./examples/fm
//	gomx launch -n 3 -s 2 -- ./fm -kvstore dist_async -features 10000000
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
	test, out, store      string
	lr                    float64
	samples, epochs, rank int
}

// most is the validation loss that must be reached with made-up clicks.
const most = 0.49

func main() {
	var o options
	flag.StringVar(&o.Data, "train", "", "file or folder for training (default: made-up clicks)")
	flag.StringVar(&o.test, "test", "", "file or folder for validation")
	flag.StringVar(&o.out, "out", "runs/fm", "folder of the made-up clicks")
	features := flag.Int("features", 500, "number of columns")
	flag.IntVar(&o.samples, "samples", 100_000, "number of made-up clicks of a worker")
	flag.IntVar(&o.BatchSize, "batch", 128, "number of samples per step")
	flag.IntVar(&o.epochs, "epochs", 3, "number of passes over the samples")
	flag.IntVar(&o.rank, "rank", 4, "number of factors of a column")
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

// network is p(click) = 1/(1+exp(-score)), where score has a weight of each column and the product
// of the factors of each pair of columns.
func network(features, rank int) *sym.Symbol {
	stored := sym.StorageType(sym.StorageRowSparse)
	dot := func(x, w *sym.Symbol) *sym.Symbol { return sym.Dot(x, w, sym.DotParams{}) }
	x := sym.Var("data", sym.StorageType(sym.StorageCSR))
	w := sym.Var("weight", sym.Shape(features, 1), stored)
	v := sym.Var("factors", sym.Shape(features, rank), stored,
		sym.Init(`["normal", {"sigma": 0.05}]`))
	// The products of all pairs add up to half of (square of the sum - sum of the squares).
	columns := sym.ReduceParams{Axis: []int{1}, KeepDims: true}
	squares := dot(sym.Square(x), sym.SquareSum(v, sym.SquareSumParams(columns)))
	pairs := sym.ElemwiseSub(sym.Sum(sym.Square(dot(x, v)), columns), squares)
	score := sym.ElemwiseAdd(sym.BroadcastAdd(dot(x, w), sym.Var("bias", sym.Shape(1, 1))),
		sym.MulScalar(pairs, sym.ScalarParams{Scalar: 0.5}))
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
		Clicks: data.Clicks{Fields: 10, Rank: 4, Seed: 1}, Samples: o.samples}.Open(kv)
	if err != nil {
		return 0, err
	}
	defer train.Close()
	defer test.Close()
	err = module.New(network(o.DataShape[0], o.rank)).Fit(ctx, train, module.Epochs(o.epochs),
		module.StoreWith(kv), module.Init(initializer.Zero{}),
		module.Optimize(optimizer.AdaGrad{LR: o.lr}), module.Metric(data.LogLoss()),
		module.Validate(test), module.OnEpoch(func(e *module.EpochEnd) error {
			loss, _ = e.Validation.Get("loss")
			fmt.Printf("worker %d, epoch %d: validation loss %.4f\n", kv.Rank(), e.Epoch, loss)
			return nil
		}))
	return loss, err
}
