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
		pure.Gemm{M: p.m, N: p.n, K: p.k, TransA: p.ta, TransB: p.tb, Alpha: 1, Beta: p.beta}.Run(c, a, b)
		return nil
	},
	sigmoid: func(x []float32) {
		for i, v := range x {
			x[i] = float32(sigmoid(float64(v)))
		}
	},
	tanh: func(x []float32) {
		for i, v := range x {
			x[i] = float32(math.Tanh(float64(v)))
		}
	},
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
