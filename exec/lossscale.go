package exec

import (
	"fmt"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
)

// LossScale is a factor for gradients. Executors multiply gradients by it where they begin, at
// outputs and losses, and divide them by it where they end, at variables, so that half-precision
// gradients in between do not vanish.
// Executors that share it see a change in the runs that are begun afterwards. It belongs to one
// goroutine at a time.
type LossScale struct {
	value           float64
	factor, inverse *nd.Array
}

// NewLossScale returns a factor for executors on a device. Powers of two change no bit of a
// gradient that stays in range.
func NewLossScale(d device.Device, value float64) *LossScale {
	s := &LossScale{value: value}
	s.factor = nd.Full(value, nd.Shape{1}, nd.On(d), nd.Name("_loss_scale"))
	s.inverse = nd.Full(1/value, nd.Shape{1}, nd.On(d), nd.Name("_loss_scale_inverse"))
	return s
}

// Value returns the factor.
func (s *LossScale) Value() float64 { return s.value }

// Set changes the factor for runs that are begun from now on.
func (s *LossScale) Set(value float64) {
	s.value = value
	s.factor.Fill(value)
	s.inverse.Fill(1 / value)
}

// checkPrecision reports a type that Precision cannot be.
func (c *Config) checkPrecision() error {
	switch c.Precision {
	case dtype.Float32, dtype.Float16, dtype.BFloat16:
		return nil
	}
	return fmt.Errorf("exec: precision %v, want float16, bfloat16 or float32", c.Precision)
}
