// Pipeline trains two layers of LSTM and a classifier, each in a process of its own:
//
//	go build -o pipeline ./examples/pipeline
//	gomx launch -n 3 -s 1 -- ./pipeline
//
// Every image of a digit is a sequence of rows. The program is the same in all processes. Without a
// launcher one process does all the work, with the same results.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gomx/examples/data"
	"gomx/initializer"
	"gomx/kvstore"
	"gomx/launch"
	"gomx/metric"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"
)

const (
	enough = 8
	least  = 0.88 // share of test images that must be classified correctly after enough epochs
)

func main() {
	out := flag.String("out", "runs/pipeline", "folder of the checkpoint")
	epochs := flag.Int("epochs", enough, "how many times to go through the data")
	flag.Parse()
	launch.Main(func(ctx context.Context) error { return run(ctx, *out, *epochs) })
}

// lstm is a layer of a network that reads sequences, (steps, samples, size).
func lstm(x *sym.Symbol, group *sym.Scope, name string) *sym.Symbol {
	const size = 48
	zeros := func(name string) *sym.Symbol {
		return sym.Zeros(sym.InitParams{Shape: []int{1, 0, size}}, group.Name(name))
	}
	return sym.RNN(x, sym.RNNParams{Mode: "lstm", StateSize: size, NumLayers: 1}, group.Name(name),
		sym.With("state", zeros(name+"_h")), sym.With("state_cell", zeros(name+"_c"))).At(0)
}

// network has three groups of layers, which Pipeline.Groups places in stages.
func network(classes int) *sym.Symbol {
	first, second := sym.NewScope("", sym.CtxGroup("first")),
		sym.NewScope("", sym.CtxGroup("second"))
	head := sym.NewScope("", sym.CtxGroup("head"))
	rows := sym.Reshape(sym.Var("data"), sym.ReshapeParams{Shape: []int{0, 8, 8}},
		first.Name("rows"))
	x := sym.SwapAxis(rows, sym.SwapAxisParams{Dim1: 0, Dim2: 1}, first.Name("steps"))
	x = lstm(lstm(x, first, "lstm0"), second, "lstm1")
	x = sym.SequenceLast(x, sym.SequenceParams{}, head.Name("last"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: classes}, head.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, head.Name("softmax"))
}

func run(ctx context.Context, out string, epochs int) error {
	set := data.Digits()
	train, err := set.Train(32, 1)
	if err != nil {
		return err
	}
	test, err := set.Test(32)
	if err != nil {
		return err
	}
	prefix := filepath.Join(out, "lstm")
	mod := module.New(network(len(set.Classes)), module.Seed(1), module.Pipelined(module.Pipeline{
		Stages: 3, MicroBatches: 4, Groups: map[string]int{"first": 0, "second": 1, "head": 2}}))
	err = mod.Fit(ctx, train,
		module.Validate(test),
		module.Epochs(epochs),
		module.Optimize(optimizer.Adam{LR: 0.005}),
		module.Init(initializer.Xavier{}),
		module.Metric(metric.Accuracy()),
		module.Checkpoint(prefix, module.KeepLast(1)),
		module.Progress(os.Stderr))
	if err != nil {
		return err
	}
	if job := kvstore.JobOf(ctx); job != nil && job.Rank() > 0 {
		return nil // worker 0 writes the checkpoint
	}
	loaded, err := module.Load(prefix, epochs)
	if err != nil {
		return err
	}
	score, err := loaded.Score(ctx, test, metric.Accuracy())
	if err != nil {
		return err
	}
	accuracy, _ := score.Get("accuracy")
	fmt.Printf("validation accuracy %.4f\n", accuracy)
	if epochs >= enough && accuracy < least {
		return fmt.Errorf("validation accuracy %.4f, want at least %v", accuracy, least)
	}
	return nil
}
