//go:build cuda

package loss

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// headArgs is the parameter of the kernels in loss.cu.
type headArgs struct {
	out, x, label                               unsafe.Pointer
	samples, classes, inner, labels             int
	scale, alpha, ignore                        float64
	useIgnore, timesOut, byValid, probabilities int
	valid                                       unsafe.Pointer
}

func init() {
	attach.CUDA(SoftmaxOutput, softmaxCUDA)
	attach.CUDA(SoftmaxOutputGrad, softmaxGradCUDA)
}

func softmaxCUDA(p SoftmaxOutputParams, a *op.Args) (*op.Prepared, error) {
	if !cuda.Serves("softmax", a.In[0].DType) {
		return nil, op.ErrUnsupported
	}
	v := newClasses(p, a.In[0].Shape)
	l := attach.NewLanes("softmax", "softmax", a.In[0].DType, []int{v.samples, v.count, v.inner}, 1)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return l.Run(q, c, c.In[0].Data, nil)
	})
}

func softmaxGradCUDA(p SoftmaxOutputParams, a *op.Args) (*op.Prepared, error) {
	t := a.In[0].DType
	if !cuda.Serves("loss", t) || a.In[1].DType != t {
		return nil, op.ErrUnsupported
	}
	v := newClasses(p, a.In[0].Shape)
	fixed := headArgs{samples: v.samples, classes: v.count, inner: v.inner,
		labels: a.In[1].Shape.Size(), ignore: p.IgnoreLabel.Value(), scale: p.GradScale.Value()}
	if p.UseIgnore {
		fixed.useIgnore = 1
	}
	if p.OutGrad {
		fixed.timesOut = 1
	}
	if !p.MultiOutput {
		fixed.alpha = p.SmoothAlpha
	}
	if a.In[1].Shape.Equal(a.In[0].Shape) {
		fixed.probabilities = 1
	} else if p.Normalization == "valid" {
		fixed.byValid = 1
	} else {
		fixed.scale = v.scale(p, make([]float64, fixed.labels))
	}
	n := a.Out[0].Shape.Size()
	count, grad := cuda.Func("loss", "count_valid", t), cuda.Func("loss", "softmax_head_grad", t)
	return attach.OnQueue(64, func(q *cuda.Queue, c *op.Call) error {
		args := fixed
		args.out, args.x, args.label, args.valid = c.Out[0].Data, c.In[0].Data, c.In[1].Data,
			c.Scratch
		if args.byValid != 0 {
			if err := cuda.LaunchWith(q, count, cuda.Grid{X: 1, Y: 1, Threads: 256},
				&args); err != nil {
				return err
			}
		}
		return cuda.LaunchWith(q, grad, q.Each(n), &args)
	})
}
