//go:build cuda

package update

import (
	"unsafe"

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
	name   string
	mixed  bool
	states int  // of each weight, the exact weight included
	loaded bool // the last two inputs are learning rates and weight decays
	scaled bool // the last input is the factor of gradients
	// numbers of weight i; all but the learning rate and the weight decay, the first two, and the
	// factor of AdamW, are the same for all weights
	numbers func(p P, i int) numbers
}

// manySteps is how many weights a launch treats: the parameter of a kernel has at most 4096 bytes.
const manySteps = 32

// manyArgs is the parameter of the kernels for many weights in update.cu.
type manyArgs struct {
	count, parts, states, mixed int
	numbers                     [12]float64
	scale                       unsafe.Pointer
	scaleType                   int
	rates, decays               unsafe.Pointer
	listType, which             int
	first                       [manySteps + 1]int
	one                         [manySteps]oneStep
}

// oneStep is a weight of manyArgs.
type oneStep struct {
	out, weight, grad unsafe.Pointer
	state             [4]unsafe.Pointer
	n                 int
	lr, wd, own       float64 // own is number 7 of the rule
}

// span is the number of elements that one block treats.
const span = 2048

// multiCUDA attaches a step that is one launch for up to manySteps weights.
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
		f := cuda.Func("update", m.name+"_many", t)
		var list []manyArgs
		for i := 0; i < len(a.Out); i += manySteps {
			list = append(list, m.launch(p, a, i, min(i+manySteps, len(a.Out)),
				cuda.Code(a.In[last].DType)))
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			for k := range list {
				args := list[k]
				m.fill(&args, c)
				if err := cuda.LaunchWith(q, f, cuda.Grid{X: min(args.parts, 1<<16), Y: 1,
					Threads: 256}, &args); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// launch describes the launch for the weights from one number to another, but for their addresses;
// kind is the element type of lists.
func (m *multiStep[P]) launch(p P, a *op.Args, from, to, kind int) (k manyArgs) {
	k = manyArgs{count: to - from, states: m.states, mixed: attach.B2I(m.mixed), which: from,
		listType: kind, scaleType: kind}
	for i := range k.count {
		now, one := m.numbers(p, from+i), &k.one[i]
		one.n, one.lr, one.wd = a.Out[from+i].Shape.Size(), now[0], now[1]
		one.own = now[7]
		k.first[i] = k.parts
		k.parts += (one.n + span - 1) / span
		copy(k.numbers[:], now[:])
	}
	k.first[k.count] = k.parts
	return k
}

// fill sets the addresses of a launch.
func (m *multiStep[P]) fill(k *manyArgs, c *op.Call) {
	last := len(c.In) - 1
	for i := range k.count {
		one, in := &k.one[i], c.In[(k.which+i)*(2+m.states):]
		one.out, one.weight, one.grad = c.Out[k.which+i].Data, in[0].Data, in[1].Data
		for s := range m.states {
			one.state[s] = in[2+s].Data
		}
	}
	if m.loaded {
		k.rates, k.decays = c.In[last-1].Data, c.In[last].Data
	}
	if m.scaled {
		k.scale = c.In[last].Data
	}
}
