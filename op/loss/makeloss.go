package loss

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// MakeLossParams configures MakeLoss.
type MakeLossParams struct {
	GradScale     op.Opt[float64] `op:"grad_scale" default:"1" doc:"the gradient"`
	ValidThresh   float64         `op:"valid_thresh" doc:"elements above count as valid"`
	Normalization string          `op:"normalization" default:"null" enum:"null|batch|valid" doc:"what the gradient is divided by: nothing, the number of rows, the number of valid elements"`
}

// The operators that turn data into a loss or end the flow of gradients.
var (
	// MakeLoss passes data on as a loss with a constant gradient.
	MakeLoss = op.Declare[MakeLossParams]("MakeLoss")
	// MakeLossGrad is the gradient of MakeLoss, from its data.
	MakeLossGrad = op.Declare[MakeLossParams]("_backward_MakeLoss")
	// AsLoss passes data on as a loss whose gradient is one.
	AsLoss = op.Declare[op.NoParams]("make_loss")
	// BlockGrad passes data on and lets no gradient through.
	BlockGrad = op.Declare[op.NoParams]("BlockGrad")
)

// The gradient of make_loss is that of MakeLoss with its defaults.
func init() {
	MakeLoss.Define(op.Spec[MakeLossParams]{
		Traits: op.Traits{
			Doc: `MakeLoss passes data on as a loss: its gradient is the constant grad_scale.

With normalization batch the gradient is divided by the product of all extents of data but the
last, with valid by the number of elements above valid_thresh. Gradients flowing into the output are ignored.`,
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
			Doc:       "AsLoss (make_loss) passes data on as a loss: its gradient is one, whatever flows into the output.",
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
	})
	BlockGrad.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc:      "BlockGrad passes data on and lets no gradient through.",
			Aliases:  []string{"stop_gradient", "_sparse_stop_gradient"},
			Identity: true,
			Inplace:  [][2]int{{0, 0}},
		},
		Infer: op.SameShape[op.NoParams],
		Grad:  func(*op.Grad, op.NoParams) []op.Entry { return []op.Entry{{}} },
		Ref:   pass[op.NoParams],
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

// rows is the number of rows when s is seen as a matrix whose columns are its last axis.
func rows(s dtype.Shape) int {
	if len(s) == 0 {
		return 1
	}
	return s[:len(s)-1].Size()
}
