package rnn

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
)

// gradPass is one run of the reference kernel of the gradient. The gradients of states are first
// the gradients of the last states, at the end the gradients of the first.
type gradPass struct {
	pass
	dparams, dstate, dmemory []float64
}

func rnnGradRef(p RNNParams, c *op.Call) error {
	heads := len(visible(p))
	in := c.In[heads : len(c.In)-1]
	base, err := newPass(p, in)
	if err != nil {
		return err
	}
	r := &gradPass{pass: *base, dparams: make([]float64, len(base.params)),
		dstate: make([]float64, len(base.state)), dmemory: make([]float64, len(base.memory))}
	r.reserve = loop.Floats(c.In[len(c.In)-1])
	if p.StateOutputs {
		r.dstate = loop.Floats(c.In[1])
		if p.Mode == "lstm" {
			r.dmemory = loop.Floats(c.In[2])
		}
	}
	dy := loop.Floats(c.In[0])
	for l := r.layers - 1; l >= 0; l-- {
		x := r.layerInput(l)
		dx := make([]float64, len(x))
		for d := range r.dirs {
			for s := range r.batch {
				r.sequenceGrad(l, d, s, gradOf{x: x, dx: dx, dy: dy})
			}
		}
		if dy = dx; l > 0 {
			r.dropGrad(l-1, dy)
		}
	}
	for i, g := range [][]float64{dy, r.dparams, r.dstate, r.dmemory} {
		if i < len(c.Out) && c.Out[i].Data != nil {
			loop.Store(c.Out[i], 0, g)
		}
	}
	return nil
}

// layerInput returns the input of a layer.
func (r *gradPass) layerInput(layer int) []float64 {
	if layer == 0 {
		return r.data
	}
	x := make([]float64, r.steps*r.batch*r.dirs*r.out)
	for d := range r.dirs {
		keep := reserveOf(&r.net, r.reserve, layer-1, d)
		for i := range r.steps * r.batch {
			copy(x[(i*r.dirs+d)*r.out:], row(keep.h, i, r.out))
		}
	}
	r.dropGrad(layer-1, x)
	return x
}

// dropGrad multiplies by the dropout mask of the outputs of a layer.
func (r *gradPass) dropGrad(layer int, y []float64) {
	if !r.drops {
		return
	}
	for d := range r.dirs {
		mask := reserveOf(&r.net, r.reserve, layer, d).mask
		for i := range r.steps * r.batch {
			part := y[(i*r.dirs+d)*r.out:]
			for j, m := range row(mask, i, r.out) {
				part[j] *= m
			}
		}
	}
}

// gradOf is the input of a layer, its gradient, and the gradient of the output.
type gradOf struct{ x, dx, dy []float64 }

// sequenceGrad computes the gradient of one sequence in one direction of a layer.
func (r *gradPass) sequenceGrad(layer, dir, seq int, g gradOf) {
	w, dw := weightsOf(&r.net, r.params, layer, dir), weightsOf(&r.net, r.dparams, layer, dir)
	keep := reserveOf(&r.net, r.reserve, layer, dir)
	in, at := r.inputSize(layer), (layer*r.dirs+dir)*r.batch+seq
	dh, dmem := row(r.dstate, at, r.out), row(r.dmemory, at, r.hidden)
	for k := r.lens[seq] - 1; k >= 0; k-- {
		i := r.at(dir, k, seq)*r.batch + seq
		for j, d := range row(g.dy[(i*r.dirs+dir)*r.out:], 0, r.out) {
			dh[j] += d
		}
		s := r.stepBefore(keep, k, dir, seq, at)
		s.gates, s.extra, s.out = row(keep.gates, i, r.cell.kept*r.hidden),
			row(keep.extra, i, r.cell.extra*r.hidden), row(keep.h, i, r.out)
		s.dx, s.dh, s.dprev, s.dmem, s.dout = make([]float64, r.rows()), make([]float64, r.rows()),
			make([]float64, r.out), dmem, dh
		if r.projected {
			full := lstmOut(s.gates, s.extra)
			addOuter(dw.proj, dh, full)
			s.dout = make([]float64, r.hidden)
			addMulT(s.dout, w.proj, dh)
		}
		r.cell.backward(&s)
		addOuter(dw.x, s.dx, row(g.x, i, in))
		addOuter(dw.h, s.dh, s.prev)
		for j := range s.dx {
			dw.bx[j] += s.dx[j]
			dw.bh[j] += s.dh[j]
		}
		addMulT(row(g.dx, i, in), w.x, s.dx)
		addMulT(s.dprev, w.h, s.dh)
		copy(dh, s.dprev)
	}
}

// stepBefore returns a step with the states before the k-th step of a sequence.
func (r *gradPass) stepBefore(keep reserve[float64], k, dir, seq, at int) step {
	if k == 0 {
		return step{prev: row(r.state, at, r.out), mem: row(r.memory, at, r.hidden)}
	}
	before := r.at(dir, k-1, seq)*r.batch + seq
	s := step{prev: row(keep.h, before, r.out)}
	if r.cell.memory {
		s.mem = row(keep.extra, before, r.hidden)
	}
	return s
}

// lstmOut returns the output of an LSTM before projection, from the reserve of a step.
func lstmOut(gates, mem []float64) []float64 {
	n := len(mem)
	out := make([]float64, n)
	for j := range out {
		out[j] = gates[3*n+j] * math.Tanh(mem[j])
	}
	return out
}
