package rnn

import (
	"gomx/op"
	"gomx/op/attach"
)

// prepareForward prepares the batched kernel of RNN. It returns the kernel and its scratch
// elements.
func prepareForward(p RNNParams, a *op.Args, b backend) (*kernel, int, error) {
	k, err := newKernel(p, a, a.In[0].Shape, b)
	if err != nil {
		return nil, 0, err
	}
	var count arena
	newForward(k, &count, a.Needs(len(a.Out)-1))
	return k, count.used, nil
}

// forward holds the arrays of one run of the batched kernel.
type forward struct {
	*kernel
	call   *op.Call
	params []float32
	kept   []float32    // the reserve, or scratch memory for one direction of one layer
	all    bool         // kept is the whole reserve
	y      [2][]float32 // outputs of layers, in turn
	masks  []float32
	state  []float32 // sums of the gates from the state
	tanh   []float32
	full   []float32 // outputs before projection
	bias   []float32 // sum of the biases of input and state
	packed []float32 // weights of the state, if they are packed
}

// newForward allocates the arrays in a; reserved says that the reserve is an operand.
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
	f.bias = a.floats(k.rows())
	if k.packs() {
		f.packed = a.floats(k.pack.size(k.recurrent()))
	}
	return f
}

// recurrent is the product of the state of one step and its weights. A GRU keeps these sums apart
// from the input's.
func (k *kernel) recurrent() product {
	p := product{m: k.batch, n: k.rows(), k: k.out, tb: true, beta: 1}
	if k.p.Mode == "gru" {
		p.beta = 0
	}
	return p
}

// packs reports whether the steps use packed weights, which pays from a few steps and sequences on.
func (k *kernel) packs() bool { return k.pack != nil && k.steps >= 3 && k.batch >= 4 }

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

// keep returns the memory for the data of one direction of a layer that the gradient reads.
func (f *forward) keep(layer, dir int) reserve[float32] {
	if f.all {
		return reserveOf(&f.net, f.kept, layer, dir)
	}
	return reserveOf(&f.net, f.kept, 0, 0)
}

// direction runs one direction of a layer from x to its part of y.
func (f *forward) direction(layer, dir int, x, y []float32) error {
	w, keep, at := weightsOf(&f.net, f.params, layer, dir), f.keep(layer, dir), layer*f.dirs+dir
	gates := keep.gates
	if f.cell.kept == 0 {
		gates = keep.h // activated in place
	}
	copy(f.bias, w.bx)
	if f.state == nil {
		for i, v := range w.bh {
			f.bias[i] += v
		}
	}
	if err := f.fromInput(gates, x, w); err != nil {
		return err
	}
	if f.packs() {
		f.pack.pack(f.packed, w.h, f.recurrent())
	}
	h0, mem0 := part(attach.Floats(f.call.In[2]), at, f.batch*f.out), []float32(nil)
	if f.cell.memory {
		mem0 = part(attach.Floats(f.call.In[3]), at, f.batch*f.hidden)
	}
	if f.together() {
		f.lstmSteps(f.kernel, &layerSteps{back: dir == 1, packed: f.packed, bias: f.bias,
			gates: gates, extra: keep.extra, h: keep.h, mem0: mem0, h0: h0})
	} else if err := f.stepByStep(dir, gates, keep, w, h0, mem0); err != nil {
		return err
	}
	f.scatter(y, keep.h, dir)
	if f.p.StateOutputs {
		last := f.at(dir, f.steps-1)
		copy(part(attach.Floats(f.call.Out[1]), at, f.batch*f.out), f.block(keep.h, last, f.out))
		if f.cell.memory {
			copy(part(attach.Floats(f.call.Out[2]), at, f.batch*f.hidden), f.block(keep.extra, last,
				f.cell.extra*f.hidden))
		}
	}
	return nil
}

// fromInput writes the sums of the gates from the input for all steps, with the bias unless the
// steps add it.
func (f *forward) fromInput(gates, x []float32, w weights[float32]) error {
	cells := f.steps * f.batch
	if f.together() {
		return f.mul(gates, x, w.x, product{m: cells, n: f.rows(), k: len(x) / cells, tb: true})
	}
	return f.dense(gates, x, w.x, f.bias, cells)
}

// stepByStep computes the steps of a direction one by one.
func (f *forward) stepByStep(dir int, gates []float32, keep reserve[float32], w weights[float32],
	h0, mem0 []float32) error {
	rows := f.rows()
	s := batchStep{state: f.state, tanh: f.tanh, prev: h0, mem: mem0}
	for i := range f.steps {
		t := f.at(dir, i)
		s.gates, s.extra, s.out = f.block(gates, t, rows), f.block(keep.extra, t,
			f.cell.extra*f.hidden), f.block(keep.h, t, f.out)
		if err := f.step(&s, w); err != nil {
			return err
		}
		s.prev = f.block(keep.h, t, f.out)
		if f.cell.memory {
			s.mem = s.extra
		}
	}
	return nil
}

// step adds the sums from the state and computes the outputs, s.out, of one step.
func (f *forward) step(s *batchStep, w weights[float32]) error {
	out := s.out
	if err := f.addState(s, w); err != nil {
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

// addState multiplies the outputs of the previous step with the weights and adds the product to the
// gates, or for a GRU stores it in s.state.
func (f *forward) addState(s *batchStep, w weights[float32]) error {
	p, to, bias := f.recurrent(), s.gates, []float32(nil)
	if f.state != nil {
		to, bias = f.state, w.bh
	}
	switch {
	case f.packs():
		f.pack.mul(to, s.prev, f.packed, bias, p)
		return nil
	case bias != nil:
		return f.dense(to, s.prev, w.h, bias, p.m)
	}
	return f.mul(to, s.prev, w.h, p)
}

// drop applies dropout to the outputs of a layer.
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
