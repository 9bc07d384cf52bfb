//go:build cuda

package random

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// drawArgs is the parameter of the kernel in draw.cu that draws from distributions.
type drawArgs struct {
	out, a, b     attach.Any
	n, each, kind int
	first, second float64
	key, counter  uint64
}

// The distributions by their numbers in draw.cu.
const (
	isUniform = iota
	isNormal
	isExponential
	isPoisson
	isGamma
	isNegativeBinomial
	isDispersed
)

func init() {
	for h, kind := range map[op.Handle[SampleParams]]int{SampleUniform: isUniform,
		SampleNormal: isNormal, SampleExponential: isExponential, SamplePoisson: isPoisson,
		SampleGamma: isGamma, SampleNegativeBinomial: isNegativeBinomial,
		SampleDispersed: isDispersed} {
		attach.CUDA(h, func(_ SampleParams, a *op.Args) (*op.Prepared, error) {
			k := drawArgs{n: a.Out[0].Shape.Size(), kind: kind}
			k.each = max(k.n/max(a.In[0].Shape.Size(), 1), 1)
			return k.prepare(func(k drawArgs, c *op.Call) drawArgs {
				k.a = attach.AnyOf(c.In[0])
				if len(c.In) > 1 {
					k.b = attach.AnyOf(c.In[1])
				}
				return k
			})
		})
	}
}

// scalarCUDA attaches a distribution whose parameters are numbers.
func scalarCUDA[P any](h op.Handle[P], kind int, params func(P) (a, b float64)) {
	attach.CUDA(h, func(p P, a *op.Args) (*op.Prepared, error) {
		k := drawArgs{n: a.Out[0].Shape.Size(), each: 1, kind: kind}
		k.first, k.second = params(p)
		return k.prepare(func(k drawArgs, _ *op.Call) drawArgs { return k })
	})
}

func (k drawArgs) prepare(fill func(k drawArgs, c *op.Call) drawArgs) (*op.Prepared, error) {
	return attach.CUDAEach(attach.AnyFunc("draw", "draw"), k.n, k,
		func(k drawArgs, c *op.Call) drawArgs {
			k.out, k.key, k.counter = attach.AnyOf(c.Out[0]), c.Seed.Key, c.Seed.Counter
			return fill(k, c)
		})
}

// wholeArgs, classesArgs and shuffleArgs are parameters of the kernels for finite sets.
type (
	wholeArgs struct {
		out                attach.Any
		n, low             int
		span, key, counter uint64
	}
	classesArgs struct {
		out, logs, prob, head attach.Any
		n, each, classes      int
		key, counter          uint64
	}
	shuffleArgs struct {
		out, in                       attach.Any
		order, partner, first, sorted unsafe.Pointer
		n, run                        int
		key, counter                  uint64
	}
)

func shuffleCUDA(p op.NoParams, a *op.Args) (*op.Prepared, error) {
	s := a.In[0].Shape
	if len(s) == 0 || s.Size() == 0 {
		return attach.CUDAMove[op.NoParams]()(p, a)
	}
	fixed := shuffleArgs{n: s[0], run: s.Size() / s[0]}
	steps := attach.Order{Lanes: 1, N: s[0], Step: 1, Ascend: true}
	return attach.OnQueue(3*8*fixed.n+steps.Scratch(), func(q *cuda.Queue, c *op.Call) error {
		k := fixed
		k.out, k.in, k.key, k.counter = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]), c.Seed.Key,
			c.Seed.Counter
		k.order, k.partner = c.Scratch, unsafe.Add(c.Scratch, 8*k.n)
		k.first = unsafe.Add(k.partner, 8*k.n)
		launch := func(name string, n int) error {
			return cuda.LaunchWith(q, attach.AnyFunc("draw", name), q.Each(n), &k)
		}
		if err := launch("shuffle_partners", k.n); err != nil {
			return err
		}
		var err error
		if k.sorted, err = steps.Run(q, attach.Any{Data: k.partner, Type: cuda.Code(dtype.Int64)},
			unsafe.Add(k.first, 8*k.n)); err != nil {
			return err
		}
		if err := launch("shuffle_first", k.n); err != nil {
			return err
		}
		if err := launch("shuffle_order", k.n); err != nil {
			return err
		}
		return launch("shuffle_rows", k.n*k.run)
	})
}
