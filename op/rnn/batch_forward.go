package rnn

import (
	"gomx/op"
	"gomx/op/attach"
)

// prepareForward readies the batched kernel of RNN.
func prepareForward(p RNNParams, a *op.Args, b backend) (*kernel, int, error) {
	k, err := newKernel(p, a, a.In[0].Shape, b)
	if err != nil {
		return nil, 0, err
	}
	var count arena
	newForward(k, &count, a.Needs(len(a.Out)-1))
	return k, count.used, nil
}

// forward is the memory of one run of the batched kernel.
type forward struct {
	*kernel
	call   *op.Call
	params []float32
	kept   []float32    // the reserve, or room for one direction of one layer
	all    bool         // kept is the whole reserve
	y      [2][]float32 // outputs of layers, by turns
	masks  []float32
	state  []float32 // what the gates get from the state
	tanh   []float32
	full   []float32 // outputs before projection
}

// newForward takes memory from a; reserved says that the reserve has memory elsewhere.
func newForward(k *kernel, a *arena, reserved bool) *forward {
	f := &forward{kernel: k, all: reserved}
	if !reserved {
		f.kept = a.floats(k.reserveSize())
	}
	size := k.steps * k.batch * k.dirs * k.out
	f.y[0], f.y[1] = a.floats(size), a.floats(size)
	if k.drops {
		f.masks = a.floats(size)
	}
	if k.p.Mode == "gru" {
		f.state = a.floats(k.batch * k.rows())
	}
	if k.cell.memory {
		f.tanh = a.floats(k.batch * k.hidden)
	}
	if k.projected {
		f.full = a.floats(k.batch * k.hidden)
	}
	return f
}

// forward runs the network.
func (k *kernel) forward(c *op.Call) error {
	last := c.Out[len(c.Out)-1]
	f := newForward(k, &arena{base: c.Scratch}, last.Data != nil)
	f.call, f.params = c, attach.Floats(c.In[1])
	if f.all {
		f.kept = attach.Floats(last)
	}
	x := attach.Floats(c.In[0])
	for l := range k.layers {
		y := f.y[l%2]
		if l == k.layers-1 && c.Out[0].Data != nil {
			y = attach.Floats(c.Out[0])
		}
		for d := range k.dirs {
			if err := f.direction(l, d, x, y); err != nil {
				return err
			}
		}
		if l < k.layers-1 {
			f.drop(l, y)
		} else if f.all {
			for d := range k.dirs {
				clear(f.keep(l, d).mask)
			}
		}
		x = y
	}
	return nil
}

// keep returns where to keep what the gradient reads of one direction of a layer.
func (f *forward) keep(layer, dir int) reserve[float32] {
	if f.all {
		return reserveOf(&f.net, f.kept, layer, dir)
	}
	return reserveOf(&f.net, f.kept, 0, 0)
}

// direction runs one direction of a layer from x to its part of y.
func (f *forward) direction(layer, dir int, x, y []float32) error {
	w, keep, at := weightsOf(&f.net, f.params, layer, dir), f.keep(layer, dir), layer*f.dirs+dir
	gates, rows := keep.gates, f.rows()
	if f.cell.kept == 0 {
		gates = keep.h // activated in place
	}
	if f.state != nil {
		fillRows(gates, w.bx, nil)
	} else {
		fillRows(gates, w.bx, w.bh)
	}
	if err := f.mul(gates, x, w.x, product{m: f.steps * f.batch, n: rows, k: f.inputSize(layer), tb: true, beta: 1}); err != nil {
		return err
	}
	s := batchStep{state: f.state, tanh: f.tanh, prev: part(attach.Floats(f.call.In[2]), at, f.batch*f.out)}
	if f.cell.memory {
		s.mem = part(attach.Floats(f.call.In[3]), at, f.batch*f.hidden)
	}
	for i := range f.steps {
		t := f.at(dir, i)
		s.gates, s.extra, s.out = f.block(gates, t, rows), f.block(keep.extra, t, f.cell.extra*f.hidden), f.block(keep.h, t, f.out)
		if err := f.step(&s, w); err != nil {
			return err
		}
		s.prev = f.block(keep.h, t, f.out)
		if f.cell.memory {
			s.mem = s.extra
		}
	}
	f.scatter(y, keep.h, dir)
	if f.p.StateOutputs {
		copy(part(attach.Floats(f.call.Out[1]), at, f.batch*f.out), s.prev)
		if f.cell.memory {
			copy(part(attach.Floats(f.call.Out[2]), at, f.batch*f.hidden), s.mem)
		}
	}
	return nil
}

// step adds what comes from the state and computes the outputs, s.out, of one step.
func (f *forward) step(s *batchStep, w weights[float32]) error {
	to, out := s.gates, s.out
	if f.state != nil {
		fillRows(f.state, w.bh, nil)
		to = f.state
	}
	if err := f.mul(to, s.prev, w.h, product{m: f.batch, n: f.rows(), k: f.out, tb: true, beta: 1}); err != nil {
		return err
	}
	if f.projected {
		s.out = f.full
	}
	f.run(s)
	if !f.projected {
		return nil
	}
	return f.mul(out, f.full, w.proj, product{m: f.batch, n: f.out, k: f.hidden, tb: true})
}

// drop sets random outputs of a layer to zero.
func (f *forward) drop(layer int, y []float32) {
	if !f.drops {
		return
	}
	fillMasks(f.masks, f.p, f.train, f.call.Seed, layer)
	for d := range f.dirs {
		f.gather(f.keep(layer, d).mask, f.masks, d)
	}
	multiply(y, f.masks)
}
