package symbol

import (
	"fmt"

	"gomx/device"
	"gomx/dtype"
	"gomx/graph"
	nd "gomx/ndarray"
	"gomx/op"
)

// LossScale is what gradients are multiplied by where they begin and divided by where they end, so that those of half precision between do not vanish.
// Executors that share it see a change in the runs that are begun afterwards. It belongs to one goroutine at a time.
type LossScale struct {
	value           float64
	factor, inverse *nd.Array
}

// NewLossScale returns a factor for executors on a device. Powers of two change no bit of a gradient that stays in range.
func NewLossScale(d device.Device, value float64) *LossScale {
	s := &LossScale{value: value}
	s.factor = nd.Full(value, nd.Shape{1}, nd.On(d), nd.Name(factorName))
	s.inverse = nd.Full(1/value, nd.Shape{1}, nd.On(d), nd.Name(inverseName))
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

// The names of the variables that stand for the factor in graphs.
const factorName, inverseName = "_loss_scale", "_loss_scale_inverse"

// checkPrecision reports a type that Precision cannot be.
func (c *BindConfig) checkPrecision() error {
	switch c.Precision {
	case dtype.Float32, dtype.Float16, dtype.BFloat16:
		return nil
	}
	return fmt.Errorf("symbol: precision %v, want float16, bfloat16 or float32", c.Precision)
}

// mixPrecision makes a graph compute in the precision that it is bound with.
func (p *program) mixPrecision(outs []op.Entry) ([]op.Entry, error) {
	c := &p.ex.config
	if c.Precision == dtype.Float32 {
		return outs, nil
	}
	f, err := p.factsOf(outs, nil)
	if err != nil {
		return nil, err
	}
	f.Mixed = &graph.Mixed{Type: c.Precision, Kept: !p.train,
		Learned: func(v *op.Node) bool { return p.ex.Grads[v.Name] != nil }}
	if p.train && c.LossScale != nil && len(p.ex.Grads) > 0 {
		f.Mixed.Factor = p.scaleVar(factorName, c.LossScale.factor)
		f.Mixed.Inverse = p.scaleVar(inverseName, c.LossScale.inverse)
	}
	outs, applied := graph.Run(graph.Select(nil, graph.Converted), outs, f)
	p.applied = append(p.applied, applied...)
	return outs, nil
}

// scaleVar makes the variable that stands for an array of the loss scale.
func (p *program) scaleVar(name string, a *nd.Array) op.Entry {
	p.addSlot(name, a, false)
	return op.Var(name).Entry(0)
}

// facts returns what is known of the graph before the gradient is added.
func (p *program) facts(outs []op.Entry) (*graph.Facts, error) {
	if p.ex.config.Precision == dtype.Float32 {
		return graph.FactsOf(p.ex.index, p.ex.shapes, p.ex.types), nil
	}
	return p.factsOf(outs, nil)
}
