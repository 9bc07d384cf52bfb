package module

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	"gomx/metric"
	"gomx/optimizer"
	"gomx/trainer"
	"gomx/training"
)

// FitOption configures Fit.
type FitOption func(*fitConfig)

type fitConfig struct {
	validate     dataio.Iter
	epochs       int
	begin        int
	optimizer    optimizer.Optimizer
	init         initializer.Initializer
	metric       metric.Metric
	validMetric  metric.Metric
	store        string       // empty: device
	kind         kvstore.Kind // of store, once the options are checked
	storeOptions []kvstore.Option
	kv           kvstore.Store
	compression  compress.Method
	clipNorm     float64 // 0: none
	guard        bool
	rebind       bool
	checkpoint   checkpointConfig
	resume       checkpointConfig
	snapshots    snapshotConfig
	record       trainer.Recording
	report       []func(batches int) training.Reporter
	every        int
	onBatch      []func(*BatchEnd) error
	onEpoch      []func(*EpochEnd) error
	misuse       string // the first option whose argument is nil; empty: none
}

// Validate scores the module on it after every epoch; nil: on nothing.
func Validate(it dataio.Iter) FitOption { return func(c *fitConfig) { c.validate = it } }

// Epochs says how many times to go through the data: none, where a run that is continued has had as
// many. The default is 1.
func Epochs(n int) FitOption { return func(c *fitConfig) { c.epochs = n } }

// BeginEpoch continues a run at an epoch, counted from 0: iterators that can are set to it.
func BeginEpoch(n int) FitOption { return func(c *fitConfig) { c.begin = n } }

// Optimize chooses the optimizer. The default is the one of InitOptimizer or of an earlier Fit,
// else SGD with learning rate 0.01.
//
// States that LoadStates has given to an optimizer of the same kind are kept; for another kind they
// are an error.
func Optimize(o optimizer.Optimizer) FitOption {
	return func(c *fitConfig) {
		c.want(!isNil(o), "Optimize(nil), want an optimizer; without the option it is SGD")
		c.optimizer = o
	}
}

// Init chooses the initializer of parameters that have no values yet.
func Init(i initializer.Initializer) FitOption { return func(c *fitConfig) { c.init = i } }

// Metric chooses the metric of training. The default is accuracy.
func Metric(m metric.Metric) FitOption {
	return func(c *fitConfig) {
		c.want(!isNil(m), "Metric(nil), want a metric; without the option it is the accuracy")
		c.metric = m
	}
}

// ValidationMetric chooses the metric of the validation data. The default is the metric of
// training.
func ValidationMetric(m metric.Metric) FitOption {
	return func(c *fitConfig) {
		c.want(!isNil(m), "ValidationMetric(nil), want a metric; without the option it is that "+
			"of training")
		c.validMetric = m
	}
}

// Store chooses how gradients meet weights: "local" and "device" mean in this process, where the
// processor adds up the gradients of several devices with "local", and the first device with
// "device" and without Store. The names of kvstore that begin with dist_ mean on the servers of the
// job that the context belongs to. The workers of a job go through the data together: an iterator
// with parts (io.Sharder) hands each of them its share, unless it has been told a share before. A
// worker that has fewer batches than others takes part in the remaining rounds of an epoch with
// gradients of zero. Only worker 0 saves checkpoints.
func Store(name string, opts ...kvstore.Option) FitOption {
	return func(c *fitConfig) { c.store, c.storeOptions = name, opts }
}

// StoreWith is Store for a store that is open already. Fit does not close it.
func StoreWith(kv kvstore.Store) FitOption {
	return func(c *fitConfig) {
		c.want(!isNil(kv), "StoreWith(nil), want an open store")
		c.kv = kv
	}
}

// Compress makes gradients smaller on their way to the store; see package compress.
func Compress(m compress.Method) FitOption { return func(c *fitConfig) { c.compression = m } }

// ClipGlobalNorm scales the gradients of every batch before they change parameters, so that the
// Euclidean norm of all of them together is at most max. It holds for this Fit.
//
// The norm is taken over the optimizer's inputs: the gradients that Grads returns, summed over the
// devices, times the optimizer's factor, which is 1 divided by the batch size unless Rescale says
// otherwise. They are multiplied by max/(norm+1e-8) where that is below one.
// Parameters without gradients count for nothing. The optimizer's own Clip, of single elements,
// comes afterwards. Fit does not wait for the norm. A gradient that is not finite stays so, and
// Guard finds its consequences.
//
// With the stores of several processes it is an error: their servers add up the gradients of the
// workers parameter by parameter, and no process knows the norm of the sums.
func ClipGlobalNorm(max float64) FitOption {
	return func(c *fitConfig) {
		c.want(max > 0, fmt.Sprintf("ClipGlobalNorm(%v), want a positive number", max))
		c.clipNorm = max
	}
}

