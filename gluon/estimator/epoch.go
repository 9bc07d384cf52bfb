package estimator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gomx/autograd"
	"gomx/checkpoint"
	"gomx/device"
	"gomx/gluon"
	"gomx/gluon/data"
	nd "gomx/ndarray"
	"gomx/training"
)

// place is the position of a run. It is part of the file of Resume.
type place struct {
	Epoch   int           // epochs that are complete
	Within  bool          // the next epoch has begun
	Batch   int           // batches of it so far
	Samples int           // samples of it so far
	Time    time.Duration // of it so far
	Done    int64         // batches of all epochs so far
	Saved   []int         // epochs of the checkpoints that KeepLast has not removed, from 1 on
}

// epoch trains on the data once, measures, saves and reports.
func (f *fitting) epoch() error {
	p := &f.place
	start := time.Now().Add(-p.Time)
	if !p.Within {
		f.metric.Reset()
	}
	f.log.Begin(p.Epoch)
	pending, since := group{}, 0
	for b, err := range f.train.Batches(f.ctx) {
		if err == nil {
			err = f.before()
		}
		if err == nil {
			err = recovering(func() error { return f.batch(b, &pending) })
		}
		if err == nil {
			f.log.Step.Number, f.log.Step.Rate = p.Done+1, f.trainer.LearningRate()
			err = f.log.Batch(p.Epoch, p.Batch, b.Size)
		}
		if err == nil {
			err = f.recorded()
		}
		if err != nil {
			return fmt.Errorf("batch %d: %w", p.Batch, err)
		}
		p.Within, p.Batch, p.Samples = true, p.Batch+1, p.Samples+b.Size
		p.Done++
		since++
		if pending.batches == 0 {
			if err := f.elastic.Commit(); err != nil {
				return err
			}
		}
		if n := f.config.save.batches; n > 0 && since >= n && pending.batches == 0 {
			since, p.Time = 0, time.Since(start)
			if err := f.log.Record.Flush(); err != nil {
				return err
			}
			if err := f.resumed.Save(); err != nil {
				return err
			}
		}
	}
	if p.Batch == 0 {
		return errors.New("the loader has no batches")
	}
	if err := f.step(&pending); err != nil {
		return err
	}
	end := &EpochEnd{Epoch: p.Epoch, Train: training.ScoresOf(f.metric.Value()),
		Samples: p.Samples, Batches: p.Batch, Time: time.Since(start)}
	return f.finish(end)
}

// group is a number of batches whose gradients have been added up.
type group struct {
	batches, samples int
	partial          bool // one of them had no samples for some devices
}

// batch computes the gradients of a batch, and changes the parameters if the group is complete.
func (f *fitting) batch(b *data.Batch, g *group) error {
	if err := f.config.loss.check(b); err != nil {
		return err
	}
	places, err := f.spread(b)
	if err != nil {
		return err
	}
	var outs, labels, losses []*nd.Array
	for _, p := range places {
		tape := autograd.Train()
		for i := range p.in {
			p.in[i] = tape.Watch(p.in[i])
		}
		y := f.net.Call(p.in...)
		l, err := f.config.loss.compute(f.loss, y, p.labels)
		if err != nil {
			return err
		}
		if err := f.guardLoss(l); err != nil {
			return err
		}
		f.trainer.ScaleLoss(l).Backward()
		for _, a := range y {
			outs = append(outs, a.Detach())
		}
		labels, losses = append(labels, p.labels...), append(losses, l.Detach())
	}
	if err := f.guardGradients(); err != nil {
		return err
	}
	g.batches, g.samples = g.batches+1, g.samples+b.Size
	g.partial = g.partial || len(places) < len(f.devices)
	if g.batches == f.config.trainer.every {
		if err := f.step(g); err != nil {
			return err
		}
	}
	return f.metric.update(labels, outs, losses)
}

// spread puts parts of a batch on the devices; a small batch is only on the first ones.
func (f *fitting) spread(b *data.Batch) ([]piece, error) {
	devices := f.devices[:min(len(f.devices), b.Size)]
	list := make([]piece, len(devices))
	for k, part := range b.Parts {
		parts := []*nd.Array{nil}
		if len(devices) > 1 {
			var err error
			if parts, err = gluon.SplitAndLoad(part[0], devices, 0, true); err != nil {
				return nil, fmt.Errorf("part %d of the samples: %w", k, err)
			}
		} else {
			parts[0] = on(part[0], devices[0])
		}
		for i, a := range parts {
			list[i].add(a, k < f.config.loss.inputs)
		}
	}
	return list, nil
}

// on returns an array on a device: itself, or a copy.
func on(a *nd.Array, d device.Device) *nd.Array {
	if a.Device() == d {
		return a
	}
	return a.To(d)
}

// step changes the parameters by the gradients of a group, and begins the next one.
func (f *fitting) step(g *group) error {
	if g.batches == 0 {
		return nil
	}
	var opts []gluon.StepOption
	if g.partial {
		opts = append(opts, gluon.IgnoreStale())
	}
	samples := g.samples
	if n := f.trainer.Workers(); n > 1 { // all of which divide by the same number
		samples = g.batches * f.train.BatchSize() * n
	}
	err := f.trainer.Step(samples, opts...)
	if err == nil && f.config.trainer.every > 1 {
		err = recovering(func() error { f.params.ZeroGrad(); return nil })
	}
	*g = group{}
	return err
}

// finish ends an epoch after its batches: it validates, saves, reports and calls the callbacks.
func (f *fitting) finish(end *EpochEnd) error {
	if v := f.config.validate; v != nil {
		s, err := f.config.loss.score(f.ctx, f.net, f.loss, v, f.config.validMetric)
		if err != nil {
			return fmt.Errorf("validation: %w", err)
		}
		end.Validation = s
	}
	f.log.Add(end)
	f.recordMatrix()
	if err := f.checkpoint(end.Epoch + 1); err != nil {
		return err
	}
	err := f.log.Epoch(end)
	if err != nil && !errors.Is(err, ErrStop) {
		return err
	}
	f.place = place{Epoch: end.Epoch + 1, Saved: f.place.Saved, Done: f.place.Done}
	if err := f.elastic.Commit(); err != nil {
		return err
	}
	if f.resumed != nil {
		if err := f.log.Record.Flush(); err != nil {
			return err
		}
		if err := f.resumed.Save(); err != nil {
			return err
		}
	}
	return err
}

// checkpoint saves the parameters after an epoch, counted from 1, if that is due.
func (f *fitting) checkpoint(epoch int) error {
	s := &f.config.save
	c := &s.checkpoints
	if f.trainer.Rank() > 0 || !c.Due(epoch, f.config.epochs) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Prefix), 0o777); err != nil {
		return err
	}
	if err := f.findSaved(); err != nil {
		return err
	}
	if err := f.net.Save(checkpoint.ParamsPath(c.Prefix, epoch)); err != nil {
		return err
	}
	if s.states {
		if err := f.trainer.SaveStates(checkpoint.StatesPath(c.Prefix, epoch)); err != nil {
			return err
		}
	}
	var err error
	f.place.Saved, err = c.Saved(f.place.Saved, epoch, func(n int) []string {
		return []string{checkpoint.ParamsPath(c.Prefix, n), checkpoint.StatesPath(c.Prefix, n)}
	})
	return err
}
