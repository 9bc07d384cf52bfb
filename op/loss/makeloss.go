package loss

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// MakeLossParams configures MakeLoss.
type MakeLossParams struct {
	GradScale     op.Opt[float64] `op:"grad_scale" default:"1" doc:"value of the gradient"`
	ValidThresh   float64         `op:"valid_thresh" doc:"elements above it count as valid"`
	Normalization string          `op:"normalization" default:"null" enum:"null|batch|valid" doc:"divisor of the gradient: 1, the number of rows, or the number of valid elements"`
}

// The operators that make data a loss or stop gradients.
var (
	// MakeLoss returns data as a loss with a constant gradient.
	MakeLoss = op.Declare[MakeLossParams]("MakeLoss")
	// MakeLossGrad is the gradient of MakeLoss, from its data.
	MakeLossGrad = op.Declare[MakeLossParams]("_backward_MakeLoss")
	// AsLoss returns data as a loss whose gradient is one.
	AsLoss = op.Declare[op.NoParams]("make_loss")
	// BlockGrad returns data and has the gradient zero.
	BlockGrad = op.Declare[op.NoParams]("BlockGrad")
)

// The gradient of make_loss is the gradient of MakeLoss with its defaults.
func init() {
	MakeLoss.Define(op.Spec[MakeLossParams]{
		Traits: op.Traits{
			Doc: `MakeLoss returns data as a loss: its gradient is the constant grad_scale.

With normalization batch the gradient is divided by the product of all extents of data but the
last, with valid by the number of elements above valid_thresh. The gradient of the output is
ignored.`,
			Identity:  true,
			Inplace:   [][2]int{{0, 0}},
			Precision: op.Wide,
			Head:      true,
			Kind:      op.Loss,
		},
		Infer:     op.SameShape[MakeLossParams],
		InferType: op.FloatType[MakeLossParams],
		Grad: func(g *op.Grad, p MakeLossParams) []op.Entry {
			return []op.Entry{MakeLossGrad.Apply(p, g.In(0))}
		},
		Ref: pass[MakeLossParams],
	})
	MakeLossGrad.Define(op.Spec[MakeLossParams]{
		Traits:    op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}},
		Infer:     op.SameShape[MakeLossParams],
		InferType: op.FloatType[MakeLossParams],
		Grad:      prim.ZeroGrad[MakeLossParams],
		Ref:       makeLossGradRef,
	})
	AsLoss.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "AsLoss (make_loss) returns data as a loss: its gradient is one, independent of " +
				"the gradient of the output.",
			Aliases:   []string{"_sparse_make_loss"},
			GoName:    "AsLoss",
			Identity:  true,
			Inplace:   [][2]int{{0, 0}},
			Precision: op.Wide,
			Head:      true,
			Kind:      op.Loss,
		},
		Outputs:   func(op.NoParams) []string { return []string{"loss"} },
		Infer:     op.SameShape[op.NoParams],
		InferType: op.FloatType[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{MakeLossGrad.Apply(MakeLossParams{}, g.In(0))}
		},
		Ref: pass[op.NoParams],

		Storage: op.StoreLike[op.NoParams], Sparse: prim.CopyStored[op.NoParams],
	})
	BlockGrad.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc:      "BlockGrad returns data and stops the gradient: no gradient flows to data.",
			Aliases:  []string{"stop_gradient", "_sparse_stop_gradient"},
			Identity: true,
			Inplace:  [][2]int{{0, 0}},
		},
		Infer: op.SameShape[op.NoParams],
		Grad:  func(*op.Grad, op.NoParams) []op.Entry { return []op.Entry{{}} },
		Ref:   pass[op.NoParams],

		Storage: op.StoreLike[op.NoParams], Sparse: prim.CopyStored[op.NoParams],
	})
}

// pass copies data to the output.
func pass[P any](_ P, c *op.Call) error {
	loop.Move(c.Out[0], c.In[0])
	return nil
}

func makeLossGradRef(p MakeLossParams, c *op.Call) error {
	g := p.GradScale.Value()
	switch p.Normalization {
	case "batch":
		g /= float64(max(rows(c.In[0].Shape), 1))
	case "valid":
		valid := 0
		for _, v := range loop.Floats(c.In[0]) {
			if v > p.ValidThresh {
				valid++
			}
		}
		g /= float64(max(valid, 1))
	}
	loop.Fill(c.Out[0], g)
	return nil
}

// rows returns the number of rows of s as a matrix whose columns are the last axis.
func rows(s dtype.Shape) int {
	if len(s) == 0 {
		return 1
	}
	return s[:len(s)-1].Size()
}
