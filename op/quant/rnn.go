package quant

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/rnn"
)

// RNN is an LSTM of quantized data.
var RNN = op.Declare[rnn.RNNParams]("_contrib_quantized_rnn")

func init() {
	RNN.Define(op.Spec[rnn.RNNParams]{
		Traits: op.Traits{
			Doc: `ContribQuantizedRnn is RNN with mode lstm for quantized data.

Data, scale and shift come from ContribQuantizeAsym. Parameters and states are float32 as those of RNN. Weights become int8: each row of each gate has
a scale of its own, by the largest magnitude in that row of all layers. Outputs of cells become
uint8 with the scale and shift of data, and the outputs of the operator are these, as float32. Cell
states stay float32. There is no dropout, projection or sequence length.`,
			NoGrad: noGrad,
			Multi:  true,
		},
		Inputs: func(rnn.RNNParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "parameters", Role: op.Param},
				{Name: "state", Role: op.State}, {Name: "state_cell", Role: op.State},
				{Name: "min_data"}, {Name: "max_data"}}
		},
		Outputs: func(p rnn.RNNParams) []string {
			if p.StateOutputs {
				return []string{"output", "state_output", "statecell_ouput"}
			}
			return []string{"output"}
		},
		Check: func(p rnn.RNNParams) error {
			switch {
			case p.Mode != "lstm":
				return op.Errorf("mode", "%q, want lstm", p.Mode)
			case p.ProjectionSize.IsSet():
				return op.Errorf("projection_size", "%d, want none", p.ProjectionSize.Value())
			case p.UseSequenceLength:
				return op.Errorf("use_sequence_length", "set, want all sequences of one length")
			}
			return nil
		},
		Infer: func(p rnn.RNNParams, in, out []dtype.Shape) error {
			if err := single("data_scale", in[4:]); err != nil {
				return err
			}
			kept := append(out[:len(out):len(out)], nil) // and the reserve
			err := rnn.RNN.InferShape(p, in[:4], kept)
			copy(out, kept)
			return err
		},
		InferType: func(_ rnn.RNNParams, in, out []dtype.Type) error {
			if err := typed("input", in, dtype.Uint8, dtype.Float32); err != nil {
				return err
			}
			return typed("output", out, dtype.Float32)
		},
		Ref: runLSTM,
	})
}

// lstm is a layer in one direction: weights as integers, and all that does not change from step to
// step.
type lstm struct {
	input, hidden int
	wx, wh        []float64 // (4·hidden, input) and (4·hidden, hidden)
	bias, sums    []float64 // sums of the integers in each row
}

// quantizer turns real numbers into uint8.
type quantizer struct{ scale, shift float32 }

func (q quantizer) integer(v float64) float64 {
	return float64(nearest(float32(float32(v)*q.scale)+q.shift, dtype.Uint8))
}

func (q quantizer) real(v float64) float64 { return float64((float32(v) - q.shift) / q.scale) }

func runLSTM(p rnn.RNNParams, c *op.Call) error {
	s := c.In[0].Shape
	steps, batch, hidden, dirs := s[0], s[1], p.StateSize, 1
	if p.Bidirectional {
		dirs = 2
	}
	q := quantizer{number(c.In[4]), number(c.In[5])}
	layers, scales := newLSTM(loop.Floats(c.In[1]), s[2], hidden, p.NumLayers, dirs)
	x, h, cell := loop.Floats(c.In[0]), loop.Floats(c.In[2]), loop.Floats(c.In[3])
	for i := 0; i < len(layers); i += dirs {
		input := layers[i].input
		y := make([]float64, steps*batch*hidden*dirs)
		for d := range dirs {
			at := (i + d) * batch * hidden
			state, cells := h[at:at+batch*hidden], cell[at:at+batch*hidden]
			for k, v := range state {
				state[k] = q.integer(v)
			}
			for t := range steps {
				if d == 1 {
					t = steps - 1 - t
				}
				layers[i+d].step(q, scales, x[t*batch*input:(t+1)*batch*input], state, cells)
				for n := range batch {
					copy(y[((t*batch+n)*dirs+d)*hidden:], state[n*hidden:(n+1)*hidden])
				}
			}
			for k, v := range state {
				state[k] = q.real(v)
			}
		}
		x = y
	}
	for i, v := range x {
		x[i] = q.real(v)
	}
	for i, v := range [][]float64{x, h, cell}[:len(c.Out)] {
		if c.Out[i].Data != nil {
			loop.Store(c.Out[i], 0, v)
		}
	}
	return nil
}

// newLSTM cuts the vector of parameters into layers and quantizes the weights. It returns the scale
// of each row of gates.
func newLSTM(v []float64, input, hidden, layers, dirs int) (list []lstm, scales []float32) {
	rows := 4 * hidden
	take := func(n int) []float64 {
		part := v[:n:n]
		v = v[n:]
		return part
	}
	greatest := make([]float64, rows)
	for i := range layers * dirs {
		l := lstm{input: input, hidden: hidden}
		if i >= dirs {
			l.input = hidden * dirs
		}
		l.wx, l.wh = take(rows*l.input), take(rows*hidden)
		for r := range rows {
			for _, w := range [][]float64{l.wx[r*l.input : (r+1)*l.input],
				l.wh[r*hidden : (r+1)*hidden]} {
				for _, x := range w {
					greatest[r] = max(greatest[r], math.Abs(x))
				}
			}
		}
		list = append(list, l)
	}
	for _, g := range greatest {
		scales = append(scales, 127/float32(g))
	}
	for i := range list {
		l := &list[i]
		l.bias, l.sums = take(rows), make([]float64, rows)
		for r, b := range take(rows) {
			l.bias[r] += b
			for _, w := range [][]float64{l.wx[r*l.input : (r+1)*l.input],
				l.wh[r*hidden : (r+1)*hidden]} {
				for k, x := range w {
					w[k] = float64(nearest(float32(x)*scales[r], dtype.Int8))
					l.sums[r] += w[k]
				}
			}
		}
	}
	return list, scales
}

// step computes one step of a batch: h, as integers, and cells become those after it.
func (l lstm) step(q quantizer, scales []float32, x, h, cells []float64) {
	for n := range len(h) / l.hidden {
		own, state := x[n*l.input:(n+1)*l.input], h[n*l.hidden:(n+1)*l.hidden]
		gates := make([]float64, 4*l.hidden)
		for r := range gates {
			sum := -l.sums[r] * float64(q.shift)
			for k, v := range own {
				sum += l.wx[r*l.input+k] * v
			}
			for k, v := range state {
				sum += l.wh[r*l.hidden+k] * v
			}
			gates[r] = sum/float64(scales[r]*q.scale) + l.bias[r]
		}
		for k := range l.hidden {
			in, forget, update, out := gates[k], gates[l.hidden+k], gates[2*l.hidden+k],
				gates[3*l.hidden+k]
			c := &cells[n*l.hidden+k]
			*c = sigmoid(forget)**c + sigmoid(in)*math.Tanh(update)
			state[k] = q.integer(sigmoid(out) * math.Tanh(*c))
		}
	}
}

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
