package rnn

// batchStep is one cell at one step of all sequences of a batch, in float32. Matrices have a row per
// sequence.
type batchStep struct {
	gates []float32 // in: what the gates get from input and state; out: activated gates
	state []float32 // of a GRU: what the gates get from the state
	extra []float32 // of an LSTM the new memory, of a GRU what the reset gate multiplies
	prev  []float32 // outputs of the step before
	mem   []float32 // memories before the step
	tanh  []float32 // of an LSTM: tanh of the new memories
	out   []float32 // outputs before projection

	dgates []float32 // gradient of what the gates get from the input
	dstate []float32 // of a GRU: the same from the state
	dprev  []float32 // of a GRU: what flows past the weights to the outputs of the step before
	dmem   []float32 // of an LSTM: gradient of the new memories, which becomes that of mem
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
		k.runLSTM(s)
	case "gru":
		k.runGRU(s)
	}
}

func (k *kernel) runLSTM(s *batchStep) {
	n := k.hidden
	for b := range k.batch {
		g, c, mem := part(s.gates, b, 4*n), part(s.extra, b, n), part(s.mem, b, n)
		k.sigmoid(g[:2*n])
		k.tanh(g[2*n : 3*n])
		k.sigmoid(g[3*n:])
		in, forget, cand := g[:n], g[n:2*n], g[2*n:3*n]
		for j := range c {
			c[j] = forget[j]*mem[j] + in[j]*cand[j]
		}
	}
	copy(s.tanh, s.extra)
	k.tanh(s.tanh)
	k.outputs(s)
}

// outputs multiplies the tanh of memories with output gates.
func (k *kernel) outputs(s *batchStep) {
	n := k.hidden
	for b := range k.batch {
		o, t, out := s.gates[(4*b+3)*n:][:n], part(s.tanh, b, n), part(s.out, b, n)
		for j, v := range t {
			out[j] = o[j] * v
		}
	}
}

func (k *kernel) runGRU(s *batchStep) {
	n := k.hidden
	for b := range k.batch {
		g, u, v := part(s.gates, b, 3*n), part(s.state, b, 3*n), part(s.extra, b, n)
		prev, out := part(s.prev, b, n), part(s.out, b, n)
		for j, w := range u[:2*n] {
			g[j] += w
		}
		copy(v, u[2*n:])
		k.sigmoid(g[:2*n])
		reset, update, cand := g[:n], g[n:2*n], g[2*n:]
		for j, r := range reset {
			cand[j] += r * v[j]
		}
		k.tanh(cand)
		for j, z := range update {
			out[j] = (1-z)*cand[j] + z*prev[j]
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
		k.backLSTM(s)
	case "gru":
		k.backGRU(s)
	}
}

func (k *kernel) backLSTM(s *batchStep) {
	n := k.hidden
	for b := range k.batch {
		g, d := part(s.gates, b, 4*n), part(s.dgates, b, 4*n)
		in, forget, cand, o := g[:n], g[n:2*n], g[2*n:3*n], g[3*n:]
		din, dforget, dcand, do := d[:n], d[n:2*n], d[2*n:3*n], d[3*n:]
		t, mem, dmem, dout := part(s.tanh, b, n), part(s.mem, b, n), part(s.dmem, b, n), part(s.dout, b, n)
		for j, dh := range dout {
			dc := dmem[j] + dh*o[j]*(1-t[j]*t[j])
			din[j] = dc * cand[j] * in[j] * (1 - in[j])
			dforget[j] = dc * mem[j] * forget[j] * (1 - forget[j])
			dcand[j] = dc * in[j] * (1 - cand[j]*cand[j])
			do[j] = dh * t[j] * o[j] * (1 - o[j])
			dmem[j] = dc * forget[j]
		}
	}
}

func (k *kernel) backGRU(s *batchStep) {
	n := k.hidden
	for b := range k.batch {
		g, d, u := part(s.gates, b, 3*n), part(s.dgates, b, 3*n), part(s.dstate, b, 3*n)
		reset, update, cand, v := g[:n], g[n:2*n], g[2*n:], part(s.extra, b, n)
		prev, dprev, dout := part(s.prev, b, n), part(s.dprev, b, n), part(s.dout, b, n)
		for j, dh := range dout {
			r, z, m := reset[j], update[j], cand[j]
			dm := dh * (1 - z) * (1 - m*m)
			d[j] = dm * v[j] * r * (1 - r)
			d[n+j] = dh * (prev[j] - m) * z * (1 - z)
			d[2*n+j] = dm
			u[2*n+j] = dm * r
			dprev[j] = dh * z
		}
		copy(u, d[:2*n])
	}
}
