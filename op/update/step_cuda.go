//go:build cuda

package update

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// stepArgs is the parameter of the kernels in update.cu.
type stepArgs struct {
	out, weight, grad unsafe.Pointer
	state             [4]unsafe.Pointer
	n, states, mixed  int
	numbers           [12]float64
	scale             unsafe.Pointer
	scaleType         int
	rates, decays     unsafe.Pointer
	listType, which   int
}

// numbers are the parameters of a rule: learning rate, weight decay, factor and limit of the
// gradient, and five of its own.
type numbers [9]float64

// stepCUDA attaches a rule. With mixed precision the last input is the exact weight.
func stepCUDA[P any](h op.Handle[P], name string, mixed bool, of func(P) numbers) {
	scaledStepCUDA(h, name, mixed, false, of)
}

// scaledStepCUDA is stepCUDA where the factor of the gradient may be the last input.
func scaledStepCUDA[P any](h op.Handle[P], name string, mixed, scaled bool, of func(P) numbers) {
	attach.CUDA(h, func(p P, a *op.Args) (*op.Prepared, error) {
		t, last := a.Out[0].DType, len(a.In)
		if scaled {
			last--
		}
		if !cuda.Serves("update", t) || last > 6 {
			return nil, op.ErrUnsupported
		}
		f, many := cuda.Func("update", name, t), cuda.Func("update", name+"_many", t)
		fixed := stepArgs{n: a.Out[0].Shape.Size(), states: last - 2}
		if scaled {
			fixed.scaleType = cuda.Code(a.In[last].DType)
		}
		if mixed {
			fixed.mixed = 1
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			args := fixed
			args.out, args.weight, args.grad = c.Out[0].Data, c.In[0].Data, c.In[1].Data
			for i, s := range c.In[2:last] {
				args.state[i] = s.Data
			}
			if scaled {
				args.scale = c.In[last].Data
			}
			now := of(h.At(p, c))
			copy(args.numbers[:], now[:])
			if j := q.Joint(newJointSteps); j != nil {
				return j.(*jointSteps).add(q, many, &args)
			}
			return cuda.LaunchWith(q, f, q.Each(args.n), &args)
		})
	})
}
