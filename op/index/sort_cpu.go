//go:build cgo

package index

import (
	"math"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(Sort, func(p SortParams, a *op.Args) (*op.Prepared, error) {
		return orderC(p.topK(), a)
	})
	attach.TierC(ArgSort, func(p ArgSortParams, a *op.Args) (*op.Prepared, error) {
		return orderC(p.topK(), a)
	})
	attach.TierC(TopK, orderC)
}

// orderC serves float32 data with indices of float32 or int32.
func orderC(p TopKParams, a *op.Args) (*op.Prepared, error) {
	v, err := vectors(p.Axis, a.In[0].Shape)
	if err != nil {
		return nil, err
	}
	ints := p.DType == dtype.Int32
	if !attach.AllOf(dtype.Float32, a.In) || v.n*v.count == 0 || v.n > math.MaxInt32 ||
		p.RetTyp != "mask" && p.DType != dtype.Float32 && !ints {
		return nil, op.ErrUnsupported
	}
	n := float64(v.n * v.count)
	k := cpu.Order{Axis: cpu.Axis3{Outer: v.count / v.step, N: v.n, Inner: v.step}, K: p.take(v.n),
		Descend: !p.IsAscend, Ints: ints,
		Threads: attach.Threads(a, device.Work{Elems: 4 * n})}
	return attach.Kernel(k.Threads, k.Scratch(), func(c *op.Call) {
		d := cpu.Ordered{X: c.In[0].Data}
		switch {
		case p.RetTyp == "mask":
			cpu.Fill(c.Out[0].Data, c.Out[0].Shape.Size(), 0, 1)
			d.Mask = c.Out[0].Data
		case p.values():
			d.Values, d.Indices = c.Out[0].Data, c.Out[1].Data
		default:
			d.Indices = c.Out[0].Data
		}
		k.Run(d, c.Scratch)
	}), nil
}
