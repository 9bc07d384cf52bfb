// Sparselinear trains a logistic regression on sparse samples in LibSVM's format. The weights live
// in a store; a step pulls the rows that its batch has elements for, and pushes their gradients. So
// a worker needs memory for its batches only:
//
//	go build -o sparselinear ./examples/sparselinear
//	gomx launch -n 3 -s 2 -- ./sparselinear -kvstore dist_async
//
// Without files every worker trains on made-up clicks of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"gomx/autograd"
	"gomx/examples/data"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/launch"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

type options struct {
	dataio.LibSVMConfig
	test, out, store string
	samples, epochs  int
	lr               float64
}

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
		_, err := run(ctx, o)
		return err
	})
}

// linear is p(click) = 1/(1+exp(-x·weight-bias)). The arrays hold the values that the last batch
// needed, and their gradients.
type linear struct {
	kv           *kvstore.KV
	weight, bias *nd.Array
}

// begin puts weights of zeros into the store.
func (m *linear) begin(ctx context.Context, o options) error {
	m.weight, m.bias = nd.ZerosOf(nd.RowSparse, nd.Shape{o.DataShape[0], 1}), nd.Zeros(nd.Shape{1})
	m.weight.AttachGrad()
	m.bias.AttachGrad()
	if err := m.kv.SetOptimizer(ctx, optimizer.AdaGrad{LR: o.lr}); err != nil {
		return err
	}
	return errors.Join(m.kv.Init(ctx, "weight", m.weight), m.kv.Init(ctx, "bias", m.bias))
}

// losses pulls the weights of a batch and returns the loss of each sample.
func (m *linear) losses(tape *autograd.Tape, x, label *nd.Array) (*nd.Array, error) {
	columns, err := x.Indices()
	if err != nil {
		return nil, err
	}
	rows := []*nd.Array{nd.FromSlice(columns)}
	if err := errors.Join(m.kv.RowSparsePull("weight", 0, rows, []*nd.Array{m.weight}),
		m.kv.Pull("bias", 0, m.bias)); err != nil {
		return nil, err
	}
	score := nd.BroadcastAdd(nd.Dot(x, tape.Watch(m.weight), nd.DotParams{}).Reshape(-1),
		tape.Watch(m.bias))
	return nd.Activation(score, nd.ActivationParams{ActType: "softrelu"}).Sub(label.Mul(score)), nil
}

// step trains on a batch.
func (m *linear) step(b *dataio.Batch) error {
	losses, err := m.losses(autograd.Train(), b.Data[0], b.Label[0])
	if err != nil {
		return err
	}
	losses.Mean().Backward()
	return errors.Join(m.kv.Push("weight", 0, m.weight.Grad()), m.kv.Push("bias", 0, m.bias.Grad()))
}

// run trains the model and returns its mean loss over the validation samples.
func run(ctx context.Context, o options) (loss float64, err error) {
	m := &linear{}
	if m.kv, err = kvstore.Open(ctx, o.store); err != nil {
		return 0, err
	}
	defer m.kv.Close()
	train, test, err := data.ClickFiles{LibSVMConfig: o.LibSVMConfig, Test: o.test, Folder: o.out,
		Clicks: data.Clicks{Fields: 20, Seed: 1}, Samples: o.samples}.Open(m.kv)
	if err != nil {
		return 0, err
	}
	defer train.Close()
	defer test.Close()
	if err := m.begin(ctx, o); err != nil {
		return 0, err
	}
	for epoch := range o.epochs {
		for b, err := range dataio.Epoch(ctx, train) {
			if err == nil {
				err = m.step(b)
			}
			if err != nil {
				return 0, err
			}
		}
		loss, err = data.MeanLoss(test, func(x, label *nd.Array) (*nd.Array, error) {
			return m.losses(autograd.Predict(), x, label)
		})
		if err != nil {
			return 0, err
		}
		fmt.Printf("worker %d, epoch %d: validation loss %.4f\n", m.kv.Rank(), epoch, loss)
	}
	return loss, nil
}
