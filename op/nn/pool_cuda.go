//go:build cuda

package nn

import (
	"slices"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// poolArgs is the parameter of the kernels in pool.cu.
type poolArgs struct {
	out, x, y, dy   unsafe.Pointer
	batch, channels int
	in, outExt      [3]int
	kernel, stride  [3]int
	pad             [3]int
	sx, sy          [5]int
	kind, countPad  int
	power, lowest   float64
}

func init() {
	attach.CUDA(Pooling, func(p PoolingParams, a *op.Args) (*op.Prepared, error) {
		return poolLast(p, a, 0, func(in, out []op.Desc) (*op.Prepared, error) {
			return poolCUDA("pool", p, in[0], out[0],
				func(args *poolArgs, c *op.Call) { args.x = c.In[0].Data })
		})
	})
	attach.CUDA(PoolingGrad, func(p PoolingParams, a *op.Args) (*op.Prepared, error) {
		return poolLast(p, a, 1, func(in, out []op.Desc) (*op.Prepared, error) {
			return poolCUDA("pool_grad", p, out[0], in[0], func(args *poolArgs, c *op.Call) {
				args.dy, args.x, args.y = c.In[0].Data, c.In[1].Data, c.In[2].Data
			})
		})
	})
	attach.CUDA(PoolingSumGrad, func(p PoolingParams, a *op.Args) (*op.Prepared, error) {
		return poolLast(p, a, 1, func(in, out []op.Desc) (*op.Prepared, error) {
			return poolCUDA("pool_grad", p, out[0], in[0],
				func(args *poolArgs, c *op.Call) { args.dy = c.In[0].Data })
		})
	})
}

// poolLast lets f prepare pooling or its gradient for plain operands, or for operands with their
// channels last where the data, input number x, have them so and the output may.
func poolLast(p PoolingParams, a *op.Args, x int,
	f func(in, out []op.Desc) (*op.Prepared, error)) (*op.Prepared, error) {
	in, out := plainArgs(a).In, slices.Clone(a.Out)
	last := attach.Last(out[0])
	channel, _ := poolLayout(p, len(in[x].Shape))
	if attach.IsLast(a.In[x]) && channel == 1 && (a.Chooses(0) || !attach.IsLast(last)) {
		for i := range in {
			in[i] = attach.Last(in[i])
		}
		out[0] = last
	}
	if len(in) == 2 {
		in[1] = a.In[1] // the gradient of averages and sums reads no data
	}
	k, err := f(in, out)
	if err == nil {
		k.In, k.Out = in, out
	}
	return k, err
}

// poolCUDA is poolCUDA by the rules of old: windows of maxima count padding as zeros, averages
// divide by their whole extent.
func (p PoolingV1Params) poolCUDA(name string, data, output op.Desc, operands func(args *poolArgs,
	c *op.Call)) (*op.Prepared, error) {
	v1, now := map[string]string{"max": "max_v1", "avg": "avg_v1", "sum": "sum"}, p.current()
	now.PoolType = v1[p.PoolType]
	return poolCUDA(name, now, data, output, operands)
}

// poolCUDA prepares a kernel between data and output; operands fills in where they are.
func poolCUDA(name string, p PoolingParams, data, output op.Desc, operands func(args *poolArgs,
	c *op.Call)) (*op.Prepared, error) {
	if !cuda.Serves("pool", data.DType) {
		return nil, op.ErrUnsupported
	}
	g := newPooling(p, data.Shape, output.Shape)
	for side, d := range map[*[5]int]op.Desc{&g.x: data, &g.y: output} {
		if attach.IsLast(d) {
			st := attach.LastStrides(d.Shape)
			side[0], side[1] = st[0], st[1]
			copy(side[5-(len(st)-2):], st[2:])
		}
	}
	fixed := poolArgs{batch: g.batch, channels: g.channels, in: g.in, outExt: g.out,
		kernel: g.kernel, stride: g.stride, pad: g.pad, sx: g.x, sy: g.y,
		kind: map[string]int{"max": 0, "sum": 1, "avg": 2, "lp": 3, "max_v1": 4,
			"avg_v1": 5}[p.PoolType], power: float64(p.PValue.Or(1)), lowest: lowest(data.DType)}
	if g.countPad {
		fixed.countPad = 1
	}
	f, n := cuda.Func("pool", name, data.DType), output.Shape.Size()
	if name == "pool_grad" {
		n = dtype.Shape(data.Shape).Size()
	}
	lib := g.library(p, data.DType, name)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		args := fixed
		args.out = c.Out[0].Data
		operands(&args, c)
		if err := args.byLibrary(q, lib, name); err != cuda.ErrNotServed {
			return err
		}
		return cuda.LaunchWith(q, f, q.Each(n), &args)
	})
}

// library returns the layer as cuDNN computes it, nil where it does not, or where it is not
// expected to be faster: windows that cover everything are sums of long rows.
func (g *pooling) library(p PoolingParams, t dtype.Type, name string) *cuda.Pool {
	if name == "pool_select" || p.GlobalPool || p.PoolType != "max" && p.PoolType != "avg" {
		return nil
	}
	return cuda.NewPool(t, cuda.PoolDims{Batch: g.batch, Channels: g.channels, In: g.in, Out: g.out,
		Kernel: g.kernel, Stride: g.stride, Pad: g.pad,
		InStrides: g.x, OutStrides: g.y, Average: g.avg, CountsPad: g.countPad})
}

// byLibrary puts the layer on q by way of cuDNN.
func (k *poolArgs) byLibrary(q *cuda.Queue, lib *cuda.Pool, name string) error {
	switch {
	case lib == nil:
		return cuda.ErrNotServed
	case name == "pool":
		return lib.Forward(q, k.out, k.x)
	case k.x == nil: // averages
		return lib.Backward(q, k.out, k.dy, k.out, k.dy)
	}
	return lib.Backward(q, k.out, k.dy, k.x, k.y)
}
