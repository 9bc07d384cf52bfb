//go:build cuda

package prim

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.CUDA(FusedPointwise, chainCUDA) }

// chainCUDA prepares a chain as one kernel made of its steps' expressions.
func chainCUDA(p PointwiseParams, a *op.Args) (*op.Prepared, error) {
	c, err := p.parse()
	if err != nil {
		return nil, err
	}
	types, err := c.types(typesOf(a.In))
	if err != nil {
		return nil, err
	}
	in := make([]cuda.ChainInput, len(a.In))
	for k, d := range a.In {
		each, size, ok := Repeats(d.Shape, a.Out[0].Shape)
		if !ok {
			return nil, op.ErrUnsupported
		}
		in[k] = cuda.ChainInput{Each: each, Size: size, Type: d.DType}
	}
	steps, number, ok := stepsCUDA(c, types)
	if !ok {
		return nil, op.ErrUnsupported
	}
	var outs, kept []int // values and outputs that are wanted
	for i, v := range c.Outs {
		if a.Needs(i) {
			outs, kept = append(outs, number[v]), append(kept, i)
		}
	}
	n := a.Out[0].Shape.Size()
	k, ok := cuda.NewChain(n, in, steps, outs)
	if !ok {
		return nil, op.ErrUnsupported
	}
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		if n == 0 {
			return nil
		}
		var from [cuda.ChainInputs]unsafe.Pointer
		var to [cuda.ChainOutputs]unsafe.Pointer
		for i := range c.In {
			from[i] = c.In[i].Data
		}
		for i, k := range kept {
			to[i] = c.Out[k].Data
		}
		return k.Run(q, to[:len(kept)], from[:len(c.In)])
	})
}

// stepsCUDA returns the functions that the steps of a chain apply to an element, given the types of
// its values, and the numbers of these values.
func stepsCUDA(c *Chain, types []dtype.Type) (steps []cuda.ChainStep, number []int, ok bool) {
	for i := range c.Inputs {
		number = append(number, i)
	}
	for i, s := range c.Steps {
		t := types[c.Inputs+i]
		args := make([]int, len(s.Args))
		for k, v := range s.Args {
			args[k] = number[v]
		}
		if s.Op == AddN.Op && len(args) > 2 {
			for _, v := range args[1:] {
				steps = append(steps, cuda.ChainStep{Name: "add", Args: []int{args[0], v}, Type: t})
				args[0] = c.Inputs + len(steps) - 1
			}
			number = append(number, args[0])
			continue
		}
		if IsCast(s.Op) {
			steps = append(steps, cuda.ChainStep{Name: "copy", Args: args, Type: t})
			number = append(number, c.Inputs+len(steps)-1)
			continue
		}
		do, ok := elemOn(device.KindCUDA, t, s.Op, s.Params, len(s.Args)).(attach.Elem)
		if !ok {
			return nil, nil, false
		}
		steps = append(steps, cuda.ChainStep{Name: do.Name, S: do.S, T: do.T, Args: do.Pick(args),
			Type: t})
		number = append(number, c.Inputs+len(steps)-1)
	}
	return steps, number, true
}
