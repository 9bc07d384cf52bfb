//go:build cuda

package index

import (
	"strconv"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
	"gomx/op/prim"
)

// lookupArgs are the extents of a look-up: runs of n elements, count of them for each of outer, out
// of extent.
type lookupArgs struct{ kind, outer, extent, count, n, wrap int }

// wraps says how an index out of range is made legal; an error cannot be reported from a device.
func wraps(mode string) (int, error) {
	switch mode {
	case "clip":
		return 0, nil
	case "wrap":
		return 1, nil
	}
	return 0, op.ErrUnsupported
}

func (p TakeParams) lookup(s dtype.Shape, indices op.Desc) (k lookupArgs, err error) {
	axis, err := prim.Axis("axis", p.Axis, len(s))
	if err != nil {
		return k, err
	}
	k = lookupArgs{kind: cuda.Code(indices.DType), outer: s[:axis].Size(), extent: s[axis],
		count: indices.Shape.Size(), n: s[axis+1:].Size()}
	k.wrap, err = wraps(p.Mode)
	return k, err
}

func (p PickParams) lookup(s dtype.Shape, indices op.Desc) (k lookupArgs, err error) {
	axis, ok := p.Axis.Get()
	if !ok {
		s, axis = dtype.Shape{s.Size()}, 0
	}
	if axis, err = prim.Axis("axis", axis, len(s)); err != nil {
		return k, err
	}
	k = lookupArgs{kind: cuda.Code(indices.DType), outer: s[:axis].Size(), extent: s[axis],
		count: 1, n: s[axis+1:].Size()}
	k.wrap, err = wraps(p.Mode)
	return k, err
}

// gatherCUDA prepares a kernel of index.cu from inputs src and index to output 0.
func gatherCUDA(name string, k lookupArgs, out op.Desc, src, index int) (*op.Prepared, error) {
	if k.extent == 0 {
		return nil, op.ErrUnsupported
	}
	f := cuda.Func("index", name+strconv.Itoa(out.DType.Size()), dtype.Unknown)
	n := k.outer * k.count * k.n
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return q.Launch(f, q.Each(n), cuda.P(c.Out[0].Data), cuda.P(c.In[src].Data),
			cuda.P(c.In[index].Data), cuda.I(k.kind),
			cuda.I(k.outer), cuda.I(k.extent), cuda.I(k.count), cuda.I(k.n), cuda.I(k.wrap))
	})
}

// sumLookupCUDA prepares the gradient of a look-up from inputs 0, the gradient, and 1, the indices.
func sumLookupCUDA(k lookupArgs, out op.Desc) (*op.Prepared, error) {
	if k.extent == 0 {
		return nil, op.ErrUnsupported
	}
	return attach.NewGroups(k.outer, k.extent, k.count, k.n, k.wrap, 1).Sum(out)
}

func pickCUDA(p PickParams, a *op.Args) (*op.Prepared, error) {
	k, err := p.lookup(a.In[0].Shape, a.In[1])
	if err != nil {
		return nil, err
	}
	return gatherCUDA("pick", k, a.Out[0], 0, 1)
}

func oneHotCUDA(p OneHotParams, a *op.Args) (*op.Prepared, error) {
	f, n := cuda.Func("index", "one_hot", dtype.Unknown), a.In[0].Shape.Size()
	to, from := cuda.Code(a.Out[0].DType), cuda.Code(a.In[0].DType)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return q.Launch(f, q.Each(n*p.Depth), cuda.P(c.Out[0].Data), cuda.P(c.In[0].Data),
			cuda.I(to), cuda.I(from), cuda.I(n), cuda.I(p.Depth),
			cuda.F(p.OnValue.Value()), cuda.F(p.OffValue))
	})
}

// bestArgs is the parameter of the kernel in tensor.cu that compares whole numbers.
type bestArgs struct {
	out, in                  attach.Any
	outer, n, inner, largest int
}

func argCUDA(name string) op.Prepare[ArgParams] {
	return func(p ArgParams, a *op.Args) (*op.Prepared, error) {
		t, s := a.In[0].DType, a.In[0].Shape
		v, err := vectors(p.Axis, s)
		if err != nil || v.n == 0 {
			return nil, op.ErrUnsupported
		}
		if loop.Exact(t) {
			k := bestArgs{outer: v.count / max(v.step, 1), n: v.n, inner: v.step,
				largest: attach.B2I(name == "argmax")}
			return attach.CUDAEach(attach.AnyFunc("tensor", "best"), v.count, k,
				func(k bestArgs, c *op.Call) bestArgs {
					k.out, k.in = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
					return k
				})
		}
		f, to := cuda.Func("reduce", name, t), cuda.Code(a.Out[0].DType)
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return q.Launch(f, q.Each(v.count), cuda.P(c.Out[0].Data), cuda.P(c.In[0].Data),
				cuda.I(to), cuda.I(v.count/max(v.step, 1)), cuda.I(v.n), cuda.I(v.step))
		})
	}
}
