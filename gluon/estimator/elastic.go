package estimator

import (
	"errors"

	"gomx/checkpoint"
	"gomx/gluon"
	dataio "gomx/io"
	"gomx/kvstore"
)

// elastic is the part of Fit in a job whose workers come and go.
type elastic struct {
	*gluon.Elastic
	measured bool // its states have the metric, or no step is taken back
}

// join gives this worker of a job its share of the data, unless the loader has one, and takes part
// in the group of a job whose workers come and go.
func (f *fitting) join() (err error) {
	states := []dataio.Stateful{gluon.Keep(&f.place)}
	if f.config.validate != nil {
		states = append(states, f.config.validate)
	}
	job := kvstore.JobOf(f.ctx)
	if job != nil && job.Config().Servers > 0 {
		f.elastic.measured = true
	} else if _, err := f.metric.State(); err == nil {
		states, f.elastic.measured = append(states, f.metric), true
	}
	if job != nil {
		if err := f.findShapes(); err != nil {
			return err
		}
	}
	f.elastic.Elastic, err = gluon.NewElastic(f.trainer, f.train, states...)
	f.count()
	return err
}

// count counts the batches before the present place if it does not say how many they are.
func (f *fitting) count() {
	if p := &f.place; p.Done == 0 {
		p.Done = int64(p.Epoch)*int64(f.train.Len()) + int64(p.Batch)
	}
}

// findShapes gives parameters whose shapes follow from the data their values, in a job: a worker that
// comes into it later takes the values of the others before its first batch.
func (f *fitting) findShapes() error {
	known := true
	for _, p := range f.params.All() {
		known = known && p.All() != nil
	}
	if known {
		return nil
	}
	at, err := f.train.State()
	if err != nil {
		return err
	}
	for b, err := range f.train.Batches(f.ctx) {
		if err != nil {
			return err
		}
		places, err := f.spread(b)
		if err != nil {
			return err
		}
		if err := recovering(func() error { f.net.Call(places[0].in...); return nil }); err != nil {
			return err
		}
		break
	}
	return f.train.SetState(at)
}

// survive trains to the end of a job whose workers may become fewer and more meanwhile.
func (f *fitting) survive(train func() error) error {
	for {
		err := train()
		if err == nil {
			err = f.elastic.Settle()
		}
		if !f.elastic.Survives() || !errors.Is(err, gluon.ErrRegrouped) {
			return err
		}
		if err := f.elastic.Recover(); err != nil {
			return err
		}
		if !f.elastic.measured {
			f.metric.Reset()
		}
		f.history.Forget(f.place.Epoch, f.place.Batch)
	}
}

// rank returns the number of this worker in its job.
func (f *fitting) rank() int {
	if job := kvstore.JobOf(f.ctx); job != nil {
		return job.Rank()
	}
	return f.trainer.Rank()
}

// findSaved finds the checkpoints of the worker that has saved until now, in the first of the
// workers that are left.
func (f *fitting) findSaved() (err error) {
	if f.elastic.Survives() && f.place.Saved == nil && f.rank() > 0 {
		f.place.Saved, err = checkpoint.Epochs(f.config.save.checkpoints.Prefix)
	}
	return err
}
