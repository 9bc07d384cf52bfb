package gluon

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"gomx/kvstore"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/runs"
	"gomx/trainer"
)

// Scaling is the rule of the loss scale of mixed precision.
//
//   - Initial float64: the first scale; 0: 65536
//   - Max float64: the largest scale; 0: 2^24
//   - Window int: batches without infinite gradients after which the scale is doubled; 0: 2000
//   - Fixed bool: Initial holds, and no batch is skipped
//
// The scale is halved when a gradient is infinite or NaN, and the batch is then skipped.
type Scaling = trainer.Scaling

// TrainerOption is an option of NewTrainer.
type TrainerOption func(*trainerConfig)

type trainerConfig struct {
	ctx          context.Context
	store        string // empty: device
	kind         kvstore.Kind
	storeOptions []kvstore.Option
	kv           kvstore.Store
	onStore      nd.Opt[bool]
	compression  compress.Method
	clip         float64 // 0: none
	scaling      *Scaling
	order        []string // names of the parameters by their numbers
	record       trainer.Recording
	misuse       string // the first option that makes no sense; empty: none
}

// Store names the store through which gradients meet parameters. With "local" and "device", which
// is the default, that is in this process: the processor, or the first device, adds up the
// gradients of several devices. The names that begin with dist_ are stores on the servers of a job,
// which InJob gives.
func Store(name string, opts ...kvstore.Option) TrainerOption {
	return func(c *trainerConfig) { c.store, c.storeOptions = name, opts }
}

// StoreWith is Store for a store that is open already. The trainer does not close it.
func StoreWith(kv kvstore.Store) TrainerOption {
	return func(c *trainerConfig) {
		c.want(kv != nil, "StoreWith(nil), want an open store")
		c.kv = kv
	}
}

// InJob gives the context in which package launch runs the program: Store finds the job in it. The
// context also bounds the wait for the other workers at the first step.
func InJob(ctx context.Context) TrainerOption {
	return func(c *trainerConfig) {
		c.want(ctx != nil, "InJob(nil), want the context of the program")
		c.ctx = ctx
	}
}

// UpdateOnStore says whether the store runs the optimizer, or only adds up gradients for optimizers
// in all workers. By default the servers of a job run it, unless ClipGlobalNorm or LossScale need
// the gradients here; in one process the trainer does.
func UpdateOnStore(yes bool) TrainerOption {
	return func(c *trainerConfig) { c.onStore = nd.Some(yes) }
}

// Compress makes gradients smaller on their way to the store; see package compress.
func Compress(m compress.Method) TrainerOption {
	return func(c *trainerConfig) { c.compression = m }
}

// ClipGlobalNorm scales the gradients of every step so that the Euclidean norm of all of them
// together, divided by the batch size, is at most limit.
func ClipGlobalNorm(limit float64) TrainerOption {
	return func(c *trainerConfig) {
		c.want(limit > 0, fmt.Sprintf("ClipGlobalNorm(%v), want a positive number", limit))
		c.clip = limit
	}
}

// LossScale makes the trainer choose a factor for losses, with which ScaleLoss multiplies them, so
// that small gradients do not vanish in float16. Step divides the gradients by it, and changes
// nothing if one of them is not finite.
func LossScale(s Scaling) TrainerOption { return func(c *trainerConfig) { c.scaling = &s } }

// Order numbers the parameters, by their structural names; without it the numbers are in structural
// order. Files of states know parameters by number alone: for the files of MXNet's Trainer the
// order is the alphabetic one of the names that MXNet gives to parameters, such as dense0_bias.
func Order(names ...string) TrainerOption { return func(c *trainerConfig) { c.order = names } }

// Record records the steps of the trainer in a folder such as runs/net, which gomx board shows:
// speed, memory, learning rate, the trace of one step, the events of a job and, with
// runs.Histograms, parameters and gradients; the graph of a hybridized network that gave Params,
// and the plan of its memory. The program adds the loss and other curves to RunOf
// the trainer. Close of the trainer ends the run.
func Record(dir string, opts ...runs.Option) TrainerOption {
	return func(c *trainerConfig) {
		c.want(dir != "", "Record with an empty folder, want one such as runs/net")
		c.record = trainer.Recording{Dir: dir, Options: opts}
	}
}

// want notes an option that makes no sense.
func (c *trainerConfig) want(ok bool, text string) {
	if !ok && c.misuse == "" {
		c.misuse = text
	}
}

// complete fills in the configuration and reports combinations that make no sense.
func (c *trainerConfig) complete() (err error) {
	if c.misuse != "" {
		return errors.New(c.misuse)
	}
	if c.kv != nil {
		c.kind = kvstore.Kind{Name: c.kv.Name()}
		_, c.kind.Job = kvstore.As[kvstore.Joint](c.kv)
	} else if c.kind, err = kvstore.KindOf(cmp.Or(c.store, "device")); err != nil {
		return err
	}
	needed := ""
	switch {
	case c.clip > 0:
		needed = "ClipGlobalNorm"
	case c.scaling != nil:
		needed = "LossScale"
	}
	if yes, ok := c.onStore.Get(); !ok {
		c.onStore = nd.Some(c.kind.Job && needed == "")
	} else if yes && needed != "" {
		return fmt.Errorf("%s with UpdateOnStore(true): the optimizer in the store sees the "+
			"sums of "+
			"gradients before this process does, want UpdateOnStore(false)", needed)
	}
	if c.ctx == nil {
		c.ctx = context.Background()
	}
	return c.compression.Validate()
}
