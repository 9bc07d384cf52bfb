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

// threads returns the largest number of threads of a product of the kernel.
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
	b := backend{
		mul: func(c, x, y []float32, p product) error {
			return gemm(a, p).Run(pointer(c), pointer(x), pointer(y))
		},
		dense: func(y, x, w, bias []float32, rows int) error {
			p := product{m: rows, n: len(bias), k: len(w) / len(bias)}
			d := cpu.Dense{Rows: p.m, In: p.k, Out: p.n, Threads: threadsFor(a, p)}
			return d.Run(pointer(y), pointer(x), pointer(w), pointer(bias))
		},
		tanh: func(x []float32) {
			cpu.Map{Op: cpu.Tanh, Threads: 1}.Run(pointer(x), pointer(x), len(x))
		},
		lstm: func(k *kernel, s *batchStep) { cellsC(a, k).LSTM(stepC(s, s.mem)) },
		gru:  func(k *kernel, s *batchStep) { cellsC(a, k).GRU(stepC(s, s.prev)) },
		lstmGrad: func(k *kernel, s *batchStep) {
			cellsC(a, k).LSTMGrad(stepC(s, s.mem), cpu.CellGrads{Out: pointer(s.dout),
				Gates: pointer(s.dgates), Prev: pointer(s.dmem)})
		},
		gruGrad: func(k *kernel, s *batchStep) {
			cellsC(a, k).GRUGrad(stepC(s, s.prev), cpu.CellGrads{Out: pointer(s.dout),
				Gates: pointer(s.dgates), State: pointer(s.dstate), Prev: pointer(s.dprev)})
		},
	}
	if cpu.CanPack() {
		b.lstmSteps = func(k *kernel, s *layerSteps) { sequenceC(a, k, s).Run(s.stateC()) }
		b.lstmStepsGrad = func(k *kernel, s *layerSteps) {
			sequenceC(a, k, s).RunGrad(s.stateC(), cpu.SequenceGrads{Gates: pointer(s.dgates),
				Mem: pointer(s.dmem), Out: pointer(s.dh), Y: pointer(s.dy), Row: k.dirs * k.out})
		}
		b.pack = &packing{
			size: func(p product) int { return gemm(a, p).Packed() / 4 },
			pack: func(d, w []float32, p product) { gemm(a, p).Pack(pointer(d), pointer(w)) },
			mul: func(c, x, packed, bias []float32, p product) {
				gemm(a, p).RunPacked(pointer(c), pointer(x), pointer(packed), pointer(bias))
			},
		}
	}
	return b
}

func gemm(a *op.Args, p product) cpu.Gemm {
	return cpu.Gemm{M: p.m, N: p.n, K: p.k, TransA: p.ta, TransB: p.tb, Alpha: 1, Beta: p.beta,
		Threads: threadsFor(a, p)}
}

// cellsC returns the cells of a step as package cpu takes them.
func cellsC(a *op.Args, k *kernel) cpu.Cells {
	work := device.Work{Elems: float64(k.batch * k.rows())}
	return cpu.Cells{Batch: k.batch, Hidden: k.hidden, Threads: attach.Threads(a, work)}
}

// sequenceC returns all steps of a layer as package cpu takes them.
func sequenceC(a *op.Args, k *kernel, s *layerSteps) cpu.Sequence {
	return cpu.Sequence{Steps: k.steps, Batch: k.batch, Hidden: k.hidden, Back: s.back,
		Threads: threadsFor(a, k.recurrent())}
}

func (s *layerSteps) stateC() cpu.SequenceState {
	return cpu.SequenceState{Packed: pointer(s.packed), Bias: pointer(s.bias),
		Gates: pointer(s.gates), Memory: pointer(s.extra), Out: pointer(s.h), Mem0: pointer(s.mem0),
		Out0: pointer(s.h0)}
}

func stepC(s *batchStep, prev []float32) cpu.CellStep {
	return cpu.CellStep{Gates: pointer(s.gates), State: pointer(s.state), Extra: pointer(s.extra),
		Out: pointer(s.out), Prev: pointer(prev)}
}

func pointer(x []float32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
