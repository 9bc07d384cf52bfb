// Ssp trains a classifier whose weights are a table on servers, with bounded staleness (Ho et al.,
// More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server, 2013): a worker
// adds its changes and goes on, unless it is more than some clocks ahead of the slowest one. The
// program starts itself as a job of three workers and two servers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	images "gomx/examples/data"
	"gomx/kvstore"
	"gomx/launch"
	"gomx/metric"
	nd "gomx/ndarray"
)

const (
	pixels, classes = 64, 10
	batch           = 32   // images of a clock
	least           = 0.85 // share of test images that must be classified correctly
)

func main() {
	staleness := flag.Int("staleness", 3, "clocks that a worker may be ahead of the slowest one")
	clocks := flag.Int("clocks", 300, "clocks of each worker")
	flag.Parse()
	launch.Main(func(ctx context.Context) error {
		if kvstore.JobOf(ctx) == nil {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			return launch.Local{Program: append([]string{self}, os.Args[1:]...), Workers: 3,
				Servers: 2, Threads: 1, Stdout: os.Stdout, Stderr: os.Stderr}.Run(ctx)
		}
		accuracy, err := run(ctx, *staleness, *clocks)
		if err == nil && accuracy < least {
			err = fmt.Errorf("accuracy %.4f, want at least %v", accuracy, least)
		}
		return err
	})
}

// worker has a share of the images and the table.
type worker struct {
	kv    *kvstore.KV
	table *kvstore.Table // a row of weights for each pixel
	rows  []int          // all rows of the table
	r     *rand.Rand
	x, y  *nd.Array // the images and their classes
}

// weights reads the table: the rows lack at most the changes of the last clocks of others.
func (w *worker) weights(ctx context.Context) (*nd.Array, error) {
	v, err := w.table.BatchGet(ctx, w.rows)
	if err != nil {
		return nil, err
	}
	return nd.FromSlice(v, pixels, classes), nil
}

// clock adds the change by one batch of images to the table.
func (w *worker) clock(ctx context.Context, lr float64) error {
	ids := make([]float32, batch)
	for i := range ids {
		ids[i] = float32(w.r.IntN(w.y.Size()))
	}
	which := nd.FromSlice(ids)
	x, y := w.x.Take(which, 0), w.y.Take(which, 0)
	weights, err := w.weights(ctx)
	if err != nil {
		return err
	}
	miss := y.OneHot(classes).Sub(x.Dot(weights).Softmax())
	change, err := x.T().Dot(miss).MulScalar(lr / batch).Float32s()
	if err != nil {
		return err
	}
	return errors.Join(w.table.BatchInc(w.rows, change), w.kv.Clock(ctx))
}

// run trains with one batch for each clock. It returns the share of test images that are classified
// correctly by the weights of the table.
func run(ctx context.Context, staleness, clocks int) (float64, error) {
	train, test, err := images.Digits().Arrays()
	if err != nil {
		return 0, err
	}
	kv, err := kvstore.Open(ctx, "dist_ssp", kvstore.Staleness(staleness))
	if err != nil {
		return 0, err
	}
	defer kv.Close()
	share := train[1].Size() / kv.NumWorkers()
	begin := kv.Rank() * share
	w := &worker{kv: kv, r: rand.New(rand.NewPCG(1, uint64(kv.Rank()))),
		x: train[0].Slice(begin, begin+share).Reshape(share, -1),
		y: train[1].Slice(begin, begin+share)}
	if w.table, err = kv.Table(ctx, "weights", nd.Shape{pixels, classes}); err != nil {
		return 0, err
	}
	for i := range pixels {
		w.rows = append(w.rows, i)
	}
	for range clocks {
		if err := w.clock(ctx, 0.5); err != nil {
			return 0, err
		}
		time.Sleep(time.Duration(w.r.IntN(4)) * time.Millisecond) // a step may take longer
	}
	for range staleness { // afterwards a read sees all changes of all workers
		if err := kv.Clock(ctx); err != nil {
			return 0, err
		}
	}
	weights, err := w.weights(ctx)
	if err != nil {
		return 0, err
	}
	accuracy := metric.Accuracy()
	scores := test[0].Reshape(test[1].Size(), -1).Dot(weights)
	if err := accuracy.Update(test[1:], []*nd.Array{scores}); err != nil {
		return 0, err
	}
	_, values := accuracy.Value()
	fmt.Printf("worker %d: accuracy %.4f after %d clocks\n", kv.Rank(), values[0], clocks)
	return values[0], nil
}
