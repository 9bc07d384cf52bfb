package estimator

import (
	"context"
	"errors"
	"fmt"

	"gomx/device"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
	"gomx/training"
)

// Loss computes the loss of each sample from predictions and labels, as those of package loss do.
type Loss interface {
	Forward(pred, label *nd.Array, opts ...loss.Option) *nd.Array
}

// Fit trains a network on the batches of a loader. In each batch it computes outputs, losses and
// gradients, lets the optimizer change the parameters, and updates the metric, which waits for the
// outputs. It returns the history of the run also beside an error. Errors name epoch and batch; ctx
// ends training between two batches.
func Fit(ctx context.Context, net *gluon.Net, criterion Loss, train *data.Loader,
	opts ...Option) (h *training.History, err error) {
	f := &fitting{ctx: ctx, net: net, loss: criterion, train: train,
		config: config{epochs: 1, sample: 50, trainer: trainerConfig{every: 1},
			loss: lossConfig{inputs: 1}}}
	for _, o := range opts {
		o(&f.config)
	}
	if err := f.run(); err != nil {
		return &f.history, fmt.Errorf("estimator: Fit: %w", err)
	}
	return &f.history, nil
}

// fitting is one call of Fit.
type fitting struct {
	ctx     context.Context
	net     *gluon.Net
	loss    Loss
	train   *data.Loader
	config  config
	params  *gluon.Params
	devices []device.Device
	trainer *gluon.Trainer
	metric  *measures
	log     training.Log
	history training.History
	place   place
	drawn   bool       // the network's graph has been recorded
	resumed *gluon.Run // nil: without Resume
	elastic elastic
}

// run trains from the beginning to the end.
func (f *fitting) run() (err error) {
	if err := f.check(); err != nil {
		return err
	}
	f.params = f.net.Params()
	if err := f.initialize(); err != nil {
		return err
	}
	restore := f.accumulate()
	defer restore()
	defer f.guardBlocks()()
	if err := f.makeTrainer(); err != nil {
		return err
	}
	if f.config.trainer.given == nil {
		defer func() { err = errors.Join(err, f.trainer.Close()) }()
	}
	f.begin()
	if err := f.join(); err != nil {
		return err
	}
	if err := f.takeUp(); err != nil {
		return err
	}
	f.report()
	if err := f.openRecord(); err != nil {
		return err
	}
	defer func() { err = f.closeRecord(err) }()
	return f.survive(f.epochs)
}

// epochs trains from the present place on to the end.
func (f *fitting) epochs() error {
	for f.place.Epoch < f.config.epochs {
		done, err := f.stopped()
		if err != nil || done {
			return err
		}
		if err := f.epoch(); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return fmt.Errorf("epoch %d: %w", f.place.Epoch, err)
		}
	}
	return nil
}

// check reports arguments and options that make no sense.
func (f *fitting) check() error {
	c := &f.config
	switch {
	case f.ctx == nil:
		return errors.New("the context is nil")
	case f.net == nil:
		return errors.New("the network is nil")
	case f.loss == nil && c.loss.of == nil && c.misuse == "":
		return errors.New("the loss is nil")
	case f.loss != nil && c.loss.of != nil:
		return errors.New("LossOf with a loss, want nil in its place")
	case f.train == nil:
		return errors.New("the loader is nil")
	case c.misuse != "":
		return errors.New(c.misuse)
	case c.trainer.given != nil && (c.trainer.optimizer != nil || len(c.trainer.options) > 0):
		return errors.New("UseTrainer with Optimize or Trainer, which are for a new trainer")
	case c.save.batches > 0 && c.save.resume == "":
		return errors.New("EveryBatches without Resume, which it belongs to")
	}
	if err := f.train.Err(); err != nil {
		return err
	}
	if c.validate != nil {
		if err := c.validate.Err(); err != nil {
			return fmt.Errorf("validation data: %w", err)
		}
	}
	if c.metric == nil {
		c.metric = metric.Accuracy()
	}
	if c.validMetric == nil {
		c.validMetric = c.metric
	}
	f.metric = newMeasures(c.metric)
	return nil
}

// initialize gives the parameters initial values, unless the program has done so.
func (f *fitting) initialize() error {
	if f.devices = f.params.Devices(); len(f.devices) > 0 {
		return nil
	}
	i := &f.config.init
	if err := f.params.Init(i.init, i.options...); err != nil {
		return err
	}
	f.devices = f.params.Devices()
	return nil
}

// accumulate lets gradients add up, if steps are for several batches. The result undoes that.
func (f *fitting) accumulate() (restore func()) {
	if f.config.trainer.every == 1 {
		return func() {}
	}
	before := map[*gluon.Param]nd.GradReq{}
	for _, p := range f.params.All() {
		if _, seen := before[p]; !seen && p.GradReq != nd.GradNull {
			before[p] = p.GradReq
			p.SetGradReq(nd.GradAdd)
		}
	}
	return func() {
		for p, req := range before {
			p.SetGradReq(req)
		}
	}
}

// makeTrainer makes the trainer, unless the program has.
func (f *fitting) makeTrainer() (err error) {
	c := &f.config.trainer
	if f.trainer = c.given; f.trainer == nil {
		if c.optimizer == nil {
			c.optimizer = optimizer.SGD{}
		}
		f.trainer, err = gluon.NewTrainer(f.params, c.optimizer,
			append([]gluon.TrainerOption{gluon.InJob(f.ctx)}, c.options...)...)
	}
	if err == nil && f.config.stop != nil && f.trainer.Workers() > 1 {
		err = errors.New("StopEarly in a job, whose workers have different scores")
	}
	return err
}

// begin sets the loader to the first epoch.
func (f *fitting) begin() {
	if n := f.config.begin; n > 0 {
		f.place.Epoch = n
		f.train.SetEpoch(n)
	}
}

// report makes the log.
func (f *fitting) report() {
	c := &f.config
	f.log = training.Log{Metric: f.metric, History: &f.history, Every: c.sample,
		OnBatch: c.onBatch, OnEpoch: c.onEpoch}
	for _, r := range c.report {
		f.log.Report(r(f.train.Len()))
	}
}

// stopped reports whether the history ends the run.
func (f *fitting) stopped() (bool, error) {
	if f.config.stop == nil || len(f.history.Epochs) == 0 || f.place.Within {
		return false, nil
	}
	return f.config.stop.Reached(&f.history)
}

// recovering turns a panic of the network into an error.
func recovering(f func() error) (err error) {
	defer op.Recover(&err)
	return f()
}
