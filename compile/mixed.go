package compile

import (
	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
)

// Names of the variables that stand for the factor by which gradients are scaled, and its inverse.
const factorName, inverseName = "_loss_scale", "_loss_scale_inverse"

// mixPrecision makes a graph compute in the precision that the options ask for. In training with a
// loss scale, two variables of one element hold the factor and its inverse: as variables, because
// the factor changes from step to step and the program does not.
func mixPrecision(u *Unit, s *Stage) error {
	if u.opt.Precision == dtype.Float32 {
		return nil
	}
	m := &graph.Mixed{Type: u.opt.Precision, Kept: !u.opt.Train, Inside: u.opt.onHost(),
		Wide: u.opt.Target.Wide, Together: u.opt.Target.Whole,
		Learned: func(v *op.Node) bool { return u.opt.wants(v.Name) }}
	if u.opt.Train && u.opt.LossScale != nil && len(u.opt.Grads) > 0 {
		m.Factor = u.variable(Slot{Name: factorName, Kind: SlotFactor, Device: *u.opt.LossScale},
			dtype.Shape{1}, dtype.Float32)
		m.Inverse = u.variable(Slot{Name: inverseName, Kind: SlotInverse, Device: *u.opt.LossScale},
			dtype.Shape{1}, dtype.Float32)
	}
	u.Facts.Mixed = m
	return u.rewrite(s, graph.MixPrecision)
}
