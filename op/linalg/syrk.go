package linalg

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// SyrkParams configures Syrk.
type SyrkParams struct {
	Transpose bool            `op:"transpose" doc:"compute Aᵀ·A instead of A·Aᵀ"`
	Alpha     op.Opt[float64] `op:"alpha" default:"1" doc:"factor of the product"`
}

// Syrk multiplies matrices by their transpose.
var Syrk = op.Declare[SyrkParams]("_linalg_syrk")

func init() {
	Syrk.Define(op.Spec[SyrkParams]{
		Traits: op.Traits{
			Doc: "LinalgSyrk computes alpha·A·Aᵀ, or alpha·Aᵀ·A with transpose, for each matrix " +
				"of a batch.",
			Aliases:   []string{"linalg_syrk"},
			Precision: op.Wide,
			Kind:      op.Product,
		},
		Inputs: inputs[SyrkParams]("A"),
		Infer: func(p SyrkParams, in, out []dtype.Shape) error {
			size := 0
			if p.Transpose {
				size = 1
			}
			return match([]operand{{"A", &in[0], []int{0, 1}},
				{"output", &out[0], []int{size, size}}}, []int{-1, -1}, nil)
		},
		InferType: realType[SyrkParams],
		Grad: func(g *op.Grad, p SyrkParams) []op.Entry {
			a, dy := g.In(0), g.Head(0)
			prod := func(x, y op.Entry, tx, ty bool) op.Entry {
				return Gemm2.Apply(Gemm2Params{TransposeA: tx, TransposeB: ty, Alpha: p.Alpha}, x,
					y)
			}
			x, y := prod(dy, a, false, false), prod(dy, a, true, false)
			if p.Transpose {
				x, y = prod(a, dy, false, false), prod(a, dy, false, true)
			}
			return []op.Entry{prim.ElemwiseAdd.Apply(op.NoParams{}, x, y)}
		},
		FLOPs: func(p SyrkParams, in, out []dtype.Shape) int64 {
			summed := len(in[0]) - 1
			if p.Transpose {
				summed--
			}
			return 2 * int64(out[0].Size()) * int64(in[0][summed])
		},
		Ref: func(p SyrkParams, c *op.Call) error {
			a, y := load(c.In[0]), like(c.Out[0])
			for i := range a.count {
				m := a.at(i)
				copy(y.at(i).data, m.mul(m, p.Transpose, !p.Transpose).scale(p.Alpha.Value()).data)
			}
			y.store(c.Out[0])
			return nil
		},
	})
}
