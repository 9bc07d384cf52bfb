package update

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// GroupAdagradUpdateParams configures GroupAdagradUpdate.
type GroupAdagradUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradient's elements, negative for none"`
	Epsilon      op.Opt[float64] `op:"epsilon" default:"1e-05" doc:"added below the root"`
}

// GroupAdagradUpdate is AdagradUpdate with one learning rate per row.
var GroupAdagradUpdate = op.Declare[GroupAdagradUpdateParams]("_contrib_group_adagrad_update")

func init() {
	in := operands([]string{"history"})
	rows := byRows[GroupAdagradUpdateParams]{
		row: func(p GroupAdagradUpdateParams, _ *op.Call) func(v [][]float64) {
			return func(v [][]float64) { groupAdagradRow(p, v[0], v[1], &v[2][0]) }
		},
	}
	GroupAdagradUpdate.Define(op.Spec[GroupAdagradUpdateParams]{
		Traits: op.Traits{
			Doc: `GroupAdagradUpdate (_contrib_group_adagrad_update) is one step of AdaGrad by rows, for embeddings.

g = clip(rescale_grad·grad); history += mean of g² over each row; weight -= lr·g/sqrt(history + epsilon).
The history has shape (rows, 1). Only the rows change that a row_sparse gradient stores.`,
			GoName:  "GroupAdagradUpdate",
			NoGrad:  noGrad,
			Inplace: [][2]int{{0, 0}},
			Mutates: []int{2},
			Update:  true,
		},
		Inputs: func(GroupAdagradUpdateParams) []op.Input { return in },
		Infer: func(p GroupAdagradUpdateParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[:2], out); err != nil || in[0] == nil && in[2] == nil {
				return err
			}
			rank, rows := len(in[2]), -1
			if in[0] != nil {
				if rank = len(in[0]); rank == 0 {
					return op.Errorf("weight", "is a scalar, want at least one axis")
				}
				rows = in[0][0]
			}
			want := make(dtype.Shape, rank)
			for i := range want {
				want[i] = 1
			}
			if rank > 0 {
				want[0] = rows
			}
			return op.Require("history", &in[2], want)
		},
		InferType: op.FloatType[GroupAdagradUpdateParams],
		Ref:       groupAdagradRef,
		Storage:   rows.storage,
		Sparse:    rows.step,
	})
}

func groupAdagradRef(p GroupAdagradUpdateParams, c *op.Call) error {
	w, g, history := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[2])
	width := len(w) / max(len(history), 1)
	for r := range history {
		groupAdagradRow(p, w[r*width:(r+1)*width], g[r*width:(r+1)*width], &history[r])
	}
	loop.Store(c.In[2], 0, history)
	loop.Store(c.Out[0], 0, w)
	return nil
}

// groupAdagradRow is the step of one row, in place.
func groupAdagradRow(p GroupAdagradUpdateParams, w, g []float64, history *float64) {
	sum := 0.0
	for i, d := range g {
		g[i] = clip(p.RescaleGrad.Value()*d, p.ClipGradient.Value())
		sum += g[i] * g[i]
	}
	*history += sum / float64(len(w))
	for i := range w {
		w[i] -= p.LR * g[i] / math.Sqrt(*history+p.Epsilon.Value())
	}
}
