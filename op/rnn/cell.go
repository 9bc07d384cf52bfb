package rnn

import "math"

// cell is one kind of recurrent cell.
type cell struct {
	gates  int  // number of blocks of rows in the weights
	kept   int  // number of blocks of activated gates that the gradient reads
	extra  int  // number of other blocks that it reads
	memory bool // the cell has a second state, the memory of an LSTM

	forward  func(s *step)
	backward func(s *step)
}

// step holds the arrays of one step of one sequence. Slices consist of blocks of the size of the
// state.
type step struct {
	x, h  []float64 // sums of the gates from the input and from the state, gates blocks
	gates []float64 // kept blocks
	extra []float64 // extra blocks
	prev  []float64 // output of the previous step
	mem   []float64 // memory before the step; forward leaves the new one in extra
	out   []float64 // output, before projection

	dx, dh []float64 // gradients of x and h
	dprev  []float64 // part of prev's gradient that does not pass the weights; backward adds to it
	dmem   []float64 // in: gradient of the new memory; out: gradient of mem
	dout   []float64
}

// cells maps the names of modes to kinds of cells.
var cells = map[string]*cell{
	"rnn_relu": {gates: 1, forward: elman(func(x float64) float64 { return max(x, 0) }),
		backward: elmanGrad(func(y float64) float64 {
			if y > 0 {
				return 1
			}
			return 0
		})},
	"rnn_tanh": {gates: 1, forward: elman(math.Tanh),
		backward: elmanGrad(func(y float64) float64 { return 1 - y*y })},
	"lstm": {gates: 4, kept: 4, extra: 1, memory: true, forward: lstm, backward: lstmGrad},
	"gru":  {gates: 3, kept: 3, extra: 1, forward: gru, backward: gruGrad},
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

// lstm computes c' = σ(f)·c + σ(i)·tanh(g) and h' = σ(o)·tanh(c'), with gates in the order i, f, g,
// o.
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
// reset gate multiplies the sum from the state, including its bias.
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
