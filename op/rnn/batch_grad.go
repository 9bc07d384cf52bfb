package rnn

import (
	"gomx/op"
	"gomx/op/attach"
)

// prepareBackward prepares the batched kernel of the gradient. It returns the kernel and its
// scratch elements.
func prepareBackward(p RNNParams, a *op.Args, b backend) (*kernel, int, error) {
	k, err := newKernel(p, a, a.In[len(visible(p))].Shape, b)
	if err != nil {
		return nil, 0, err
	}
	var count arena
	newBackward(k, &count)
	return k, count.used, nil
}

// backward holds the arrays of one run of the batched kernel of the gradient.
type backward struct {
	*kernel
	gradOperands
	gradRooms
}

// gradOperands are the arrays that one run of the gradient reads and writes.
type gradOperands struct {
	heads, inputs, grads []op.Tensor
	params, dparams      []float32
	reserve              []float32
}

// gradRooms holds the scratch arrays of the gradient, from the arena of the kernel; concurrent runs
// have separate ones.
type gradRooms struct {
	x           []float32    // input of a layer
	dy          [2][]float32 // gradients of outputs of layers, in turn
	dgates      []float32    // gradient of the gates of one direction of a layer, all steps
	dstate      []float32    // GRU: gradient of the sums from the state
	dh, dmem    []float32    // gradients of states
	dprev       []float32
	tanh        []float32
	full, dfull []float32 // outputs before projection, and their gradient
	ones        []float32 // one 1 per step and sequence
	packed      []float32 // weights of the state, if they are packed
}

func newBackward(k *kernel, a *arena) *backward {
	cells := k.steps * k.batch
	g := &backward{kernel: k}
	if k.layers > 1 {
		size := cells * k.dirs * k.out
		g.x, g.dy[0], g.dy[1] = a.floats(size), a.floats(size), a.floats(size)
	}
	g.dgates = a.floats(cells * k.rows())
	if k.p.Mode == "gru" {
		g.dstate = a.floats(cells * k.rows())
		g.dprev = a.floats(k.batch * k.out)
	}
	g.dh = a.floats(k.batch * k.out)
	if k.cell.memory {
		g.dmem, g.tanh = a.floats(k.batch*k.hidden), a.floats(k.batch*k.hidden)
	}
	if k.projected {
		g.full, g.dfull = a.floats(k.batch*k.hidden), a.floats(k.batch*k.hidden)
	}
	g.ones = a.floats(cells)
	if k.together() {
		g.packed = a.floats(k.pack.size(k.through()))
	}
	return g
}

// backward computes the gradients.
func (k *kernel) backward(c *op.Call) error {
	g := newBackward(k, &arena{base: c.Scratch})
	n := len(visible(k.p))
	g.heads, g.inputs, g.grads = c.In[:n], c.In[n:len(c.In)-1], c.Out
	g.params, g.reserve, g.dparams = attach.Floats(g.inputs[1]), attach.Floats(c.In[len(c.In)-1]),
		attach.Floats(c.Out[1])
	for i := range g.ones {
		g.ones[i] = 1
	}
	dy := attach.Floats(g.heads[0])
	for l := k.layers - 1; l >= 0; l-- {
		dx := attach.Floats(c.Out[0])
		if l > 0 {
			dx = g.dy[l%2]
		}
		f := flow{x: g.layerInput(l), dx: dx, dy: dy}
		for d := range k.dirs {
			if err := g.direction(l, d, f); err != nil {
				return err
			}
		}
		if dy = dx; l > 0 {
			g.drop(l-1, dy)
		}
	}
	return nil
}

// flow is the input of a layer, its gradient (nil if it is not requested) and the gradient of the
// output.
type flow struct{ x, dx, dy []float32 }

