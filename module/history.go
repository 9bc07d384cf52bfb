package module

import (
	"context"
	"errors"
	"fmt"

	"gomx/dtype"
	"gomx/kvstore"
	"gomx/metric"
	"gomx/runs"
	"gomx/trainer"
	"gomx/training"
)

// The results of Fit and Score, and the arguments of callbacks.
type (
	// Score is one measurement: Name string, Value float64.
	Score = training.Score
	// Scores are the measurements of a metric.
	Scores = training.Scores
	// History holds the scores that Fit has measured, for curves.
	//
	//   - Batches []BatchScore: scores of stretches of batches, if Sample asks for them
	//   - Epochs []EpochEnd: scores of epochs
	//
	// Its method Curves returns one Curve for each score.
	History = training.History
	// BatchScore are the scores of a stretch of batches.
	//
	//   - Epoch, Batch int: numbers of the epoch and of the last batch, from 0
	//   - Scores Scores
	BatchScore = training.BatchScore
	// BatchEnd is the argument of the callbacks that run after a batch.
	//
	//   - Epoch, Batch int: numbers of the epoch and of the batch within it, from 0
	//   - Samples int: number of samples of the batch
	//   - Window func() Scores: scores since Window was called last
	//   - Scores func() Scores: scores since the epoch began
	BatchEnd = training.BatchEnd
	// EpochEnd is the argument of the callbacks that run after an epoch.
	//
	//   - Epoch int: number of the epoch, from 0
	//   - Train, Validation Scores: Validation is nil without validation data
	//   - Samples, Batches int: numbers of samples and batches of the epoch
	//   - Time time.Duration: time of the epoch
	EpochEnd = training.EpochEnd
	// Curve is one quantity as it was measured over the epochs.
	//
	//   - Name string: training or validation
	//   - Quantity string: name of the score, such as accuracy
	//   - X, Y []float64: epochs and values
	Curve = training.Curve
)

// History returns the scores that the calls of Fit have measured so far.
func (m *Module) History() *History { return &m.history }

// Record records the training in a folder such as runs/lenet, which gomx board shows: the scores,
// the speed, the memory and the learning rate of every batch, the scores of epochs, the network's
// graph and the plan of its memory, the trace of one step, the events of a job, and a confusion
// matrix if a metric is or has one (metric.ConfusionMatrix). Options of package runs add
// histograms, files for TensorBoard, and hyper-parameters.
//
// A run that is continued, by Resume, snapshots or a process that takes the place of a dead one,
// continues its file. In a job each worker writes a file of its own into the folder. An error of the
// disk ends the recording, and Fit returns it at its end.
func Record(dir string, opts ...runs.Option) FitOption {
	return func(c *fitConfig) {
		c.want(dir != "", "Record with an empty folder, want one such as runs/lenet")
		c.record = trainer.Recording{Dir: dir, Options: opts}
	}
}

// RecordTo is Record for a run that the program has opened, to which it may add curves, events and
// samples of its own. Fit does not close it.
func RecordTo(r *runs.Run) FitOption {
	return func(c *fitConfig) {
		c.want(r != nil, "RecordTo(nil), want an open run")
		c.record = trainer.Recording{Run: r}
	}
}

// openRecord begins to record, after the run has been restored.
func openRecord(ctx context.Context, f *fitting) error {
	c, m := &f.config, f.m
	rec, err := c.record.Open(trainer.Place{Rank: f.share.rank, Job: kvstore.JobOf(ctx),
		Step:    int64(m.replicas.stream.steps) + int64(f.share.resumed),
		Devices: m.config.places()})
	if err != nil || rec == nil {
		return err
	}
	f.log.Record = rec
	batch := batchSizeOf(m)
	hyper := map[string]any{"batch size": batch, "epochs": c.epochs, "seed": m.config.seed,
		"optimizer": m.trainer.Updater().Optimizer().Name(), "learning rate": m.trainer.Updater().LR(),
		"devices": len(m.config.places())}
	if s := m.trainer.Store(); s != nil {
		hyper["store"], hyper["workers"] = s.KV().Name(), s.KV().NumWorkers()
	}
	if m.pipe != nil {
		rec.Run().Hyper(hyper)
		return nil
	}
	ex, shapes := m.replicas.current.first(), map[string]dtype.Shape{}
	for _, fed := range m.net.fed {
		if a := ex.Args[fed.name]; a != nil {
			shapes[fed.name] = a.Shape()
		}
	}
	// A network that cannot be described is no reason not to train it.
	_ = rec.Network(m.net.symbol, shapes)
	if plan, err := ex.MemoryPlan(true); err == nil {
		rec.Memory(plan)
	}
	rec.Run().Hyper(hyper)
	return nil
}

// recorded completes the record of a batch: its trace and its histograms.
func recorded(ctx context.Context, f *fitting) error {
	rec, step := f.log.Record, f.log.Step.Number
	if rec == nil {
		return nil
	}
	if err := rec.After(ctx, step); err != nil || !rec.HistogramsDue(step) {
		return err
	}
	grads := gradientsOf(f.m).Firsts()
	for _, p := range f.m.trainer.Params() {
		if err := rec.Array("parameter/"+p.Name, step, p.Weights[0]); err != nil {
			return err
		}
		if err := rec.Array("gradient/"+p.Name, step, grads[p.Name]); err != nil {
			return err
		}
	}
	rec.Begin() // histograms take no time of the next step
	return nil
}

// recordMatrix records the confusion matrix of an epoch, if there is one.
func recordMatrix(f *fitting) {
	for _, m := range []metric.Metric{f.config.validMetric, f.config.metric} {
		if c := metric.FindConfusion(m); c != nil {
			f.log.Record.Matrix(f.log.Step.Number, c.Matrix())
			return
		}
	}
}

// closeRecord ends the recording.
func closeRecord(f *fitting, err error) error {
	if e := f.log.Record.Close(err != nil); e != nil {
		err = errors.Join(err, fmt.Errorf("module: Record: %w", e))
	}
	return err
}
