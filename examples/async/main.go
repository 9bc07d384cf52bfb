// Async trains with three workers that wait for nobody: the servers apply each gradient as it comes
// (store dist_async). One of the workers is slow, and the others go on without it. The program
// starts itself as a job of three workers and a server; under gomx launch it is a part of that job.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	images "gomx/examples/data"
	"gomx/initializer"
	"gomx/kvstore"
	"gomx/launch"
	"gomx/metric"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// least is the share of test images that each worker must classify correctly at its end.
const least = 0.85

func main() {
	store := flag.String("kvstore", "dist_async", "store of the parameters, such as dist_sync")
	epochs := flag.Int("epochs", 40, "number of passes over the images")
	delay := flag.Duration("delay", 5*time.Millisecond, "time that the slow worker loses")
	flag.Parse()
	launch.Main(func(ctx context.Context) error {
		if kvstore.JobOf(ctx) == nil {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			return launch.Local{Program: append([]string{self}, os.Args[1:]...), Workers: 3,
				Servers: 1, Threads: 1, Stdout: os.Stdout, Stderr: os.Stderr}.Run(ctx)
		}
		accuracy, err := run(ctx, *store, *epochs, *delay)
		if err == nil && accuracy < least {
			err = fmt.Errorf("accuracy %.4f, want at least %v", accuracy, least)
		}
		return err
	})
}

// network has two dense layers.
func network() *sym.Symbol {
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 64},
		sym.Name("fc1"))
	x = sym.FullyConnected(sym.Relu(x), sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// run trains for some epochs on this worker's share of the images. It returns the share of test
// images that are classified correctly by the parameters that the worker has at its end.
func run(ctx context.Context, store string, epochs int, delay time.Duration) (float64, error) {
	rank := kvstore.JobOf(ctx).Rank()
	train, err := images.Digits().Train(16, 1)
	if err != nil {
		return 0, err
	}
	test, err := images.Digits().Test(64)
	if err != nil {
		return 0, err
	}
	start, batches := time.Now(), 0
	mod := module.New(network(), module.Seed(1))
	if err := mod.Fit(ctx, train,
		module.Store(store),
		module.Epochs(epochs),
		module.Init(initializer.Xavier{}),
		module.Optimize(optimizer.SGD{LR: 0.05}),
		module.OnBatch(func(*module.BatchEnd) error {
			if batches++; rank == 2 {
				time.Sleep(delay)
			}
			return nil
		})); err != nil {
		return 0, err
	}
	score, err := mod.Score(ctx, test, metric.Accuracy())
	if err != nil {
		return 0, err
	}
	fmt.Printf("worker %d: accuracy %.4f after %d batches in %.1f s\n", rank, score[0].Value,
		batches, time.Since(start).Seconds())
	return score[0].Value, nil
}