// layerInput returns the input of a layer.
func (g *backward) layerInput(layer int) []float32 {
	if layer == 0 {
		return attach.Floats(g.inputs[0])
	}
	if g.dirs == 1 && !g.drops {
		return reserveOf(&g.net, g.reserve, layer-1, 0).h
	}
	for d := range g.dirs {
		g.scatter(g.x, reserveOf(&g.net, g.reserve, layer-1, d).h, d)
	}
	g.drop(layer-1, g.x)
	return g.x
}

// drop multiplies by the dropout mask of the outputs of a layer.
func (g *backward) drop(layer int, y []float32) {
	if !g.drops {
		return
	}
	for d := range g.dirs {
		mask := reserveOf(&g.net, g.reserve, layer, d).mask
		for i := range g.steps * g.batch {
			multiply(y[(i*g.dirs+d)*g.out:][:g.out], part(mask, i, g.out))
		}
	}
}

// direction computes the gradient of one direction of a layer.
func (g *backward) direction(layer, dir int, f flow) error {
	w, keep, at := weightsOf(&g.net, g.params, layer, dir), reserveOf(&g.net, g.reserve, layer,
		dir), layer*g.dirs+dir
	var dw weights[float32]
	if g.dparams != nil {
		dw = weightsOf(&g.net, g.dparams, layer, dir)
		clear(dw.proj)
	}
	h0 := part(attach.Floats(g.inputs[2]), at, g.batch*g.out)
	g.begin(at)
	if g.together() {
		g.pack.pack(g.packed, w.h, g.through())
		g.lstmStepsGrad(g.kernel, &layerSteps{back: dir == 1, packed: g.packed, gates: keep.gates,
			extra: keep.extra, h: keep.h,
			mem0: part(attach.Floats(g.inputs[3]), at, g.batch*g.hidden), h0: h0, dgates: g.dgates,
			dmem: g.dmem, dh: g.dh, dy: f.dy[dir*g.out:]})
	} else if err := g.stepByStep(layer, dir, f.dy, w, dw); err != nil {
		return err
	}
	g.end(at)
	return g.collect(layer, dir, f, h0)
}

// through is the product that computes the gradient of the previous step's outputs from the
// gradient of the sums from the state.
func (k *kernel) through() product { return product{m: k.batch, n: k.out, k: k.rows()} }

// stepByStep computes the gradient of the steps of a direction, last step first.
func (g *backward) stepByStep(layer, dir int, dy []float32, w, dw weights[float32]) error {
	keep, at := reserveOf(&g.net, g.reserve, layer, dir), layer*g.dirs+dir
	for i := g.steps - 1; i >= 0; i-- {
		t := g.at(dir, i)
		s := g.stepAt(keep, t)
		s.prev = part(attach.Floats(g.inputs[2]), at, g.batch*g.out)
		if g.cell.memory {
			s.mem = part(attach.Floats(g.inputs[3]), at, g.batch*g.hidden)
		}
		if i > 0 {
			before := g.at(dir, i-1)
			s.prev = g.block(keep.h, before, g.out)
			if g.cell.memory {
				s.mem = g.block(keep.extra, before, g.hidden)
			}
		}
		g.receive(dy, t, dir)
		if err := g.step(&s, w, dw); err != nil {
			return err
		}
	}
	return nil
}

// receive adds the gradient of the outputs of a step to the gradient from the next step.
func (g *backward) receive(dy []float32, step, dir int) {
	for n := range g.batch {
		row := dy[((step*g.batch+n)*g.dirs+dir)*g.out:][:g.out]
		dh := part(g.dh, n, g.out)
		for j, v := range row {
			dh[j] += v
		}
	}
}

// begin loads the gradients of the last states, end stores the gradients of the first.
func (g *backward) begin(at int) {
	clear(g.dh)
	clear(g.dmem)
	if g.p.StateOutputs {
		copy(g.dh, part(attach.Floats(g.heads[1]), at, len(g.dh)))
		if g.cell.memory {
			copy(g.dmem, part(attach.Floats(g.heads[2]), at, len(g.dmem)))
		}
	}
}

