package gluon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// A loop that continues where an earlier process was killed.
func ExampleTrainer() {
	dir, err := os.MkdirTemp("", "gluon")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := fit(context.Background(), filepath.Join(dir, "net")); err != nil {
		panic(err)
	}
	// Output: 24 steps, learning rate 0.01
}

func fit(ctx context.Context, prefix string) error {
	net := gluon.New(nn.Sequential{&nn.Dense{Units: 8, Activation: "relu"}, &nn.Dense{Units: 2}})
	if err := net.Init(initializer.Xavier{}); err != nil {
		return err
	}
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 0.01},
		gluon.ClipGlobalNorm(1))
	if err != nil {
		return err
	}
	x := nd.Uniform(-1, 1, nd.Shape{64, 3}, nd.Seed(1))
	label := x.Sum(1).Gt(nd.Zeros(nd.Shape{64}))
	loader := data.NewLoader(data.Arrays(x, label), 8, data.Shuffle(7))
	run, err := gluon.Resume(prefix, net.Params(), trainer, loader)
	if err != nil {
		return err
	}
	for loader.Epoch() < 3 {
		for batch, err := range loader.Batches(ctx) {
			if err != nil {
				return err
			}
			out := net.Forward(autograd.Train().Watch(batch.Data))
			loss.SoftmaxCE{}.Forward(out, batch.Label).Backward()
			if err := trainer.Step(batch.Size); err != nil {
				return err
			}
		}
		if err := run.Save(); err != nil {
			return err
		}
	}
	fmt.Printf("%d steps, learning rate %v\n", trainer.Steps(), trainer.LearningRate())
	return nil
}

// A table of 2^31 rows has memory for the rows that calls have looked up.
func ExampleParam_RowSparseData() {
	words := &nn.Embedding{Rows: 1 << 31, Units: 2, SparseWeight: true}
	net := gluon.New(nn.Sequential{words})
	if err := net.Init(initializer.Constant{Value: 0.5}); err != nil {
		panic(err)
	}
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 0.25})
	if err != nil {
		panic(err)
	}
	defer trainer.Close()
	ids := nd.FromSlice([]int64{7, 2_000_000_000})
	net.Forward(autograd.Train().Watch(ids)).Sum().Backward()
	if err := trainer.Step(1); err != nil {
		panic(err)
	}
	held, _ := words.Weight.Data().Indices()
	rows, err := words.Weight.RowSparseData(nd.FromSlice([]int64{7, 8}))
	if err != nil {
		panic(err)
	}
	values, _ := rows.Data()
	fmt.Println(held, values.Shape())
	fmt.Println(values.Float32s())
	// Output:
	// [7 2000000000] (2, 2)
	// [0.25 0.25 0.5 0.5] <nil>
}
