//go:build cgo

package prim

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.Exactly(FusedPointwise, chainC) }

// chainC prepares a chain whose steps all describe their function of an element.
func chainC(p PointwiseParams, a *op.Args) (*op.Prepared, error) {
	prepare := cpu.NewChain
	if attach.BFloat16(a) {
		prepare = cpu.NewNarrowChain
	} else if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	c, err := p.parse()
	if err != nil {
		return nil, err
	}
	in := make([]cpu.Repeat, len(a.In))
	for k, d := range a.In {
		each, size, ok := Repeats(d.Shape, a.Out[0].Shape)
		if !ok {
			return nil, op.ErrUnsupported
		}
		in[k] = cpu.Repeat{Each: each, Size: size}
	}
	n := a.Out[0].Shape.Size()
	work := device.Work{Bytes: attach.Bytes(a)}
	steps := make([]cpu.ChainStep, len(c.Steps))
	for i, s := range c.Steps {
		do := elemOn(device.KindCPU, a.Out[0].DType, s.Op, s.Params, len(s.Args))
		if do == nil {
			return nil, op.ErrUnsupported
		}
		steps[i] = cpu.ChainStep{Do: do, Args: s.Args}
		if slow(do) {
			work.Elems += float64(n)
		}
	}
	var outs, kept []int // values and outputs that are wanted
	for i, v := range c.Outs {
		if a.Needs(i) {
			outs, kept = append(outs, v), append(kept, i)
		}
	}
	threads := attach.Threads(a, work)
	k, ok := prepare(in, steps, outs, threads)
	if !ok {
		return nil, op.ErrUnsupported
	}
	return attach.Kernel(threads, 0, func(c *op.Call) {
		var from [cpu.ChainInputs]unsafe.Pointer
		var to [cpu.ChainOutputs]unsafe.Pointer
		for i := range c.In {
			from[i] = c.In[i].Data
		}
		for i, k := range kept {
			to[i] = c.Out[k].Data
		}
		k.Run(to[:len(kept)], from[:len(c.In)], n)
	}), nil
}

func slow(do any) bool {
	switch do := do.(type) {
	case cpu.Map:
		return do.Op.Slow()
	case cpu.Zip:
		return do.Op.Slow()
	}
	return false
}
