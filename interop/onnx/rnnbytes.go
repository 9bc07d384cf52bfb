package onnx

import (
	"gomx/dtype"
	sym "gomx/symbol"
)

// inBytes reports whether all products of the layer are of integers of 8 bits, and its steps those
// of an LSTM as usual.
func (l *layer) inBytes() bool {
	if l.kind != "lstm" || !l.rounds || l.clip != 0 || l.typ != dtype.Float32 {
		return false
	}
	for d := range l.passes {
		if l.weights(1, d).whole == nil || l.weights(2, d).whole == nil {
			return false
		}
	}
	return true
}

// bytes is the layer as one product of all inputs and an operator for all steps.
func (l *layer) bytes() (y, h, cell *sym.Symbol) {
	c, n := l.c, 4*l.size
	in, state := l.arranged(1), l.arranged(2)
	var biases []*sym.Symbol
	for d := range l.passes {
		sum := sym.BroadcastAdd(l.bias(d, 0), l.bias(d, 1))
		for _, g := range lstmOrder {
			biases = append(biases, l.gate(sum, g))
		}
	}
	x := l.integers(in, folded(c, sym.Concat(biases, sym.ConcatParams{Dim: sym.Some(0)})))
	codes, _ := state.stored(c)
	direction := c.text("direction", "forward")
	s := sym.ContribQuantizedLstmSteps(c.reshape(x, dtype.Shape{l.steps, l.batch, l.passes * n}),
		sym.LSTMStepsParams{StateSize: l.size, Direction: direction, StateOutputs: true},
		sym.With("weight", codes),
		sym.With("scale", c.numbers(dtype.Float32, state.steps, len(state.steps))),
		sym.With("state", l.initial(5)), sym.With("state_cell", l.initial(6)))
	y = c.reshape(s.At(0), dtype.Shape{l.steps, l.batch, l.passes, l.size})
	return sym.Transpose(y, sym.TransposeParams{Axes: []int{0, 2, 1, 3}}), s.At(1), s.At(2)
}

// arranged joins the integers at an input of all directions, with the gates in MXNet's order.
func (l *layer) arranged(i int) *gates {
	all := &gates{whole: &operand{}}
	for d := range l.passes {
		w := l.weights(i, d)
		columns := w.whole.shape[1]
		for _, g := range lstmOrder {
			from, to := g*l.size, (g+1)*l.size
			all.whole.q = append(all.whole.q, w.whole.q[from*columns:to*columns]...)
			all.whole.sums = append(all.whole.sums, w.whole.sums[from:to]...)
			all.steps = append(all.steps, w.steps[from:to]...)
		}
		all.whole.shape = dtype.Shape{len(all.steps), columns}
	}
	return all
}

// integers are the products of all inputs, as integers of 8 bits, with weights, and a bias, of shape
// (steps·batch, rows of the weights).
func (l *layer) integers(w *gates, bias *sym.Symbol) *sym.Symbol {
	c, k, n := l.c, l.known, len(w.steps)
	lost := make([]float64, n) // by a zero point of one
	for i, s := range w.steps {
		lost[i] = s * w.whole.sums[i]
	}
	s := w.whole.product(c, k.rows, nil, w.steps, make([]float64, n))
	s = sym.BroadcastSub(s, sym.BroadcastMul(w.whole.perChannel(c, lost), k.zero))
	return sym.BroadcastAdd(sym.BroadcastMul(s, k.scale), bias)
}
