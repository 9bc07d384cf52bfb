//go:build cuda

package nn

import (
	"slices"
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// normArgs is the parameter of the kernels in norm.cu.
type normArgs struct {
	out, x, dy                                                   unsafe.Pointer
	gamma, beta, mean, inv, movingMean, movingVar, dgamma, dbeta unsafe.Pointer
	stat, outer, channels, inner                                 int
	eps, momentum                                                float64
	fixGamma, batchStats                                         int
	bias                                                         unsafe.Pointer
}

// newNormArgs fills in the fields that stay the same from run to run.
func newNormArgs(p BatchNormParams, a *op.Args, data op.Desc, stat op.Desc) (normArgs, error) {
	if !cuda.Serves("norm", data.DType) {
		return normArgs{}, op.ErrUnsupported
	}
	v := newChannels(data.Shape, p.Axis.Value())
	if attach.IsLast(data) {
		v = channels{outer: v.outer * v.inner, count: v.count, inner: 1}
	}
	args := normArgs{stat: cuda.Code(stat.DType), outer: v.outer, channels: v.count, inner: v.inner,
		eps: p.Eps.Value(), momentum: p.Momentum.Value()}
	if !p.NoFixGamma {
		args.fixGamma = 1
	}
	if a.Train && !p.UseGlobalStats {
		args.batchStats = 1
	}
	return args, nil
}

// normLayouts returns the inputs and outputs of a normalization or its gradient, with channels last
// where the data, input number x, have them so and the output may; the first x+1 inputs and the first
// output have the shape of the data.
func normLayouts(p BatchNormParams, a *op.Args, x int) (in, out []op.Desc) {
	in, out = plainArgs(a).In, slices.Clone(a.Out)
	axis := p.Axis.Value()
	if !attach.IsLast(a.In[x]) || a.Needs(0) && !a.Chooses(0) ||
		axis != 1 && axis != 1-len(in[x].Shape) {
		return in, out
	}
	for i := range x + 1 {
		in[i] = attach.Last(in[i])
	}
	out[0] = attach.Last(out[0])
	return in, out
}

// perChannel is the scratch of one number for each channel.
func (a *normArgs) perChannel() int { return (8*a.channels + 255) &^ 255 }

// launch runs a kernel that sums over each channel and, where an output is wanted, one that
// computes its n elements.
func (a *normArgs) launch(q *cuda.Queue, sums, apply *cuda.Function, n int) error {
	if err := cuda.LaunchWith(q, sums, attach.LaneGrid(a.channels, a.outer*a.inner),
		a); err != nil || a.out == nil {
		return err
	}
	return cuda.LaunchWith(q, apply, q.Each(n), a)
}

// unless returns p, or the next number for each channel of scratch where nobody wants p.
func (a *normArgs) unless(p unsafe.Pointer, s *attach.CUDAScratch) unsafe.Pointer {
	if spare := s.Take(a.perChannel()); p == nil {
		return spare
	}
	return p
}

func batchNormCUDA(p BatchNormParams, a *op.Args) (*op.Prepared, error) {
	in, out := normLayouts(p, a, 0)
	fixed, err := newNormArgs(p, a, in[0], in[1])
	if err != nil {
		return nil, err
	}
	t, n := a.In[0].DType, a.In[0].Shape.Size()
	stats, apply := cuda.Func("norm", "batch_stats", t), cuda.Func("norm", "batch_norm", t)
	lib := newNormDNN(&fixed, in[0], in[1].DType)
	k, err := attach.OnQueue(3*fixed.perChannel(), func(q *cuda.Queue, c *op.Call) error {
		args, scratch := fixed, attach.CUDAScratch{Base: c.Scratch}
		args.out, args.x, args.gamma, args.beta = c.Out[0].Data, c.In[0].Data, c.In[1].Data,
			c.In[2].Data
		args.movingMean, args.movingVar = c.In[3].Data, c.In[4].Data
		if len(c.In) > normBias {
			args.bias = c.In[normBias].Data
		}
		args.mean, args.inv = args.unless(c.Out[1].Data, &scratch), args.unless(c.Out[2].Data,
			&scratch)
		mean, inv := c.Out[1].Data != nil, c.Out[2].Data != nil
		if err := lib.forward(q, &args, &scratch, mean || inv,
			mean && inv && !p.OutputMeanVar); err != cuda.ErrNotServed {
			return err
		}
		if err := q.PutLate(); err != nil {
			return err
		}
		return args.launch(q, stats, apply, n)
	})
	k.Holds, k.In, k.Out = lib.learns, in, out
	return k, err
}

func batchNormGradCUDA(p BatchNormParams, a *op.Args) (*op.Prepared, error) {
	in, out := normLayouts(p, a, 1)
	fixed, err := newNormArgs(p, a, in[1], in[2])
	if err != nil {
		return nil, err
	}
	t, n := a.In[1].DType, a.In[1].Shape.Size()
	sums, apply := cuda.Func("norm", "batch_sums", t), cuda.Func("norm", "batch_norm_grad", t)
	lib := newNormDNN(&fixed, in[1], in[2].DType)
	k, err := attach.OnQueue(3*fixed.perChannel(), func(q *cuda.Queue, c *op.Call) error {
		args, scratch := fixed, attach.CUDAScratch{Base: c.Scratch}
		args.out, args.dy, args.x, args.gamma = c.Out[0].Data, c.In[0].Data, c.In[1].Data,
			c.In[2].Data
		args.mean, args.inv, args.dgamma, args.dbeta = c.In[3].Data, c.In[4].Data, c.Out[1].Data,
			c.Out[2].Data
		if err := lib.backward(q, &args, scratch); err != cuda.ErrNotServed {
			return err
		}
		args.movingMean, args.movingVar = scratch.Take(args.perChannel()),
			scratch.Take(args.perChannel())
		return args.launch(q, sums, apply, n)
	})
	k.Apart, k.In, k.Out = lib.learns, in, out
	return k, err
}
