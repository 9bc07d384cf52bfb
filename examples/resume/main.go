// Resume kills training processes at random instants and starts them again until one comes to the
// end. The network is then the same, bit for bit, as the network of a process that has lived to its
// end: a snapshot holds everything that the next step depends on.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	images "gomx/examples/data"
	"gomx/initializer"
	"gomx/metric"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"
)

const (
	epochs = 15
	kills  = 3    // processes that must be killed at least
	least  = 0.87 // share of test images that must be classified correctly
)

func main() {
	prefix := flag.String("train", "", "train once, and save under this prefix; for the processes "+
		"that the program starts")
	flag.Parse()
	if *prefix != "" {
		if err := train(context.Background(), *prefix); err != nil {
			log.Fatal(err)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	killed, accuracy, err := run(context.Background(), self, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the same network after %d kills, accuracy %.4f\n", killed, accuracy)
	if killed < kills || accuracy < least {
		log.Fatalf("want at least %d and %v", kills, least)
	}
}

// network has a dropout, so that a step depends on the place in a random stream.
func network() *sym.Symbol {
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 128},
		sym.Name("fc1"))
	x = sym.Dropout(sym.Relu(x), sym.DropoutParams{P: sym.Some(0.3)}, sym.Name("drop"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// train begins a run, or goes on with the run of an earlier process with the same prefix.
func train(ctx context.Context, prefix string) error {
	data, err := images.Digits().Train(16, 1)
	if err != nil {
		return err
	}
	mod := module.New(network(), module.Seed(1))
	return mod.Fit(ctx, data,
		module.Epochs(epochs),
		module.Init(initializer.Xavier{}),
		module.Optimize(optimizer.Adam{LR: 2e-3}),
		module.OnBatch(func(*module.BatchEnd) error {
			time.Sleep(300 * time.Microsecond) // as if the network were larger
			return nil
		}),
		module.Resume(prefix, module.EveryBatches(10), module.KeepLast(1)))
}

// run trains in one process, and in many that are killed. It returns the number of those, and the
// accuracy of the network, and an error if the two networks differ.
func run(ctx context.Context, program string, seed uint64) (killed int, accuracy float64,
	err error) {
	dir, err := os.MkdirTemp("", "resume")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	whole, cut := filepath.Join(dir, "whole"), filepath.Join(dir, "cut")
	start := time.Now()
	if err := command(ctx, program, whole).Run(); err != nil {
		return 0, 0, err
	}
	took := time.Since(start)
	r := rand.New(rand.NewPCG(seed, 0))
	for {
		// Process number n lives for n/10 of the time that training takes, more or less.
		life := time.Duration(r.Float64() * 0.1 * float64(killed+1) * float64(took))
		limited, cancel := context.WithTimeout(ctx, life)
		err := command(limited, program, cut).Run()
		dead := limited.Err() != nil
		if cancel(); err == nil {
			break
		} else if !dead || ctx.Err() != nil {
			return 0, 0, err
		}
		killed++
	}
	want, err1 := os.ReadFile(fmt.Sprintf("%s-%04d.params", whole, epochs))
	got, err2 := os.ReadFile(fmt.Sprintf("%s-%04d.params", cut, epochs))
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, err
	}
	if !bytes.Equal(got, want) {
		return 0, 0, errors.New("the networks differ")
	}
	test, err := images.Digits().Test(64)
	if err != nil {
		return 0, 0, err
	}
	mod, err := module.Load(cut, epochs)
	if err != nil {
		return 0, 0, err
	}
	score, err := mod.Score(ctx, test, metric.Accuracy())
	if err != nil {
		return 0, 0, err
	}
	return killed, score[0].Value, nil
}

// command is a training process. The end of ctx kills it.
func command(ctx context.Context, program, prefix string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, "-train", prefix)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}
