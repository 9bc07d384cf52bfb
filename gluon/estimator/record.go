package estimator

import (
	"errors"
	"fmt"

	"gomx/gluon"
	"gomx/kvstore"
	"gomx/metric"
	"gomx/trainer"
)

// openRecord begins to record, after the run has been restored.
func (f *fitting) openRecord() (err error) {
	c := &f.config
	f.log.Record, err = c.save.record.Open(trainer.Place{Step: f.place.Done, Rank: f.rank(),
		Job: kvstore.JobOf(f.ctx), Devices: f.devices})
	if f.log.Record == nil {
		return err
	}
	f.log.Record.Run().Hyper(map[string]any{"batch size": f.train.BatchSize(), "epochs": c.epochs,
		"trainer": f.trainer.String(), "learning rate": f.trainer.LearningRate(),
		"devices": len(f.devices), "workers": f.trainer.Workers()})
	return nil
}

// before prepares the record of the next batch.
func (f *fitting) before() error { return f.log.Record.Before(f.ctx, f.place.Done+1) }

// recorded completes the record of a batch: its trace, its histograms and, once, the network's
// graph with the plan of its memory.
func (f *fitting) recorded() error {
	rec, step := f.log.Record, f.log.Step.Number
	if rec == nil {
		return nil
	}
	if !f.drawn {
		f.drawn = true
		gluon.RecordNet(rec, f.net)
	}
	if err := rec.After(f.ctx, step); err != nil || !rec.HistogramsDue(step) {
		return err
	}
	for name, p := range f.params.All() {
		if err := rec.Array("parameter/"+name, step, p.Data()); err != nil {
			return err
		}
		if err := rec.Array("gradient/"+name, step, p.Grad()); err != nil {
			return err
		}
	}
	rec.Begin() // histograms take no time of the next step
	return nil
}

// recordMatrix records the confusion matrix of an epoch, if there is one.
func (f *fitting) recordMatrix() {
	for _, m := range []metric.Metric{f.config.validMetric, f.config.metric} {
		if c := metric.FindConfusion(m); c != nil {
			f.log.Record.Matrix(f.log.Step.Number, c.Matrix())
			return
		}
	}
}

// closeRecord ends the recording.
func (f *fitting) closeRecord(err error) error {
	if e := f.log.Record.Close(err != nil); e != nil {
		err = errors.Join(err, fmt.Errorf("Record: %w", e))
	}
	return err
}
