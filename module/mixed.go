package module

import (
	"fmt"

	"gomx/dtype"
	"gomx/kvstore"
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

// Scaling says how the loss scale is found; see trainer.Scaling.
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
