// Fm trains a factorization machine on sparse samples in LibSVM's format (Rendle, 2010): every
// column has a weight, and every pair of columns has the product of their factors as a weight. Both
// live in a store as rows; a step pulls the rows that its batch has elements for, and pushes their
// gradients. Servers make a row of factors when it is touched first:
//
//	go build -o fm ./examples/fm
//	gomx launch -n 3 -s 2 -- ./fm -kvstore dist_async -features 10000000
//
// Without files every worker trains on made-up clicks of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"gomx/autograd"
	"gomx/dtype"
	"gomx/examples/data"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/kvstore/rows"
	"gomx/launch"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

type options struct {
	dataio.LibSVMConfig
	test, out, store      string
	lr                    float64
	samples, epochs, rank int
}

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
		_, err := run(ctx, o)
		return err
	})
}

// machine is p(click) = 1/(1+exp(-score)). The arrays hold the values that the last batch needed,
// and their gradients.
type machine struct {
	kv                    *kvstore.KV
	weight, factors, bias *nd.Array // (columns, 1), (columns, rank) and (1,)
}

// begin puts weights of zeros and random factors into the store.
func (m *machine) begin(ctx context.Context, o options) error {
	shape := nd.Shape{o.DataShape[0], o.rank}
	m.weight, m.bias = nd.ZerosOf(nd.RowSparse, nd.Shape{shape[0], 1}), nd.Zeros(nd.Shape{1})
	m.factors = nd.ZerosOf(nd.RowSparse, shape)
	for _, a := range []*nd.Array{m.weight, m.factors, m.bias} {
		a.AttachGrad()
	}
	err := errors.Join(m.kv.SetOptimizer(ctx, optimizer.AdaGrad{LR: o.lr}),
		m.kv.Init(ctx, "weight", m.weight), m.kv.Init(ctx, "bias", m.bias))
	if err != nil {
		return err
	}
	if k, err := kvstore.Need[kvstore.RowKeeper](m.kv, "InitRows"); err == nil {
		return k.InitRows(ctx, "factors", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32,
			Init: rows.Init{Kind: rows.KindNormal, Scale: 0.05, Seed: 1}})
	}
	return m.kv.Init(ctx, "factors", nd.Normal(0, 0.05, shape, nd.Seed(1)).ToStorage(nd.RowSparse))
}

// losses pulls the weights of a batch and returns the loss of each sample.
func (m *machine) losses(tape *autograd.Tape, x, label *nd.Array) (*nd.Array, error) {
	columns, err := x.Indices()
	if err != nil {
		return nil, err
	}
	ids := []*nd.Array{nd.FromSlice(columns)}
	if err := errors.Join(m.kv.RowSparsePull("weight", 0, ids, []*nd.Array{m.weight}),
		m.kv.RowSparsePull("factors", 0, ids, []*nd.Array{m.factors}),
		m.kv.Pull("bias", 0, m.bias)); err != nil {
		return nil, err
	}
	dot := func(x, w *nd.Array) *nd.Array { return nd.Dot(x, w, nd.DotParams{}) }
	v := tape.Watch(m.factors)
	// The products of all pairs add up to half of (square of the sum - sum of the squares).
	pairs := nd.Square(dot(x, v)).Sub(dot(nd.Square(x), nd.Square(v))).Sum(1).MulScalar(0.5)
	linear := nd.BroadcastAdd(dot(x, tape.Watch(m.weight)).Reshape(-1), tape.Watch(m.bias))
	score := linear.Add(pairs)
	return nd.Activation(score, nd.ActivationParams{ActType: "softrelu"}).Sub(label.Mul(score)), nil
}

// step trains on a batch.
func (m *machine) step(b *dataio.Batch) error {
	losses, err := m.losses(autograd.Train(), b.Data[0], b.Label[0])
	if err != nil {
		return err
	}
	losses.Mean().Backward()
	return errors.Join(m.kv.Push("weight", 0, m.weight.Grad()),
		m.kv.Push("factors", 0, m.factors.Grad()), m.kv.Push("bias", 0, m.bias.Grad()))
}

// run trains the model and returns its mean loss over the validation samples.
func run(ctx context.Context, o options) (loss float64, err error) {
	m := &machine{}
	if m.kv, err = kvstore.Open(ctx, o.store); err != nil {
		return 0, err
	}
	defer m.kv.Close()
	train, test, err := data.ClickFiles{LibSVMConfig: o.LibSVMConfig, Test: o.test, Folder: o.out,
		Clicks: data.Clicks{Fields: 10, Rank: 4, Seed: 1}, Samples: o.samples}.Open(m.kv)
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
