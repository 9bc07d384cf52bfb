package module

import (
	"fmt"

	"gomx/device"
	"gomx/device/cpu/narrow"
	"gomx/dtype"
	"gomx/kvstore"
	"gomx/op"
	sym "gomx/symbol"
	"gomx/trainer"
)

// MixedPrecision makes layers that are mostly products (convolutions, dense and recurrent layers)
// compute in float16 or bfloat16. Losses, norms over layers, exponentials and sums stay in float32,
// everything else computes in the type of its inputs. Parameters, their gradients, the optimizer's
// states and checkpoints stay float32.
//
// In float16 the gradients are scaled, because small ones would vanish: by a factor that is found
// while training goes on, unless LossScale says otherwise.
func MixedPrecision(t dtype.Type) Option {
	return func(c *config) { c.precision = t }
}

// NarrowProducts sets the classes of products that processors compute in bfloat16 with
// MixedPrecision. Without it, package narrow chooses the classes that this processor computes faster
// than in float32, and the workers of a job take the choice of its scheduler.
//
// Results of two choices differ by roundings, so the choice is part of the file of a run: Fit does
// not go on with Resume or Snapshots under another choice.
func NarrowProducts(p device.Products) Option {
	return func(c *config) { c.products = op.Some(p) }
}

// narrow returns the classes of products in bfloat16, not given in another precision.
func (c *config) narrow() op.Opt[device.Products] {
	if c.precision == dtype.BFloat16 && !c.products.IsSet() {
		c.products = op.Some(narrow.Chosen().Products)
	}
	if c.precision != dtype.BFloat16 {
		return op.Opt[device.Products]{}
	}
	return c.products
}

// Scaling is the rule of the loss scale.
//
//   - Initial float64: the first scale; 0: 65536
//   - Max float64: the largest scale; 0: 2^24
//   - Window int: batches without infinite gradients after which the scale is doubled; 0: 2000
//   - Fixed bool: Initial holds, and no batch is skipped
//
// The scale is halved when a gradient is infinite or NaN, and the batch is then skipped.
type Scaling = trainer.Scaling

// LossScale says how gradients are scaled in mixed precision. Without it float16 gradients are
// scaled as the zero Scaling says, and bfloat16 gradients are not, because bfloat16 has the range
// of float32.
func LossScale(s Scaling) Option {
	return func(c *config) { c.scaling = &s }
}

// newScaler returns the scaler for a configuration, with the factors that it changes, one per
// device; nil where gradients are not scaled.
func newScaler(c *config) (*trainer.Scaler, []*sym.LossScale, error) {
	s := Scaling{}
	switch {
	case c.precision == dtype.Float32 && c.scaling != nil:
		return nil, nil, fmt.Errorf("module: LossScale without MixedPrecision")
	case c.scaling != nil:
		s = *c.scaling
	case c.precision != dtype.Float16:
		return nil, nil, nil
	}
	var scales []*sym.LossScale
	out, err := trainer.NewScaler(s, func(factor float64) {
		for _, scale := range scales {
			scale.Set(factor)
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("module: %w", err)
	}
	for _, d := range c.places() {
		scales = append(scales, sym.NewLossScale(d, out.Value()))
	}
	return out, scales, nil
}

// keepScale begins the journal of the loss scale in a job that has a folder.
func (f *fitting) keepScale(job *kvstore.Job) error {
	s := f.m.trainer.Scaler
	if s == nil || job == nil || f.m.trainer.Store() == nil {
		return nil
	}
	path := job.OwnFile("scale")
	if path == "" {
		return nil
	}
	if err := s.KeepJournal(path); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	return nil
}
