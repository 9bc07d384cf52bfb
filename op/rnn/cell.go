package rnn

import "math"

// cell is one kind of recurrent unit.
type cell struct {
	gates  int  // blocks of rows in the weights
	kept   int  // blocks of activated gates that the gradient reads
	extra  int  // further blocks that it reads
	memory bool // there is a second state, the memory cell of an LSTM

	forward  func(s *step)
	backward func(s *step)
}

// step is one cell at one step of one sequence. Slices are made of blocks as long as the state.
type step struct {
	x, h  []float64 // what the gates get from the input and from the state, (gates)
	gates []float64 // (kept)
	extra []float64 // (extra)
	prev  []float64 // output of the step before
	mem   []float64 // memory before the step; forward leaves the new one in extra
	out   []float64 // output, before projection

	dx, dh []float64 // gradients of x and h
	dprev  []float64 // gradient that prev gets past the weights; backward adds to it
	dmem   []float64 // gradient of the new memory; backward leaves that of mem
	dout   []float64
}

// cells are the kinds of units by the name of their mode.
var cells = map[string]*cell{
	"rnn_relu": {gates: 1, forward: elman(func(x float64) float64 { return max(x, 0) }),
		backward: elmanGrad(func(y float64) float64 {
			if y > 0 {
				return 1
			}
			return 0
		})},
	"rnn_tanh": {gates: 1, forward: elman(math.Tanh), backward: elmanGrad(func(y float64) float64 { return 1 - y*y })},
	"lstm":     {gates: 4, kept: 4, extra: 1, memory: true, forward: lstm, backward: lstmGrad},
	"gru":      {gates: 3, kept: 3, extra: 1, forward: gru, backward: gruGrad},
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// elman computes h' = f(x + h).
func elman(f func(x float64) float64) func(s *step) {
	return func(s *step) {
		for j := range s.out {
			s.out[j] = f(s.x[j] + s.h[j])
		}
	}
}

// elmanGrad is the gradient of elman; slope is the derivative as a function of the value.
func elmanGrad(slope func(y float64) float64) func(s *step) {
	return func(s *step) {
		for j, d := range s.dout {
			d *= slope(s.out[j])
			s.dx[j], s.dh[j] = d, d
		}
	}
}

// lstm computes c' = σ(f)·c + σ(i)·tanh(g) and h' = σ(o)·tanh(c'), with gates in the order i, f, g, o.
func lstm(s *step) {
	n := len(s.out)
	for j := range s.out {
		i, f := sigmoid(s.x[j]+s.h[j]), sigmoid(s.x[n+j]+s.h[n+j])
		g, o := math.Tanh(s.x[2*n+j]+s.h[2*n+j]), sigmoid(s.x[3*n+j]+s.h[3*n+j])
		c := f*s.mem[j] + i*g
		s.gates[j], s.gates[n+j], s.gates[2*n+j], s.gates[3*n+j], s.extra[j] = i, f, g, o, c
		s.out[j] = o * math.Tanh(c)
	}
}

func lstmGrad(s *step) {
	n := len(s.dout)
	for j, d := range s.dout {
		i, f, g, o := s.gates[j], s.gates[n+j], s.gates[2*n+j], s.gates[3*n+j]
		t := math.Tanh(s.extra[j])
		dc := s.dmem[j] + d*o*(1-t*t)
		s.dx[j] = dc * g * i * (1 - i)
		s.dx[n+j] = dc * s.mem[j] * f * (1 - f)
		s.dx[2*n+j] = dc * i * (1 - g*g)
		s.dx[3*n+j] = d * t * o * (1 - o)
		s.dmem[j] = dc * f
	}
	copy(s.dh, s.dx)
}

// gru computes h' = (1-σ(z))·tanh(n) + σ(z)·h with n = x + σ(r)·h, gates in the order r, z, n: the
// reset gate multiplies what comes from the state, its bias included.
func gru(s *step) {
	n := len(s.out)
	for j := range s.out {
		r, z := sigmoid(s.x[j]+s.h[j]), sigmoid(s.x[n+j]+s.h[n+j])
		v := s.h[2*n+j]
		m := math.Tanh(s.x[2*n+j] + r*v)
		s.gates[j], s.gates[n+j], s.gates[2*n+j], s.extra[j] = r, z, m, v
		s.out[j] = (1-z)*m + z*s.prev[j]
	}
}

func gruGrad(s *step) {
	n := len(s.dout)
	for j, d := range s.dout {
		r, z, m, v := s.gates[j], s.gates[n+j], s.gates[2*n+j], s.extra[j]
		dm := d * (1 - z) * (1 - m*m)
		s.dx[j] = dm * v * r * (1 - r)
		s.dx[n+j] = d * (s.prev[j] - m) * z * (1 - z)
		s.dx[2*n+j] = dm
		s.dh[j], s.dh[n+j], s.dh[2*n+j] = s.dx[j], s.dx[n+j], dm*r
		s.dprev[j] += d * z
	}
}
