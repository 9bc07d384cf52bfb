package rnn

import (
	"math"

	"gomx/device/cpu/pure"
	"gomx/op"
	"gomx/op/attach"
)

// backendGo computes in Go alone.
var backendGo = backend{
	mul: func(c, a, b []float32, p product) error {
		pure.Gemm{M: p.m, N: p.n, K: p.k, TransA: p.ta, TransB: p.tb, Alpha: 1, Beta: p.beta}.Run(c,
			a, b)
		return nil
	},
	dense: func(y, x, w, bias []float32, rows int) error {
		pure.Dense(y, x, w, bias, rows)
		return nil
	},
	tanh: tanhs,
	lstm: lstmGo, gru: gruGo, lstmGrad: lstmGradGo, gruGrad: gruGradGo,
}

func sigmoids(x []float32) {
	for i, v := range x {
		x[i] = float32(sigmoid(float64(v)))
	}
}

func tanhs(x []float32) {
	for i, v := range x {
		x[i] = float32(math.Tanh(float64(v)))
	}
}

func init() {
	attach.TierGo(RNN, func(p RNNParams, a *op.Args) (*op.Prepared, error) {
		k, scratch, err := prepareForward(p, a, backendGo)
		if err != nil {
			return nil, err
		}
		return &op.Prepared{Scratch: scratch, Run: k.forward}, nil
	})
	attach.TierGo(RNNGrad, func(p RNNParams, a *op.Args) (*op.Prepared, error) {
		k, scratch, err := prepareBackward(p, a, backendGo)
		if err != nil {
			return nil, err
		}
		return &op.Prepared{Scratch: scratch, Run: k.backward}, nil
	})
}

// lstmGo is a step of an LSTM.
func lstmGo(k *kernel, s *batchStep) {
	n := k.hidden
	for b := range k.batch {
		g, c, mem := part(s.gates, b, 4*n), part(s.extra, b, n), part(s.mem, b, n)
		sigmoids(g[:2*n])
		tanhs(g[2*n : 3*n])
		sigmoids(g[3*n:])
		in, forget, cand := g[:n], g[n:2*n], g[2*n:3*n]
		for j := range c {
			c[j] = forget[j]*mem[j] + in[j]*cand[j]
		}
	}
	copy(s.tanh, s.extra)
	tanhs(s.tanh)
	k.outputs(s)
}

// gruGo is a step of a GRU.
func gruGo(k *kernel, s *batchStep) {
	n := k.hidden
	for b := range k.batch {
		g, u, v := part(s.gates, b, 3*n), part(s.state, b, 3*n), part(s.extra, b, n)
		prev, out := part(s.prev, b, n), part(s.out, b, n)
		for j, w := range u[:2*n] {
			g[j] += w
		}
		copy(v, u[2*n:])
		sigmoids(g[:2*n])
		reset, update, cand := g[:n], g[n:2*n], g[2*n:]
		for j, r := range reset {
			cand[j] += r * v[j]
		}
		tanhs(cand)
		for j, z := range update {
			out[j] = (1-z)*cand[j] + z*prev[j]
		}
	}
}

// lstmGradGo is the gradient of lstmGo.
func lstmGradGo(k *kernel, s *batchStep) {
	copy(s.tanh, s.extra)
	tanhs(s.tanh)
	n := k.hidden
	for b := range k.batch {
		g, d := part(s.gates, b, 4*n), part(s.dgates, b, 4*n)
		in, forget, cand, o := g[:n], g[n:2*n], g[2*n:3*n], g[3*n:]
		din, dforget, dcand, do := d[:n], d[n:2*n], d[2*n:3*n], d[3*n:]
		t, mem, dmem, dout := part(s.tanh, b, n), part(s.mem, b, n), part(s.dmem, b, n),
			part(s.dout, b, n)
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

// gruGradGo is the gradient of gruGo.
func gruGradGo(k *kernel, s *batchStep) {
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
