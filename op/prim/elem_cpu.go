//go:build cgo

package prim

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

// mapsC attaches functions of one element by their codes in C.
func mapsC(codes map[op.Handle[op.NoParams]]cpu.MapOp) {
	for h, m := range codes {
		attach.TierC(h, attach.Unary[op.NoParams](cpu.Map{Op: m}))
	}
}

// roundScalar rounds the number as it is for arrays of narrower types.
func roundScalar(p ScalarParams, a *op.Args) (ScalarParams, bool) {
	p.Scalar = round(a.In[0].DType, p.Scalar)
	return p, true
}

// scalarMap replaces powers that have a faster form.
func scalarMap(m cpu.MapOp, s float64) cpu.Map {
	if m == cpu.PowS {
		switch s {
		case 2:
			return cpu.Map{Op: cpu.Square}
		case 1:
			return cpu.Map{Op: cpu.Copy}
		case -1:
			return cpu.Map{Op: cpu.Reciprocal}
		}
	}
	return cpu.Map{Op: m, S: float32(s)}
}

// addUp sums all inputs, in their order.
func addUp(a *op.Args) (*op.Prepared, error) {
	if attach.BFloat16(a) && len(a.In) > 1 {
		return attach.AddUp(a)
	}
	if len(a.In) == 1 {
		return attach.Map(a, cpu.Map{Op: cpu.Copy})
	}
	k, err := attach.Zip(a, cpu.Zip{Op: cpu.Add})
	if err != nil || len(a.In) == 2 {
		return k, err
	}
	n, z := a.Out[0].Shape.Size(), cpu.Zip{Op: cpu.Add, Threads: k.Threads}
	k = attach.Kernel(z.Threads, 0, func(c *op.Call) {
		sum := c.Out[0].Data
		z.Run(sum, c.In[0].Data, c.In[1].Data, n)
		for _, in := range c.In[2:] {
			z.Run(sum, sum, in.Data, n)
		}
	})
	k.Elem = cpu.AddUp{}
	return k, nil
}

func chooseC(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
	n, typ := a.Out[0].Shape.Size(), a.Out[0].DType
	if !attach.AllOf(typ, a.In[1:]) || !attach.AllOf(typ, a.Out) || a.In[0].Layout != nil ||
		a.In[0].Shape.Size() != n {
		return nil, op.ErrUnsupported
	}
	threads := attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})
	k, ok := cpu.NewSelect(a.In[0].DType, typ.Size(), threads)
	if !ok {
		return nil, op.ErrUnsupported
	}
	return attach.Kernel(threads, 0, func(c *op.Call) {
		k.Run(c.Out[0].Data, c.In[0].Data, c.In[1].Data, c.In[2].Data, n)
	}), nil
}

// fillWith prepares operators whose output has one value throughout.
func fillWith[P any](value func(P) float64) op.Prepare[P] {
	return func(p P, a *op.Args) (*op.Prepared, error) {
		out := a.Out[:1]
		if !attach.Float32(&op.Args{Out: out}) {
			return nil, op.ErrUnsupported
		}
		n, v := out[0].Shape.Size(), float32(value(p))
		return attach.Kernel(1, 0, func(c *op.Call) { cpu.Fill(c.Out[0].Data, n, v, 1) }), nil
	}
}
