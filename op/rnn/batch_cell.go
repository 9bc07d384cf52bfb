package rnn

// batchStep holds the arrays of one step of all sequences of a batch, in float32. Matrices have a
// row per sequence.
type batchStep struct {
	gates []float32 // in: sums of the gates from input and state; out: activated gates
	state []float32 // GRU: sums of the gates from the state
	extra []float32 // LSTM: new memory; GRU: factor of the reset gate
	prev  []float32 // outputs of the previous step
	mem   []float32 // memories before the step
	tanh  []float32 // LSTM: scratch memory for the tanh of the new memories
	out   []float32 // outputs before projection

	dgates []float32 // gradient of the sums of the gates from the input
	dstate []float32 // GRU: gradient of the sums from the state
	dprev  []float32 // GRU: part of the gradient of prev that does not pass the weights
	dmem   []float32 // LSTM: in: gradient of the new memories; out: gradient of mem
	dout   []float32
}

// run computes a step.
func (k *kernel) run(s *batchStep) {
	switch k.p.Mode {
	case "rnn_relu":
		for i, v := range s.gates {
			s.gates[i] = max(v, 0)
		}
	case "rnn_tanh":
		k.tanh(s.gates)
	case "lstm":
		k.lstm(k, s)
	case "gru":
		k.gru(k, s)
	}
}

// outputs computes the outputs of an LSTM: the output gates times the tanh of the memories.
func (k *kernel) outputs(s *batchStep) {
	n := k.hidden
	for b := range k.batch {
		o, t, out := s.gates[(4*b+3)*n:][:n], part(s.tanh, b, n), part(s.out, b, n)
		for j, v := range t {
			out[j] = o[j] * v
		}
	}
}

// back computes the gradient of a step.
func (k *kernel) back(s *batchStep) {
	switch k.p.Mode {
	case "rnn_relu":
		for i, y := range s.out {
			if s.dgates[i] = 0; y > 0 {
				s.dgates[i] = s.dout[i]
			}
		}
	case "rnn_tanh":
		for i, y := range s.out {
			s.dgates[i] = s.dout[i] * (1 - y*y)
		}
	case "lstm":
		k.lstmGrad(k, s)
	case "gru":
		k.gruGrad(k, s)
	}
}
