package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unsafe"

	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/launch"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// PlatformCommand is the hidden command of gomx that runs RunPlatform.
const PlatformCommand = "bench-platform"

// RunPlatform runs a process of a job of the suite platforms, in the role that its environment
// gives. Workers train with module.Fit and write their figures to out.
func RunPlatform(ctx context.Context, plan string, out io.Writer) error {
	var p platformPlan
	if err := json.Unmarshal([]byte(plan), &p); err != nil {
		return fmt.Errorf("bench: plan %q: %w", plan, err)
	}
	return launch.Run(ctx, func(ctx context.Context) error {
		job := kvstore.JobOf(ctx)
		if job == nil {
			return errors.New("bench: found no job in the environment, want a process started by " +
				"gomx bench platforms")
		}
		w := &platformWorker{plan: &p, out: out}
		return w.train(ctx, job.Rank())
	})
}

// platformWorker is a worker of gomx.
type platformWorker struct {
	plan   *platformPlan
	out    io.Writer
	mod    *module.Module
	store  *kvstore.KV
	labels []float32
	step   int
	start  time.Time
}

// errMeasured ends Fit after the last measured step.
var errMeasured = errors.New("measured")

// train trains for the steps of the plan.
func (w *platformWorker) train(ctx context.Context, rank int) (err error) {
	p := w.plan
	it, err := w.data(rank)
	if err != nil {
		return err
	}
	w.mod = module.New(p.symbol())
	params := map[string]*nd.Array{}
	for i, l := range p.layers() {
		weights := make([]float32, l[0]*l[1])
		p.weights(i, weights)
		params[fmt.Sprintf("fc%d_weight", i)] = nd.FromSlice(weights, l[1], l[0])
		params[fmt.Sprintf("fc%d_bias", i)] = nd.Zeros(nd.Shape{l[1]})
	}
	if err := w.mod.SetParams(params, nil); err != nil {
		return err
	}
	name := "dist_sync"
	if p.Async {
		name = "dist_async"
	}
	if w.store, err = kvstore.Open(ctx, name); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.store.Close()) }()
	epochs := 1 + (p.Warm+1+p.Steps)/it.Batches()
	err = w.mod.Fit(ctx, it, module.Epochs(epochs), module.Optimize(optimizer.SGD{LR: p.Rate}),
		module.StoreWith(w.store), module.Metric(unmeasured{}), module.Sample(0),
		module.OnBatch(func(*module.BatchEnd) error { return w.batch(ctx) }))
	if errors.Is(err, errMeasured) {
		err = nil
	}
	return err
}

// data makes the worker's samples and an iterator over them in order.
func (w *platformWorker) data(rank int) (*dataio.Table, error) {
	p := w.plan
	n := p.share()
	x, y := nd.Empty(nd.Shape{n, p.Features}), nd.Empty(nd.Shape{n})
	w.labels = unsafe.Slice((*float32)(y.Pointer()), n)
	p.part(rank, unsafe.Slice((*float32)(x.Pointer()), n*p.Features), w.labels)
	if p.Outputs == 1 {
		y = y.Reshape(n, 1)
	}
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{x}, Label: []*nd.Array{y},
		BatchSize: p.batch(), LastBatch: dataio.Discard})
	if err != nil {
		return nil, err
	}
	return it, it.Shard(0, 1) // the samples are this worker's part already
}

// batch is called by Fit after each batch has been started.
func (w *platformWorker) batch(ctx context.Context) error {
	p := w.plan
	w.step++
	switch w.step {
	case p.Warm + 1:
		if err := w.check(); err != nil {
			return err
		}
		if err := w.mod.Wait(ctx); err != nil {
			return err
		}
		if err := w.store.Barrier(ctx); err != nil {
			return err
		}
		fmt.Fprintln(w.out, "begin")
		w.start = time.Now()
	case p.Warm + 1 + p.Steps:
		if err := w.mod.Wait(ctx); err != nil {
			return err
		}
		fmt.Fprintf(w.out, "end\t%g\t%d\n", time.Since(w.start).Seconds(), p.Steps*p.batch())
		if err := w.store.Barrier(ctx); err != nil {
			return err
		}
		return errMeasured
	}
	return nil
}

// check writes loss and accuracy of the last batch.
func (w *platformWorker) check() error {
	probs, err := w.mod.Outputs()[0].Float32s()
	if err != nil {
		return err
	}
	batch := w.plan.batch()
	first := (w.step - 1) % (w.plan.share() / batch) * batch
	loss, accuracy := w.plan.loss(probs, w.labels[first:first+batch])
	_, err = fmt.Fprintf(w.out, "check\t%g\t%g\n", loss, accuracy)
	return err
}

// unmeasured is a metric that measures nothing, because the loops in the peers' scripts have none.
type unmeasured struct{}

func (unmeasured) Update(_, _ []*nd.Array) error { return nil }
func (unmeasured) Value() ([]string, []float64)  { return nil, nil }
func (unmeasured) Reset()                        {}