func (g *backward) end(at int) {
	copy(part(attach.Floats(g.grads[2]), at, len(g.dh)), g.dh)
	if g.cell.memory {
		copy(part(attach.Floats(g.grads[3]), at, len(g.dmem)), g.dmem)
	}
}

// stepAt returns the arrays of a step without the states before it.
func (g *backward) stepAt(keep reserve[float32], t int) batchStep {
	s := batchStep{gates: g.block(keep.gates, t, g.cell.kept*g.hidden), extra: g.block(keep.extra,
		t, g.cell.extra*g.hidden),
		out: g.block(keep.h, t, g.out), tanh: g.tanh, dprev: g.dprev, dmem: g.dmem, dout: g.dh,
		dgates: g.block(g.dgates, t, g.rows())}
	if s.dstate = s.dgates; g.dstate != nil {
		s.dstate = g.block(g.dstate, t, g.rows())
	}
	return s
}

// step replaces the gradient of the outputs, g.dh, by the gradient of the previous step's outputs.
func (g *backward) step(s *batchStep, w, dw weights[float32]) error {
	if g.projected {
		s.out, s.dout = g.full, g.dfull
		copy(s.tanh, s.extra)
		g.kernel.tanh(s.tanh)
		g.outputs(s)
		if dw.proj != nil {
			if err := g.mul(dw.proj, g.dh, g.full, product{m: g.out, n: g.hidden, k: g.batch,
				ta: true, beta: 1}); err != nil {
				return err
			}
		}
		if err := g.mul(g.dfull, g.dh, w.proj, product{m: g.batch, n: g.hidden,
			k: g.out}); err != nil {
			return err
		}
	}
	g.back(s)
	p := g.through()
	if g.dprev != nil {
		copy(g.dh, g.dprev)
		p.beta = 1
	}
	return g.mul(g.dh, s.dstate, w.h, p)
}

// collect computes the gradients of parameters and input from the gradient of the gates at all
// steps.
func (g *backward) collect(layer, dir int, f flow, h0 []float32) error {
	cells, rows, in := g.steps*g.batch, g.rows(), g.inputSize(layer)
	dstate := g.dgates
	if g.dstate != nil {
		dstate = g.dstate
	}
	todo := make([]job, 0, 6)
	if g.dparams != nil {
		dw, h := weightsOf(&g.net, g.dparams, layer, dir), reserveOf(&g.net, g.reserve, layer,
			dir).h
		// The gates of a step read the output of the previous one; the first step reads the initial
		// state.
		first, rest, from := g.block(dstate, 0, rows), dstate[g.batch*rows:], h
		if dir == 1 {
			first, rest, from = g.block(dstate, g.steps-1, rows), dstate, h[g.batch*g.out:]
		}
		todo = append(todo,
			job{dw.x, g.dgates, f.x, product{m: rows, n: in, k: cells, ta: true}},
			job{dw.h, first, h0, product{m: rows, n: g.out, k: g.batch, ta: true}},
			job{dw.h, rest, from, product{m: rows, n: g.out, k: cells - g.batch, ta: true,
				beta: 1}},
			job{dw.bx, g.ones, g.dgates, product{m: 1, n: rows, k: cells}},
			job{dw.bh, g.ones, dstate, product{m: 1, n: rows, k: cells}},
		)
	}
	if f.dx != nil {
		p := product{m: cells, n: in, k: rows}
		if dir == 1 {
			p.beta = 1
		}
		todo = append(todo, job{f.dx, g.dgates, weightsOf(&g.net, g.params, layer, dir).x, p})
	}
	for _, j := range todo {
		if j.p.k == 0 {
			continue // one step only
		}
		if err := g.mul(j.c, j.a, j.b, j.p); err != nil {
			return err
		}
	}
	return nil
}

// job is a product with its operands.
type job struct {
	c, a, b []float32
	p       product
}
