package nn

import (
	"math"

	"gomx/device"
	"gomx/device/cpu/pure"
	"gomx/op"
	"gomx/op/attach"
)

// activationsGo are the commonest functions with their derivatives in terms of the output.
var activationsGo = map[string]struct{ value, slope func(v float32) float32 }{
	"relu": {func(x float32) float32 {
		if x < 0 {
			return 0
		}
		return x
	}, func(y float32) float32 {
		switch {
		case y > 0:
			return 1
		case y != y:
			return y
		}
		return 0
	}},
	"sigmoid": {func(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) },
		func(y float32) float32 { return y * (1 - y) }},
	"tanh": {func(x float32) float32 { return float32(math.Tanh(float64(x))) },
		func(y float32) float32 { return 1 - y*y }},
}

func init() {
	attach.TierGo(Activation, func(p ActivationParams, a *op.Args) (*op.Prepared, error) {
		f, ok := activationsGo[p.ActType]
		if !ok || !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		n := a.Out[0].Shape.Size()
		threads := attach.Threads(a, device.Work{Elems: 30 * float64(n)})
		return attach.Kernel(threads, 0, func(c *op.Call) {
			y, x := attach.Floats(c.Out[0]), attach.Floats(c.In[0])
			pure.Parallel(threads, n, func(_, begin, end int) {
				for i, v := range x[begin:end] {
					y[begin+i] = f.value(v)
				}
			})
		}), nil
	})
	attach.TierGo(ActivationGrad, func(p ActivationParams, a *op.Args) (*op.Prepared, error) {
		f, ok := activationsGo[p.ActType]
		if !ok || !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		n := a.Out[0].Shape.Size()
		threads := attach.Threads(a, device.Work{Elems: 4 * float64(n)})
		return attach.Kernel(threads, 0, func(c *op.Call) {
			dx, dy, y := attach.Floats(c.Out[0]), attach.Floats(c.In[0]), attach.Floats(c.In[1])
			pure.Parallel(threads, n, func(_, begin, end int) {
				for i := begin; i < end; i++ {
					dx[i] = dy[i] * f.slope(y[i])
				}
			})
		}), nil
	})
}
