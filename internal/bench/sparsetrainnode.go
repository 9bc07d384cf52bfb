package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/launch"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// SparseTrainCommand is the hidden command of gomx that runs RunSparseTrain.
const SparseTrainCommand = "bench-sparse-train"

// RunSparseTrain runs a process of a job of the suite sparse-train, in the role that its environment
// gives. Workers train with module.Fit and write their figures to out.
func RunSparseTrain(ctx context.Context, plan string, out io.Writer) error {
	w := &sparseWorker{out: out}
	if err := json.Unmarshal([]byte(plan), &w.plan); err != nil {
		return fmt.Errorf("bench: plan %q: %w", plan, err)
	}
	return launch.Run(ctx, func(ctx context.Context) error {
		job := kvstore.JobOf(ctx)
		if job == nil {
			return errors.New("bench: found no job in the environment, want a process started by " +
				"gomx bench sparse-train")
		}
		return w.train(ctx, job.Rank())
	})
}

// symbol returns the network: MXNet's examples of linear classification and of a factorization
// machine.
func (p *sparsePlan) symbol() *sym.Symbol {
	stored := sym.StorageType(sym.StorageRowSparse)
	dot := func(a, b *sym.Symbol) *sym.Symbol { return sym.Dot(a, b, sym.DotParams{}) }
	x := sym.Var("data", sym.StorageType(sym.StorageCSR))
	y := sym.BroadcastAdd(dot(x, sym.Var("w_weight", sym.Shape(p.Features, 1), stored)),
		sym.Var("bias", sym.Shape(1, 1)))
	if p.Model == "fm" {
		v := sym.Var("v_weight", sym.Shape(p.Features, p.Rank), stored)
		rows := sym.ReduceParams{Axis: []int{1}, KeepDims: true}
		squares := dot(sym.Square(x), sym.SquareSum(v, sym.SquareSumParams(rows)))
		pairs := sym.ElemwiseSub(sym.Sum(sym.Square(dot(x, v)), rows), squares)
		y = sym.ElemwiseAdd(y, sym.MulScalar(pairs, sym.ScalarParams{Scalar: 0.5}))
	}
	return sym.LogisticRegressionOutput(y, sym.RegressionParams{}, sym.Name("softmax"))
}

// sparseWorker is a worker of gomx.
type sparseWorker struct {
	plan  sparsePlan
	out   io.Writer
	mod   *module.Module
	store *kvstore.KV
	step  int
	start time.Time
	label *nd.Array // of the present batch
}

// train trains for the steps of the plan.
func (w *sparseWorker) train(ctx context.Context, rank int) (err error) {
	p := &w.plan
	lines, err := dataio.LibSVMIter(dataio.LibSVMConfig{TextConfig: dataio.TextConfig{
		Data: p.file(rank), DataShape: nd.Shape{p.Features}, BatchSize: p.Batch, Threads: 1}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lines.Close()) }()
	if err := lines.Shard(0, 1); err != nil { // the file is this worker's part already
		return err
	}
	it, err := dataio.Prefetch(lines, 2)
	if err != nil {
		return err
	}
	defer it.Close()
	if w.store, err = kvstore.Open(ctx, p.Store); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.store.Close()) }()
	w.mod = module.New(p.symbol())
	err = w.mod.Fit(ctx, it, module.Epochs(1+(p.Warm+p.Steps)*p.Batch/sparseTrainSamples),
		module.Optimize(optimizer.SGD{LR: p.Rate}), module.StoreWith(w.store),
		module.Init(initializer.Constant{Value: 0.01}), module.Metric(&labelKeeper{w}), module.Sample(0),
		module.OnBatch(func(*module.BatchEnd) error { return w.batch(ctx) }))
	if errors.Is(err, errMeasured) {
		err = nil
	}
	return err
}

// labelKeeper is a metric that keeps the labels of a batch and measures nothing.
type labelKeeper struct{ w *sparseWorker }

func (l *labelKeeper) Update(labels, _ []*nd.Array) error {
	l.w.label = labels[0]
	return nil
}
func (*labelKeeper) Value() ([]string, []float64) { return nil, nil }
func (*labelKeeper) Reset()                       {}

// batch is called by Fit after each batch has been started.
func (w *sparseWorker) batch(ctx context.Context) error {
	p := &w.plan
	w.step++
	switch w.step {
	case p.Warm:
		loss, err := w.loss()
		if err != nil {
			return err
		}
		if err := w.mod.Wait(ctx); err != nil {
			return err
		}
		if err := w.store.Barrier(ctx); err != nil {
			return err
		}
		fmt.Fprintf(w.out, "check\t%g\t0\nbegin\n", loss)
		w.start = time.Now()
	case p.Warm + p.Steps:
		if err := w.mod.Wait(ctx); err != nil {
			return err
		}
		fmt.Fprintf(w.out, "end\t%g\t%d\n", time.Since(w.start).Seconds(), p.Steps*p.Batch)
		if err := w.store.Barrier(ctx); err != nil {
			return err
		}
		return errMeasured
	}
	return nil
}

// loss returns the mean loss of the last batch.
func (w *sparseWorker) loss() (loss float64, err error) {
	probs, err := w.mod.Outputs()[0].Float32s()
	if err != nil {
		return 0, err
	}
	label, err := w.label.Float32s()
	if err != nil {
		return 0, err
	}
	for i, q := range probs {
		if label[i] < 0.5 {
			q = 1 - q
		}
		loss -= math.Log(float64(q)) / float64(len(probs))
	}
	return loss, nil
}
