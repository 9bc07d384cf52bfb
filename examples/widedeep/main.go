// Widedeep trains a wide and deep network (Cheng et al., 2016) on samples in LibSVM's format. The
// wide part gives every column a weight, so it learns columns by heart. The deep part looks up an
// embedding of each column and computes on them with dense layers, so it learns how columns of
// different fields act together. A sample has one column of each field.
//
//	go build -o widedeep ./examples/widedeep
//	gomx launch -n 3 -s 2 -- ./widedeep -kvstore dist_sync
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
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/launch"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

type options struct {
	dataio.LibSVMConfig
	test, out, store               string
	samples, epochs, fields, units int
	lr                             float64
}

// least is the area under the ROC curve that must be reached with made-up clicks.
const least = 0.81

func main() {
	var o options
	flag.StringVar(&o.Data, "train", "", "file or folder for training (default: made-up clicks)")
	flag.StringVar(&o.test, "test", "", "file or folder for validation")
	flag.StringVar(&o.out, "out", "runs/widedeep", "folder of the made-up clicks")
	features := flag.Int("features", 1000, "number of columns")
	flag.IntVar(&o.fields, "fields", 10, "number of columns that each sample has")
	flag.IntVar(&o.units, "units", 8, "size of an embedding")
	flag.IntVar(&o.samples, "samples", 100_000, "number of made-up clicks of a worker")
	flag.IntVar(&o.BatchSize, "batch", 128, "number of samples per step")
	flag.IntVar(&o.epochs, "epochs", 3, "number of passes over the samples")
	flag.Float64Var(&o.lr, "lr", 0.05, "learning rate")
	flag.StringVar(&o.store, "kvstore", "local", "store of the parameters, such as dist_sync")
	flag.Parse()
	o.DataShape = nd.Shape{*features}
	launch.Main(func(ctx context.Context) error {
		auc, err := run(ctx, o)
		if err == nil && o.Data == "" && auc < least {
			err = fmt.Errorf("validation AUC %.4f, want at least %v", auc, least)
		}
		return err
	})
}

// scores calls the network for a csr batch whose samples have one column of each field.
func scores(net *gluon.Net, tape *autograd.Tape, x *nd.Array, fields int) (*nd.Array, error) {
	n := x.Shape()[0]
	columns, err := x.Indices()
	if err == nil && len(columns) != n*fields {
		err = fmt.Errorf("a batch has %d elements, want %d in each of %d samples", len(columns),
			fields, n)
	}
	if err != nil {
		return nil, err
	}
	return net.Call(x, tape.Watch(nd.FromSlice(columns, n, fields)))[0], nil
}

// run trains the network and returns the area under the ROC curve of the validation samples.
func run(ctx context.Context, o options) (auc float64, err error) {
	kv, err := kvstore.Open(ctx, o.store)
	if err != nil {
		return 0, err
	}
	defer kv.Close()
	train, test, err := data.ClickFiles{LibSVMConfig: o.LibSVMConfig, Test: o.test, Folder: o.out,
		Clicks: data.Clicks{Fields: o.fields, Rank: 4, Seed: 1}, Samples: o.samples}.Open(kv)
	if err != nil {
		return 0, err
	}
	defer train.Close()
	defer test.Close()
	m := newWideDeep(o.DataShape[0], o.units)
	net := gluon.Wrap(m, func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{m.Forward(in[0], in[1])}
	})
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.AdaGrad{LR: o.lr},
		gluon.StoreWith(kv), gluon.InJob(ctx))
	if err := errors.Join(err, net.Init(initializer.Xavier{}, gluon.Seed(1))); err != nil {
		return 0, err
	}
	batch := o.BatchSize // of the samples whose gradients a step adds up
	if kv.Sums() {
		batch *= kv.NumWorkers()
	}
	for epoch := range o.epochs {
		for b, err := range dataio.Epoch(ctx, train) {
			if err != nil {
				return 0, err
			}
			y, err := scores(net, autograd.Train(), b.Data[0], o.fields)
			if err != nil {
				return 0, err
			}
			loss.SigmoidBCE{}.Forward(y, b.Label[0]).Backward()
			if err := trainer.Step(batch); err != nil {
				return 0, err
			}
		}
		s, err := data.ScoreClicks(test, func(x *nd.Array) (*nd.Array, error) {
			return scores(net, autograd.Predict(), x, o.fields)
		})
		if err != nil {
			return 0, err
		}
		auc = s.AUC
		fmt.Printf("worker %d, epoch %d: validation AUC %.4f, accuracy %.4f\n", kv.Rank(), epoch,
			s.AUC, s.Accuracy)
	}
	return auc, nil
}
