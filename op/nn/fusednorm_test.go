package nn_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

// TestFusedBatchNorm has channels that stay above zero, below it, and on both sides, all of them
// far enough away for differences.
func TestFusedBatchNorm(t *testing.T) {
	type P = nn.FusedBatchNormParams
	x := values(dtype.Shape{4, 3, 1, 1}, -3, 1, 7, -1, 4, 5, 1, 2, 1, 3, 5, 3)
	gamma, beta, mean, variance := vec(2, 1, 1), vec(9, -9, 0.2), vec(0, 1, 4), vec(1, 4, 5)
	other := values(dtype.Shape{4, 3, 1, 1}, 1, 2, 3, 4, 5, 6, 7, 8, -9, -8, -7, -6)
	in, with := []op.Tensor{x, gamma, beta, mean, variance}, []op.Tensor{x, gamma, beta, mean,
		variance, other}
	optest.Run(t, nn.FusedBatchNorm.Op,
		optest.Case{Name: "training", Train: true, Params: P{NoFixGamma: true}, In: in,
			Const: []int{3, 4}, Want: rectifiedNorm(x, gamma, beta, op.Tensor{}, 1e-3),
			After: []op.Tensor{x, gamma, beta, vec(0, 1.2, 4), vec(1.4, 3.85, 5)}},
		optest.Case{Name: "fixed gamma", Train: true, Params: P{}, In: in, Const: []int{3, 4},
			Want: rectifiedNorm(x, vec(1, 1, 1), beta, op.Tensor{}, 1e-3)},
		optest.Case{Name: "sum", Train: true, Params: P{NoFixGamma: true, Sum: true,
			Eps: op.Some(0.1)}, In: with, Const: []int{3, 4}, Want: rectifiedNorm(x, gamma, beta,
			other, 0.1)},
		optest.Case{Name: "global statistics", Train: true, Params: P{NoFixGamma: true, Sum: true,
			UseGlobalStats: true}, In: with, Const: []int{3, 4},
			After: []op.Tensor{{}, {}, {}, mean, variance}},
		optest.Case{Name: "inference", Params: P{NoFixGamma: true, Eps: op.Some(1e-9)}, In: in,
			Const: []int{3, 4},
			Want: []op.Tensor{values(dtype.Shape{4, 3, 1, 1}, 3, 0, 0.2+3/sqrt5, 7, 0, 0.2+1/sqrt5,
				11, 0, 0, 15, 0, 0)}, After: []op.Tensor{{}, {}, {}, mean, variance}},
		optest.Case{Name: "many", Train: true, Params: P{NoFixGamma: true, Sum: true}, NoDiff: true,
			In: []op.Tensor{random(1, 3, 17, 5, 4), random(2, 17), random(3, 17), random(4, 17),
				positive(5, 17), random(6, 3, 17, 5, 4)}},
	)
}

var sqrt5 = float32(math.Sqrt(5))

// rectifiedNorm is the definition for arrays (n, c, 1, 1), with what may be added before the
// rectifier.
func rectifiedNorm(x, gamma, beta, sum op.Tensor, eps float64) []op.Tensor {
	n, c := x.Shape[0], x.Shape[1]
	in, g, b, s := op.Slice[float32](x), op.Slice[float32](gamma), op.Slice[float32](beta),
		op.Slice[float32](sum)
	out := make([]float32, n*c)
	for k := range c {
		mean, variance := 0.0, 0.0
		for i := range n {
			mean += float64(in[i*c+k]) / float64(n)
		}
		for i := range n {
			d := float64(in[i*c+k]) - mean
			variance += d * d / float64(n)
		}
		for i := range n {
			v := float64(g[k])*(float64(in[i*c+k])-mean)/math.Sqrt(variance+eps) + float64(b[k])
			if s != nil {
				v += float64(s[i*c+k])
			}
			out[i*c+k] = float32(max(v, 0))
		}
	}
	return []op.Tensor{values(x.Shape, out...), {}, {}}
}
