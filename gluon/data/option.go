package data

import (
	"context"
	"fmt"

	"gomx/device"
	"gomx/kvstore"
)

// Option configures a loader.
type Option func(*config)

// config is the configuration of a loader.
type config struct {
	seed     uint64
	shuffle  bool
	sampler  Sampler
	order    BatchOrder
	last     Last
	parts    []Batchify // nil: Stack for all parts
	workers  int
	prefetch int // 0: two batches for each worker
	hold     int
	rank, of int  // share of the batches
	shared   bool // Share or Shard has said the share
	dev      device.Device
}

// Shuffle chooses samples in random order, by a RandomSampler with the seed. It seeds the random
// streams of samples too.
func Shuffle(seed uint64) Option {
	return func(c *config) { c.shuffle, c.seed = true, seed }
}

// Seed seeds the random streams of samples, which random changes in Map use.
func Seed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// Choose lets a sampler choose the samples and their order.
func Choose(s Sampler) Option { return func(c *config) { c.sampler = s } }

// ChooseBatches lets an order choose the samples of each batch; the batch size is only an upper
// bound then.
func ChooseBatches(o BatchOrder) Option { return func(c *config) { c.order = o } }

// LastBatch says how the samples that do not fill a batch are treated; Keep without it.
func LastBatch(l Last) Option { return func(c *config) { c.last = l } }

// Group says for each part of the samples how it becomes a part of the batch.
//
// MXNet: gluon.data.batchify.Group.
func Group(parts ...Batchify) Option { return func(c *config) { c.parts = parts } }

// Workers is the number of goroutines that load batches, each a batch of its own; 1 without it.
// With 0 the goroutine of the loop loads them. Samples, their order and their random changes are
// the same for all numbers.
func Workers(n int) Option { return func(c *config) { c.workers = n } }

// Prefetch is the number of batches that are loaded before the loop asks for them, at least the
// number of workers; without it two for each worker.
func Prefetch(n int) Option { return func(c *config) { c.prefetch = n } }

// Hold keeps the arrays of a batch valid during n further steps of the loop; 2 without it.
func Hold(n int) Option { return func(c *config) { c.hold = n } }

// On puts batches on a device instead of the processor.
func On(d device.Device) Option { return func(c *config) { c.dev = d } }

// Share makes a loader return the batches rank, rank+of, rank+2·of and so on. All shares have the
// same number of batches: the remainder of an epoch is left out.
func Share(rank, of int) Option {
	return func(c *config) { c.rank, c.of, c.shared = rank, of, true }
}

// InJob is Share for the rank of this worker in the job of a context, as launch.Run gives it. It
// has no effect without a job.
func InJob(ctx context.Context) Option {
	return func(c *config) {
		if j := kvstore.JobOf(ctx); j != nil {
			c.rank, c.of, c.shared = j.Rank(), j.Workers(), true
		}
	}
}

// validate completes the configuration of a loader of n samples and reports impossible values.
func (c *config) validate(n, batch int) error {
	switch {
	case batch < 1:
		return fmt.Errorf("data: batch size %d, want at least 1", batch)
	case c.workers < 0:
		return fmt.Errorf("data: Workers(%d), want 0 or more", c.workers)
	case c.prefetch < 0:
		return fmt.Errorf("data: Prefetch(%d), want 0 or more", c.prefetch)
	case c.hold < 0:
		return fmt.Errorf("data: Hold(%d), want 0 or more", c.hold)
	case c.of < 1 || c.rank < 0 || c.rank >= c.of:
		return fmt.Errorf("data: Share(%d, %d), want a rank below the number of shares", c.rank,
			c.of)
	case c.last > RollOver:
		return fmt.Errorf("data: last batch %v, want keep, discard or rollover", c.last)
	case c.order != nil && (c.shuffle || c.sampler != nil || c.last != Keep):
		return fmt.Errorf("data: ChooseBatches with Shuffle, Choose or LastBatch: the order of " +
			"batches takes their place")
	case c.sampler != nil && c.shuffle:
		return fmt.Errorf("data: Shuffle with Choose: the sampler decides about the order")
	}
	if c.sampler == nil {
		c.sampler = SequentialSampler{N: n}
		if c.shuffle {
			c.sampler = RandomSampler{n, c.seed}
		}
	}
	if c.order == nil {
		c.order = BatchSampler{c.sampler, batch, c.last}
	}
	if c.prefetch == 0 {
		c.prefetch = 2 * c.workers
	}
	c.prefetch = max(c.prefetch, c.workers, 1)
	return nil
}
