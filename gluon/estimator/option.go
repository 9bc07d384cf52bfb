package estimator

import (
	"errors"
	"fmt"
	"io"

	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/initializer"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
	"gomx/runs"
	"gomx/trainer"
	"gomx/training"
)

// Option configures Fit.
type Option func(*config)

// The arguments of callbacks and of StopEarly.
type (
	// BatchEnd is the argument of OnBatch.
	//
	//   - Epoch, Batch int: numbers of the epoch and of the batch within it, from 0
	//   - Samples int: number of samples of the batch
	//   - Window func() Scores: scores since Window was called last
	//   - Scores func() Scores: scores since the epoch began
	BatchEnd = training.BatchEnd
	// EpochEnd is the argument of OnEpoch.
	//
	//   - Epoch int: number of the epoch, from 0
	//   - Train, Validation Scores: Validation is nil without validation data
	//   - Samples, Batches int: numbers of samples and batches of the epoch
	//   - Time time.Duration: time of the epoch
	EpochEnd = training.EpochEnd
	// EarlyStop is the rule of StopEarly.
	//
	//   - Score string: name of the score, such as accuracy or loss
	//   - Smaller bool: smaller values are better
	//   - MinDelta float64: least difference between a better value and the best one before
	//   - Epochs int: number of epochs without a better value that ends the run; 0 is 1
	EarlyStop = training.EarlyStop
)

// ErrStop is an error by which functions of OnBatch and OnEpoch end training as if it were complete:
// Fit returns no error. The epoch of a batch that ends training has no end and no checkpoint.
var ErrStop = errors.New("estimator: training ends")

// trainerConfig says how parameters are changed.
type trainerConfig struct {
	optimizer optimizer.Optimizer
	options   []gluon.TrainerOption
	given     *gluon.Trainer // nil: Fit makes one
	every     int            // batches whose gradients are added up
	guard     bool           // look for values that are not finite
}

// lossConfig says how losses follow from batches.
type lossConfig struct {
	inputs int                                      // parts of samples that are arguments
	of     func(outs, labels []*nd.Array) *nd.Array // nil: the criterion
}

// initConfig says how parameters get their first values.
type initConfig struct {
	init    initializer.Initializer
	options []gluon.InitOption
}

// saveConfig says when files are written.
type saveConfig struct {
	checkpoints training.Checkpoints
	states      bool
	resume      string // prefix; empty: none
	batches     int    // of EveryBatches
	record      trainer.Recording
}

type config struct {
	epochs, begin int
	trainer       trainerConfig
	init          initConfig
	loss          lossConfig
	save          saveConfig
	validate      *data.Loader
	metric        metric.Metric
	validMetric   metric.Metric
	report        []func(batches int) training.Reporter
	sample        int
	onBatch       []func(*BatchEnd) error
	onEpoch       []func(*EpochEnd) error
	stop          *EarlyStop
	misuse        string // the first option that makes no sense; empty: none
}

// want notes an option that makes no sense.
func (c *config) want(ok bool, format string, args ...any) {
	if !ok && c.misuse == "" {
		c.misuse = fmt.Sprintf(format, args...)
	}
}

// Epochs says how many times to go through the data; the default is 1. A run that is resumed has
// had some of them.
func Epochs(n int) Option {
	return func(c *config) {
		c.want(n >= 0, "Epochs(%d), want 0 or more", n)
		c.epochs = n
	}
}

// BeginEpoch continues a run at an epoch, counted from 0. The loader reads this epoch first.
func BeginEpoch(n int) Option {
	return func(c *config) {
		c.want(n >= 0, "BeginEpoch(%d), want 0 or more", n)
		c.begin = n
	}
}

// Optimize chooses the optimizer; the default is SGD with learning rate 0.01.
func Optimize(o optimizer.Optimizer) Option {
	return func(c *config) {
		c.want(o != nil, "Optimize(nil), want an optimizer; without the option it is SGD")
		c.trainer.optimizer = o
	}
}

// Trainer gives options to the gluon.Trainer that Fit makes: gluon.Store and gluon.StoreWith,
// gluon.Compress, gluon.ClipGlobalNorm, gluon.LossScale and others. Fit gives it its context as
// gluon.InJob does.
func Trainer(opts ...gluon.TrainerOption) Option {
	return func(c *config) { c.trainer.options = append(c.trainer.options, opts...) }
}

// UseTrainer trains with a trainer of the program, in place of Optimize and Trainer. Fit does not
// close it.
func UseTrainer(t *gluon.Trainer) Option {
	return func(c *config) {
		c.want(t != nil, "UseTrainer(nil), want a trainer")
		c.trainer.given = t
	}
}

// Accumulate adds up the gradients of n batches before each step, which divides them by the samples
// of all of them. The batches that are left at the end of an epoch make a step, too.
func Accumulate(n int) Option {
	return func(c *config) {
		c.want(n > 0, "Accumulate(%d), want a positive number", n)
		c.trainer.every = n
	}
}

// Init gives parameters their first values, if Init or Load of the network has not been called.
func Init(i initializer.Initializer, opts ...gluon.InitOption) Option {
	return func(c *config) { c.init = initConfig{i, opts} }
}

// Inputs says that the first n parts of samples are the arguments of the network, as Net.Call takes
// them; the parts behind them are labels. The default is 1.
func Inputs(n int) Option {
	return func(c *config) {
		c.want(n > 0, "Inputs(%d), want a positive number", n)
		c.loss.inputs = n
	}
}

// LossOf computes the losses of a batch from all outputs and all labels, in place of the criterion,
// which is nil then. The result has the loss of each sample, or the mean of them. Without LossOf a
// network has as many outputs as samples have labels, and the losses of all pairs are added.
func LossOf(f func(outs, labels []*nd.Array) *nd.Array) Option {
	return func(c *config) {
		c.want(f != nil, "LossOf(nil), want a function")
		c.loss.of = f
	}
}

