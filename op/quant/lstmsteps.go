package quant

import (
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// LSTMStepsParams configures LSTMSteps.
type LSTMStepsParams struct {
	StateSize    int    `op:"state_size,required" min:"1" doc:"extent of states"`
	Direction    string `op:"direction" default:"forward" enum:"forward|reverse|bidirectional" doc:"order of the steps"`
	StateOutputs bool   `op:"state_outputs" doc:"return the last states too"`
}

// LSTMSteps goes through the steps of an LSTM with products of integers of 8 bits.
var LSTMSteps = op.Declare[LSTMStepsParams]("_contrib_quantized_lstm_steps")

func init() {
	LSTMSteps.Define(op.Spec[LSTMStepsParams]{
		Traits: op.Traits{
			Doc: `ContribQuantizedLstmSteps goes through the steps of an LSTM whose inputs are multiplied already.

data has the shape (steps, batch, directions·4·state_size): products of the inputs and of weights for
the gates in, forget, update and out of each direction, with their biases. weight, int8 of shape
(directions·4·state_size, state_size), stands for the weights of states times scale, one number for
each row. state and state_cell have the shape (directions, batch, state_size). Each step rounds the
states of a direction to 8 bits of their range, zero included, as DynamicQuantizeLSTM of ONNX Runtime
does, and multiplies integers. output has the shape (steps, batch, directions·state_size); with
state_outputs the last states follow. Cell states stay float32.`,
			NoGrad: noGrad,
			Multi:  true,
			Kind:   op.Product,
		},
		Inputs: func(LSTMStepsParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "weight", Role: op.Param},
				{Name: "scale", Role: op.Param}, {Name: "state", Role: op.State},
				{Name: "state_cell", Role: op.State}}
		},
		Outputs: func(p LSTMStepsParams) []string {
			return []string{"output", "state_output", "statecell_output"}[:p.outputs()]
		},
		Infer:     inferLSTMSteps,
		InferType: inferLSTMStepsType,
		FLOPs: func(p LSTMStepsParams, in, _ []dtype.Shape) int64 {
			return 2 * int64(in[0].Size()) * int64(p.StateSize)
		},
		Ref: lstmStepsRef,
	})
}

func (p LSTMStepsParams) outputs() int {
	if p.StateOutputs {
		return 3
	}
	return 1
}

func (p LSTMStepsParams) directions() int {
	if p.Direction == "bidirectional" {
		return 2
	}
	return 1
}

func inferLSTMSteps(p LSTMStepsParams, in, out []dtype.Shape) error {
	dirs, n := p.directions(), p.StateSize
	steps, batch := -1, -1
	if len(in[0]) == 3 {
		steps, batch = in[0][0], in[0][1]
	}
	for _, want := range []struct {
		name  string
		shape *dtype.Shape
		to    dtype.Shape
	}{
		{"data", &in[0], dtype.Shape{steps, batch, dirs * 4 * n}},
		{"weight", &in[1], dtype.Shape{dirs * 4 * n, n}}, {"scale", &in[2], dtype.Shape{dirs * 4 * n}},
		{"state", &in[3], dtype.Shape{dirs, batch, n}}, {"state_cell", &in[4], dtype.Shape{dirs, batch, n}},
		{"output", &out[0], dtype.Shape{steps, batch, dirs * n}},
	} {
		if err := op.Require(want.name, want.shape, want.to); err != nil {
			return err
		}
	}
	for i := range out[1:] {
		if err := op.Require("state_output", &out[1+i], dtype.Shape{dirs, batch, n}); err != nil {
			return err
		}
	}
	return nil
}

func inferLSTMStepsType(_ LSTMStepsParams, in, out []dtype.Type) error {
	if err := typed("weight", in[1:2], dtype.Int8); err != nil {
		return err
	}
	for _, list := range [][]dtype.Type{in[:1], in[2:], out} {
		if err := typed("operand", list, dtype.Float32); err != nil {
			return err
		}
	}
	return nil
}

func lstmStepsRef(p LSTMStepsParams, c *op.Call) error {
	s, dirs, n := c.In[0].Shape, p.directions(), p.StateSize
	steps, batch, rows := s[0], s[1], 4*p.StateSize
	x, codes, scale := loop.Floats(c.In[0]), loop.Ints(c.In[1]), loop.Floats(c.In[2])
	h, cell := loop.Floats(c.In[3]), loop.Floats(c.In[4])
	y := make([]float64, steps*batch*dirs*n)
	for d := range dirs {
		own, cells := h[d*batch*n:(d+1)*batch*n], cell[d*batch*n:(d+1)*batch*n]
		for t := range steps {
			if d == 1 || p.Direction == "reverse" {
				t = steps - 1 - t
			}
			state := inEightBits(own)
			for b := range batch {
				at := t*batch + b
				gates := slices.Clone(x[(at*dirs+d)*rows : (at*dirs+d+1)*rows])
				for r := range gates {
					w, sum := codes[(d*rows+r)*n:(d*rows+r+1)*n], 0.0
					for k, v := range state[b*n : (b+1)*n] {
						sum += v * float64(w[k])
					}
					gates[r] += sum * scale[d*rows+r]
				}
				for k := range n {
					m := &cells[b*n+k]
					*m = sigmoid(gates[n+k])**m + sigmoid(gates[k])*math.Tanh(gates[2*n+k])
					own[b*n+k] = sigmoid(gates[3*n+k]) * math.Tanh(*m)
				}
				copy(y[(at*dirs+d)*n:], own[b*n:(b+1)*n])
			}
		}
	}
	for i, v := range [][]float64{y, h, cell}[:len(c.Out)] {
		if c.Out[i].Data != nil {
			loop.Store(c.Out[i], 0, v)
		}
	}
	return nil
}

// inEightBits rounds numbers to 256 steps between the least and the greatest of them and zero.
func inEightBits(list []float64) []float64 {
	low, high := min(0, float32(slices.Min(list))), max(0, float32(slices.Max(list)))
	step := (high - low) / 255
	if step == 0 {
		step = 1
	}
	limit := func(v float64) float64 { return min(max(v, 0), 255) }
	zero := limit(math.RoundToEven(float64(-low / step)))
	out := make([]float64, len(list))
	for i, v := range list {
		q := limit(math.RoundToEven(float64(float32(v)/step)) + zero)
		out[i] = (q - zero) * float64(step)
	}
	return out
}