// Guard looks for NaN and infinity in the results of every operator and ends training with an
// error that names the batch and the layer. It makes training slower.
func Guard() FitOption { return func(c *fitConfig) { c.guard = true } }

// Force binds the module again even if it is bound; parameters are kept.
func Force() FitOption { return func(c *fitConfig) { c.rebind = true } }

// Progress shows the progress on w: a bar on a terminal, otherwise a line every ten seconds, and
// lines after epochs. The scores in it are those since the epoch began.
func Progress(w io.Writer) FitOption {
	return func(c *fitConfig) {
		c.want(!isNil(w), "Progress(nil), want a writer")
		c.report = append(c.report, func(batches int) training.Reporter {
			return training.NewProgress(w, c.epochs, batches)
		})
	}
}

// Speedometer writes a line with speed and scores after every so many batches, and lines after
// epochs, in MXNet's format.
func Speedometer(w io.Writer, every int) FitOption {
	return func(c *fitConfig) {
		c.want(!isNil(w), "Speedometer(nil), want a writer")
		c.report = append(c.report, func(int) training.Reporter {
			return training.NewSpeedometer(w, every)
		})
	}
}

// Sample sets after how many batches a point is added to the history: the scores since the point
// before, or since a line of a Speedometer in between. The default is 50, 0 or less adds none.
func Sample(batches int) FitOption { return func(c *fitConfig) { c.every = batches } }

// OnBatch calls f after every batch; an error ends training.
func OnBatch(f func(*BatchEnd) error) FitOption {
	return func(c *fitConfig) {
		c.want(f != nil, "OnBatch(nil), want a function")
		c.onBatch = append(c.onBatch, f)
	}
}

// OnEpoch calls f after every epoch; an error ends training.
func OnEpoch(f func(*EpochEnd) error) FitOption {
	return func(c *fitConfig) {
		c.want(f != nil, "OnEpoch(nil), want a function")
		c.onEpoch = append(c.onEpoch, f)
	}
}

// CheckpointOption configures Checkpoint.
type CheckpointOption func(*checkpointConfig)

type checkpointConfig struct {
	prefix  string
	keep    int
	every   int
	batches int // of EveryBatches
	states  bool
}

// Checkpoint saves symbol and parameters after epochs: prefix-symbol.json, and prefix-0001.params
// after the first epoch. Folders are made.
func Checkpoint(prefix string, opts ...CheckpointOption) FitOption {
	return func(c *fitConfig) {
		c.checkpoint = checkpointConfig{prefix: prefix, every: 1}
		for _, o := range opts {
			o(&c.checkpoint)
		}
	}
}

// KeepLast removes the checkpoints of this run but the last n.
func KeepLast(n int) CheckpointOption { return func(c *checkpointConfig) { c.keep = n } }

// Every saves after every n epochs only, and after the last.
func Every(n int) CheckpointOption { return func(c *checkpointConfig) { c.every = max(n, 1) } }

// WithStates also saves the optimizer's states: prefix-0001.states.
func WithStates() CheckpointOption { return func(c *checkpointConfig) { c.states = true } }

// check reports options that Fit cannot heed.
func (c *fitConfig) check() (err error) {
	if c.kind, err = kvstore.KindOf(cmp.Or(c.store, "device")); err != nil {
		return fmt.Errorf("module: Fit: %w", err)
	}
	switch {
	case c.misuse != "":
		return errors.New("module: Fit: " + c.misuse)
	case c.clipNorm != 0 && c.kind.Job:
		return fmt.Errorf("module: Fit: %w", trainer.ClipJobError(c.kind.Name))
	case c.epochs < 0:
		return fmt.Errorf("module: Fit: Epochs(%d), want 0 or more", c.epochs)
	case c.begin < 0:
		return fmt.Errorf("module: Fit: BeginEpoch(%d), want 0 or more", c.begin)
	case c.checkpoint.keep < 0 || c.resume.keep < 0:
		return fmt.Errorf("module: Fit: KeepLast(%d), want 0 or more", min(c.checkpoint.keep,
			c.resume.keep))
	}
	return nil
}

// want notes an option whose argument is nil.
func (c *fitConfig) want(ok bool, text string) {
	if !ok && c.misuse == "" {
		c.misuse = text
	}
}
