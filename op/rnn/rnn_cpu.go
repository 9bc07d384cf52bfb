//go:build cgo

package rnn

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(RNN, func(p RNNParams, a *op.Args) (*op.Prepared, error) {
		k, scratch, err := prepareForward(p, a, backendC(a))
		if err != nil {
			return nil, err
		}
		return &op.Prepared{Threads: k.threads(a), Scratch: scratch, Run: k.forward}, nil
	})
	attach.TierC(RNNGrad, func(p RNNParams, a *op.Args) (*op.Prepared, error) {
		k, scratch, err := prepareBackward(p, a, backendC(a))
		if err != nil {
			return nil, err
		}
		return &op.Prepared{Threads: k.threads(a), Scratch: scratch, Run: k.backward}, nil
	})
}

// threads is the largest number of threads that a product of the kernel takes.
func (k *kernel) threads(a *op.Args) int {
	widest := 0
	for l := range k.layers {
		widest = max(widest, k.inputSize(l))
	}
	return threadsFor(a, product{m: k.steps * k.batch, n: k.rows(), k: max(widest, k.out)})
}

func threadsFor(a *op.Args, p product) int {
	return attach.Threads(a, device.Work{Flops: 2 * float64(p.m) * float64(p.n) * float64(p.k)})
}

// backendC computes with package cpu.
func backendC(a *op.Args) backend {
	return backend{
		mul: func(c, x, y []float32, p product) error {
			g := cpu.Gemm{M: p.m, N: p.n, K: p.k, TransA: p.ta, TransB: p.tb, Alpha: 1, Beta: p.beta, Threads: threadsFor(a, p)}
			return g.Run(pointer(c), pointer(x), pointer(y))
		},
		sigmoid: mapC(cpu.Sigmoid),
		tanh:    mapC(cpu.Tanh),
	}
}

func pointer(x []float32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

func mapC(f cpu.MapOp) func(x []float32) {
	m := cpu.Map{Op: f, Threads: 1}
	return func(x []float32) { m.Run(pointer(x), pointer(x), len(x)) }
}
