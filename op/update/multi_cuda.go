//go:build cuda

package update

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// pick chooses the operator with or without exact weights.
func pick[P any](mixed bool, plain, mp op.Handle[P]) op.Handle[P] {
	if mixed {
		return mp
	}
	return plain
}

// multiStep is an optimizer's step for many weights.
type multiStep[P any] struct {
	name    string
	mixed   bool
	states  int  // of each weight, the exact weight included
	loaded  bool // the last two inputs are learning rates and weight decays
	scaled  bool // the last input is the factor of gradients
	numbers func(p P, i int) numbers
}

// multiCUDA attaches a step that is one launch for each weight.
func multiCUDA[P any](h op.Handle[P], m multiStep[P]) {
	attach.CUDA(h, func(p P, a *op.Args) (*op.Prepared, error) {
		t, last := a.Out[0].DType, len(a.In)-1
		for _, d := range a.Out {
			if d.DType != t {
				return nil, op.ErrUnsupported
			}
		}
		if !cuda.Serves("update", t) {
			return nil, op.ErrUnsupported
		}
		f, list := cuda.Func("update", m.name, t), make([]stepArgs, len(a.Out))
		for i := range list {
			list[i] = stepArgs{n: a.Out[i].Shape.Size(), states: m.states,
				mixed: attach.B2I(m.mixed), which: i,
				listType: cuda.Code(a.In[last].DType), scaleType: cuda.Code(a.In[last].DType)}
			now := m.numbers(p, i)
			copy(list[i].numbers[:], now[:])
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			for i := range list {
				args, in := list[i], c.In[i*(2+m.states):]
				args.out, args.weight, args.grad = c.Out[i].Data, in[0].Data, in[1].Data
				for s := range m.states {
					args.state[s] = in[2+s].Data
				}
				if m.loaded {
					args.rates, args.decays = c.In[last-1].Data, c.In[last].Data
				}
				if m.scaled {
					args.scale = c.In[last].Data
				}
				if err := cuda.LaunchWith(q, f, q.Each(args.n), &args); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
