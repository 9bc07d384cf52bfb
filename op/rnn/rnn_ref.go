package rnn

import (
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/philox"
)

// pass is one run of the reference kernel: geometry and operands as float64.
type pass struct {
	net
	p       RNNParams
	train   bool
	seed    op.Seed
	data    []float64 // (steps, batch, input)
	params  []float64
	state   []float64 // (layers·dirs, batch, out)
	memory  []float64 // (layers·dirs, batch, hidden); LSTM only, else zeros
	lens    []int
	reserve []float64
}

// newPass converts the inputs of RNN to float64.
func newPass(p RNNParams, in []op.Tensor) (*pass, error) {
	n, err := bound(p, in[0].Shape)
	if err != nil {
		return nil, err
	}
	r := &pass{net: n, p: p, data: loop.Floats(in[0]), params: loop.Floats(in[1]),
		state: loop.Floats(in[2])}
	if p.Mode == "lstm" {
		r.memory = loop.Floats(in[3])
	} else {
		r.memory = make([]float64, n.layers*n.dirs*n.batch*n.hidden)
	}
	r.lens = make([]int, n.batch)
	for i := range r.lens {
		r.lens[i] = n.steps
	}
	if p.UseSequenceLength {
		for i, v := range loop.Ints(in[len(in)-1]) {
			if v < 0 || v > int64(n.steps) {
				return nil, op.Errorf("sequence_length", "%d for sequence %d, want 0 to %d", v, i,
					n.steps)
			}
			r.lens[i] = int(v)
		}
	}
	return r, nil
}

// at returns the k-th step of a sequence in the order of direction dir.
func (r *pass) at(dir, k, seq int) int {
	if dir == 0 {
		return k
	}
	return r.lens[seq] - 1 - k
}

// row returns row i of a matrix with rows of n elements.
func row(m []float64, i, n int) []float64 { return m[i*n : (i+1)*n : (i+1)*n] }

// addMul adds the product of a matrix and a vector to y.
func addMul(y, m, x []float64) {
	for i := range y {
		for k, v := range row(m, i, len(x)) {
			y[i] += v * x[k]
		}
	}
}

// addMulT adds the product of a transposed matrix and a vector to y.
func addMulT(y, m, x []float64) {
	for i, v := range x {
		for k, w := range row(m, i, len(y)) {
			y[k] += w * v
		}
	}
}

// addOuter adds the product of a column and a row to m.
func addOuter(m, x, y []float64) {
	for i, v := range x {
		r := row(m, i, len(y))
		for k, w := range y {
			r[k] += v * w
		}
	}
}

func rnnRef(p RNNParams, c *op.Call) error {
	r, err := newPass(p, c.In)
	if err != nil {
		return err
	}
	r.train, r.seed = c.Train, c.Seed
	r.reserve = make([]float64, r.layers*r.dirs*r.reserveSize())
	x := r.data
	for l := range r.layers {
		y := make([]float64, r.steps*r.batch*r.dirs*r.out)
		for d := range r.dirs {
			for s := range r.batch {
				r.sequence(l, d, s, x, y)
			}
		}
		if x = y; l < r.layers-1 {
			r.drop(l, x)
		}
	}
	write := func(t op.Tensor, values []float64) {
		if t.Data != nil {
			loop.Store(t, 0, values)
		}
	}
	write(c.Out[0], x)
	if p.StateOutputs {
		write(c.Out[1], r.state)
		if p.Mode == "lstm" {
			write(c.Out[2], r.memory)
		}
	}
	write(c.Out[len(c.Out)-1], r.reserve)
	return nil
}

// sequence computes one direction of a layer for one sequence, from x to y, and updates its states.
func (r *pass) sequence(layer, dir, seq int, x, y []float64) {
	w, keep := weightsOf(&r.net, r.params, layer, dir), reserveOf(&r.net, r.reserve, layer, dir)
	in, at := r.inputSize(layer), (layer*r.dirs+dir)*r.batch+seq
	h, mem := row(r.state, at, r.out), row(r.memory, at, r.hidden)
	full := make([]float64, r.hidden)
	for k := range r.lens[seq] {
		i := r.at(dir, k, seq)*r.batch + seq
		s := step{x: make([]float64, r.rows()), h: make([]float64, r.rows()), prev: h, mem: mem,
			out:   full,
			gates: row(keep.gates, i, r.cell.kept*r.hidden), extra: row(keep.extra, i,
				r.cell.extra*r.hidden)}
		copy(s.x, w.bx)
		copy(s.h, w.bh)
		addMul(s.x, w.x, row(x, i, in))
		addMul(s.h, w.h, h)
		r.cell.forward(&s)
		out := row(keep.h, i, r.out)
		if r.projected {
			addMul(out, w.proj, full)
		} else {
			copy(out, full)
		}
		copy(h, out)
		if r.cell.memory {
			copy(mem, s.extra)
		}
		copy(y[(i*r.dirs+dir)*r.out:], out)
	}
}

// drop applies dropout to the outputs of a layer, in training, and keeps the mask.
func (r *pass) drop(layer int, y []float64) {
	if !r.drops {
		return
	}
	masks := make([]float64, len(y))
	fillMasks(masks, r.p, r.train, r.seed, layer)
	for d := range r.dirs {
		mask := reserveOf(&r.net, r.reserve, layer, d).mask
		for i := range r.steps * r.batch {
			from := (i*r.dirs + d) * r.out
			copy(row(mask, i, r.out), masks[from:])
		}
	}
	for i, m := range masks {
		y[i] *= m
	}
}

// fillMasks draws the dropout mask of the outputs (steps, batch, dirs·out) of a layer.
func fillMasks[F float32 | float64](masks []F, p RNNParams, train bool, seed op.Seed, layer int) {
	keep := F(1)
	if clear(masks); train {
		philox.Uniform(masks, seed, uint32(layer))
		keep = F(1 - p.P)
	}
	for i, u := range masks {
		if masks[i] = 0; u < keep {
			masks[i] = 1 / keep
		}
	}
}
