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

func init() {
	for h, master := range map[op.Handle[LambUpdatePhase1Params]]int{LambUpdatePhase1: 0, MPLambUpdatePhase1: 4} {
		attach.CUDA(h, func(p LambUpdatePhase1Params, a *op.Args) (*op.Prepared, error) {
			n := a.Out[0].Shape.Size()
			return attach.CUDAEach(attach.AnyFunc("trust", "direction"), n, p.directionCUDA(n), func(k directionArgs, c *op.Call) directionArgs {
				k.out, k.weight, k.grad = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[master]), attach.AnyOf(c.In[1])
				k.mean, k.variance = attach.AnyOf(c.In[2]), attach.AnyOf(c.In[3])
				return k
			})
		})
	}
	for h, master := range map[op.Handle[LambUpdatePhase2Params]]int{LambUpdatePhase2: 0, MPLambUpdatePhase2: 4} {
		attach.CUDA(h, func(p LambUpdatePhase2Params, a *op.Args) (*op.Prepared, error) {
			n := a.Out[0].Shape.Size()
			return attach.CUDAEach(attach.AnyFunc("trust", "along"), n, alongArgs{n: n}, func(k alongArgs, c *op.Call) alongArgs {
				now := h.At(p, c)
				k.lr, k.lower, k.upper = now.LR, now.LowerBound.Value(), now.UpperBound.Value()
				k.out, k.weight, k.g = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[master]), attach.AnyOf(c.In[1])
				k.r1, k.r2 = attach.AnyOf(c.In[2]), attach.AnyOf(c.In[3])
				if master > 0 {
					k.exact = k.weight
				}
				return k
			})
		})
	}
	for _, mixed := range []bool{false, true} {
		attach.CUDA(pick(mixed, MultiLambUpdate, MultiMPLambUpdate), func(p MultiLambUpdateParams, a *op.Args) (*op.Prepared, error) {
			return lambCUDA(p, a, mixed)
		})
	}
	attach.CUDA(MultiSumSq, sumSquaresCUDA)
	attach.CUDA(MultiLars, func(p MultiLarsParams, a *op.Args) (*op.Prepared, error) {
		k := larsArgs{n: a.Out[0].Shape.Size(), eta: p.Eta, eps: p.Eps, rescale: p.RescaleGrad.Value()}
		return attach.CUDAEach(attach.AnyFunc("trust", "lars"), k.n, k, func(k larsArgs, c *op.Call) larsArgs {
			k.out, k.lrs, k.weights = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]), attach.AnyOf(c.In[1])
			k.grads, k.wds = attach.AnyOf(c.In[2]), attach.AnyOf(c.In[3])
			return k
		})
	})
	attach.CUDA(GroupAdagradUpdate, func(p GroupAdagradUpdateParams, a *op.Args) (*op.Prepared, error) {
		k := rowStepArgs{rows: a.In[2].Shape.Size()}
		k.width = a.In[0].Shape.Size() / max(k.rows, 1)
		return attach.CUDABlocks(attach.AnyFunc("trust", "row_adagrad"), k.rows, k.width, k, func(k rowStepArgs, c *op.Call) rowStepArgs {
			now := GroupAdagradUpdate.At(p, c)
			k.lr, k.rescale, k.limit, k.eps = now.LR, now.RescaleGrad.Value(), now.ClipGradient.Value(), now.Epsilon.Value()
			k.out, k.weight, k.grad, k.history = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]), attach.AnyOf(c.In[1]), attach.AnyOf(c.In[2])
			return k
		})
	})
}

// directionCUDA is the parameter of the first phase, but for the operands.
func (p LambUpdatePhase1Params) directionCUDA(n int) directionArgs {
	k := directionArgs{n: n, beta1: p.Beta1.Value(), beta2: p.Beta2.Value(), eps: p.Epsilon.Value(), wd: p.WD, rescale: p.RescaleGrad.Value(), limit: p.ClipGradient.Value(), mean1: 1, var1: 1}
	if !p.NoBiasCorrection {
		k.mean1, k.var1 = 1-math.Pow(k.beta1, float64(p.T)), 1-math.Pow(k.beta2, float64(p.T))
	}
	return k
}

// mostChunks is the most blocks that sum up squares.
const mostChunks = 256

// squares puts the sum of squares of x on a queue, into element at of out; part has room for mostChunks doubles.
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
			if err := squares(q, attach.AnyOf(c.Out[0]), attach.AnyOf(t), t.Shape.Size(), i, c.Scratch); err != nil {
				return err
			}
		}
		return nil
	})
}

// lambCUDA is both phases of LAMB for many weights: the directions are in scratch memory, as doubles.
func lambCUDA(p MultiLambUpdateParams, a *op.Args, mixed bool) (*op.Prepared, error) {
	stride, most := 4, 0
	if mixed {
		stride = 5
	}
	list := make([]directionArgs, len(a.Out))
	for i, d := range a.Out {
		n := d.Shape.Size()
		list[i] = LambUpdatePhase1Params{Beta1: p.Beta1, Beta2: p.Beta2, Epsilon: p.Epsilon, T: p.StepCount[i], NoBiasCorrection: p.NoBiasCorrection,
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
			k.out, k.weight, k.grad, k.mean, k.variance = along, weight, attach.AnyOf(in[1]), attach.AnyOf(in[2]), attach.AnyOf(in[3])
			if err := squares(q, norms, weight, k.n, 0, part); err != nil {
				return err
			}
			if err := cuda.LaunchWith(q, attach.AnyFunc("trust", "direction"), q.Each(k.n), &k); err != nil {
				return err
			}
			if err := squares(q, norms, along, k.n, 1, part); err != nil {
				return err
			}
			s := alongArgs{out: attach.AnyOf(c.Out[i]), weight: weight, g: along, r1: norms, r2: attach.Any{Data: unsafe.Add(norms.Data, 8), Type: double},
				n: k.n, squared: 1, lr: p.LearningRates[i], lower: p.LowerBound.Value(), upper: p.UpperBound.Value()}
			if mixed {
				s.exact = weight
			}
			if err := cuda.LaunchWith(q, attach.AnyFunc("trust", "along"), q.Each(k.n), &s); err != nil {
				return err
			}
		}
		return nil
	})
}