// Guard looks for NaN and infinity in the results of all blocks with hooks, in the losses and,
// without a loss scale, in the gradients. It ends training with an error that names the batch and
// the block or the parameter. In a hybridized network it sees the results of the network alone. It
// makes training slower, because it waits for all values.
func Guard() Option { return func(c *config) { c.trainer.guard = true } }

// Validate scores the network on other data after every epoch.
func Validate(l *data.Loader) Option { return func(c *config) { c.validate = l } }

// Metric chooses the metric of training; the default is accuracy. The mean of the losses is a score
// in any case, under the name loss.
func Metric(m metric.Metric) Option {
	return func(c *config) {
		c.want(m != nil, "Metric(nil), want a metric; without the option it is the accuracy")
		c.metric = m
	}
}

// ValidationMetric chooses the metric of the validation data; the default is the metric of
// training.
func ValidationMetric(m metric.Metric) Option {
	return func(c *config) {
		c.want(m != nil, "ValidationMetric(nil), want a metric; without the option it is the "+
			"metric of training")
		c.validMetric = m
	}
}

// Progress shows the progress on w: a bar on a terminal, otherwise a line every ten seconds, and
// lines after epochs.
func Progress(w io.Writer) Option {
	return func(c *config) {
		c.want(w != nil, "Progress(nil), want a writer")
		c.report = append(c.report, func(batches int) training.Reporter {
			return training.NewProgress(w, c.epochs, batches)
		})
	}
}

// Speedometer writes a line with speed and scores after every so many batches, and lines after
// epochs, in MXNet's format.
func Speedometer(w io.Writer, every int) Option {
	return func(c *config) {
		c.want(w != nil, "Speedometer(nil), want a writer")
		c.report = append(c.report, func(int) training.Reporter {
			return training.NewSpeedometer(w, every)
		})
	}
}

// Record records the training in a folder such as runs/net, which gomx board shows: scores, speed,
// memory and learning rate of every batch, scores of epochs, the trace of one step, the events of a
// job, and a confusion matrix if a metric is or has one; the graph of a hybridized network and the
// plan of its memory. Options of package runs add histograms, files for TensorBoard, and
// hyper-parameters.
// Resume continues the run. In a job each worker has a file of its own in the folder.
func Record(dir string, opts ...runs.Option) Option {
	return func(c *config) {
		c.want(dir != "", "Record with an empty folder, want one such as runs/net")
		c.save.record = trainer.Recording{Dir: dir, Options: opts}
	}
}

// RecordTo is Record for a run that the program has opened. Fit does not close it.
func RecordTo(r *runs.Run) Option {
	return func(c *config) {
		c.want(r != nil, "RecordTo(nil), want an open run")
		c.save.record = trainer.Recording{Run: r}
	}
}

// Sample sets after how many batches a point is added to the history; the default is 50, 0 or less
// adds none.
func Sample(batches int) Option { return func(c *config) { c.sample = batches } }

// OnBatch calls f after every batch. An error ends training; see ErrStop.
func OnBatch(f func(*BatchEnd) error) Option {
	return func(c *config) {
		c.want(f != nil, "OnBatch(nil), want a function")
		c.onBatch = append(c.onBatch, f)
	}
}

// OnEpoch calls f after every epoch. An error ends training; see ErrStop.
func OnEpoch(f func(*EpochEnd) error) Option {
	return func(c *config) {
		c.want(f != nil, "OnEpoch(nil), want a function")
		c.onEpoch = append(c.onEpoch, f)
	}
}

// StopEarly ends training when a score does not get better any more. In the jobs of several
// processes it is an error, because their scores differ.
func StopEarly(e EarlyStop) Option { return func(c *config) { c.stop = &e } }

// SaveOption configures Checkpoint and Resume.
type SaveOption func(*saveConfig)

// Checkpoint saves the parameters after epochs: prefix-0001.params after the first one, which
// net.Load and MXNet's load_parameters read. Folders are made. In a job worker 0 saves.
func Checkpoint(prefix string, opts ...SaveOption) Option {
	return func(c *config) {
		c.want(prefix != "", "Checkpoint with an empty prefix")
		c.save.checkpoints.Prefix = prefix
		for _, o := range opts {
			o(&c.save)
		}
	}
}

// Resume makes Fit begin, or continue exactly where a process with the same prefix was killed, as
// gluon.Resume does. The file prefix.resume is written at the end of epochs, after their callbacks,
// and with EveryBatches in between. Batches after the last writing are trained again. A finished
// run trains nothing more and has its parameters and its history; remove the file to begin anew. In
// a job each worker has a file of its own, as gluon.Resume says; workers that run the optimizer
// themselves need EveryBatches(1).
func Resume(prefix string, opts ...SaveOption) Option {
	return func(c *config) {
		c.want(prefix != "", "Resume with an empty prefix")
		c.save.resume = prefix
		for _, o := range opts {
			o(&c.save)
		}
	}
}

// KeepLast removes the checkpoints of this run but the last n.
func KeepLast(n int) SaveOption { return func(s *saveConfig) { s.checkpoints.Keep = max(0, n) } }

// Every saves checkpoints after every n epochs only, and after the last.
func Every(n int) SaveOption { return func(s *saveConfig) { s.checkpoints.Every = max(1, n) } }

// WithStates also saves the optimizer's states: prefix-0001.states.
func WithStates() SaveOption { return func(s *saveConfig) { s.states = true } }

// EveryBatches lets Resume save its place after every n batches too, at the next step.
func EveryBatches(n int) SaveOption { return func(s *saveConfig) { s.batches = max(0, n) } }
