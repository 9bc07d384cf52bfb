//go:build cuda

package update

import (
	"math"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// directionArgs, alongArgs, larsArgs and rowStepArgs are parameters of the kernels in trust.cu.
type (
	directionArgs struct {
		out, weight, grad, mean, variance                  attach.Any
		n                                                  int
		beta1, beta2, eps, wd, rescale, limit, mean1, var1 float64
	}
	alongArgs struct {
		out, weight, g, r1, r2, exact attach.Any
		n, squared                    int
		lr, lower, upper              float64
	}
	larsArgs struct {
		out, lrs, weights, grads, wds attach.Any
		n                             int
		eta, eps, rescale             float64
	}
	rowStepArgs struct {
		out, weight, grad, history attach.Any
		rows, width                int
		lr, rescale, limit, eps    float64
	}
)

// directionCUDA is the parameter of the first phase, but for the operands.
func (p LambUpdatePhase1Params) directionCUDA(n int) directionArgs {
	k := directionArgs{n: n, beta1: p.Beta1.Value(), beta2: p.Beta2.Value(), eps: p.Epsilon.Value(),
		wd: p.WD, rescale: p.RescaleGrad.Value(), limit: p.ClipGradient.Value(), mean1: 1, var1: 1}
	if !p.NoBiasCorrection {
		k.mean1, k.var1 = 1-math.Pow(k.beta1, float64(p.T)), 1-math.Pow(k.beta2, float64(p.T))
	}
	return k
}

// mostChunks is the most blocks that sum up squares.
const mostChunks = 256

// squares puts the sum of squares of x on a queue, into element at of out; part has room for
// mostChunks doubles.
func squares(q *cuda.Queue, out, x attach.Any, n, at int, part unsafe.Pointer) error {
	chunks := min(max(n/8192, 1), mostChunks)
	if err := q.Launch(attach.AnyFunc("trust", "squares"), cuda.Grid{X: chunks, Y: 1, Threads: 256},
		cuda.P(x.Data), cuda.I(x.Type), cuda.P(part), cuda.I(n), cuda.I(chunks)); err != nil {
		return err
	}
	return q.Launch(attach.AnyFunc("trust", "squares_join"), cuda.Grid{X: 1, Y: 1, Threads: 256},
		cuda.P(out.Data), cuda.I(out.Type), cuda.P(part), cuda.I(at), cuda.I(chunks))
}

func sumSquaresCUDA(_ MultiSumSqParams, _ *op.Args) (*op.Prepared, error) {
	return attach.OnQueue(8*mostChunks, func(q *cuda.Queue, c *op.Call) error {
		for i, t := range c.In {
			if err := squares(q, attach.AnyOf(c.Out[0]), attach.AnyOf(t), t.Shape.Size(), i,
				c.Scratch); err != nil {
				return err
			}
		}
		return nil
	})
}

// lambCUDA is both phases of LAMB for many weights: the directions are in scratch memory, as
// doubles.
func lambCUDA(p MultiLambUpdateParams, a *op.Args, mixed bool) (*op.Prepared, error) {
	stride, most := 4, 0
	if mixed {
		stride = 5
	}
	list := make([]directionArgs, len(a.Out))
	for i, d := range a.Out {
		n := d.Shape.Size()
		list[i] = LambUpdatePhase1Params{Beta1: p.Beta1, Beta2: p.Beta2, Epsilon: p.Epsilon,
			T: p.StepCount[i], NoBiasCorrection: p.NoBiasCorrection,
			WD: p.WDs[i], RescaleGrad: p.RescaleGrad, ClipGradient: p.ClipGradient}.directionCUDA(n)
		most = max(most, n)
	}
	const parts = 8 * mostChunks
	double := cuda.Code(dtype.Float64)
	return attach.OnQueue(parts+256+8*most, func(q *cuda.Queue, c *op.Call) error {
		part, norms := c.Scratch, attach.Any{Data: unsafe.Add(c.Scratch, parts), Type: double}
		along := attach.Any{Data: unsafe.Add(c.Scratch, parts+256), Type: double}
		for i, k := range list {
			in := c.In[i*stride : (i+1)*stride]
			weight := attach.AnyOf(in[0])
			if mixed {
				weight = attach.AnyOf(in[4])
			}
			k.out, k.weight, k.grad, k.mean, k.variance = along, weight, attach.AnyOf(in[1]),
				attach.AnyOf(in[2]), attach.AnyOf(in[3])
			if err := squares(q, norms, weight, k.n, 0, part); err != nil {
				return err
			}
			if err := cuda.LaunchWith(q, attach.AnyFunc("trust", "direction"), q.Each(k.n),
				&k); err != nil {
				return err
			}
			if err := squares(q, norms, along, k.n, 1, part); err != nil {
				return err
			}
			s := alongArgs{out: attach.AnyOf(c.Out[i]), weight: weight, g: along, r1: norms,
				r2: attach.Any{Data: unsafe.Add(norms.Data, 8), Type: double},
				n:  k.n, squared: 1, lr: p.LearningRates[i], lower: p.LowerBound.Value(),
				upper: p.UpperBound.Value()}
			if mixed {
				s.exact = weight
			}
			if err := cuda.LaunchWith(q, attach.AnyFunc("trust", "along"), q.Each(k.n),
				&s); err != nil {
				return err
			}
		}
		return nil
	})
}
