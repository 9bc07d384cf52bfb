package rnn_test

import (
	"testing"
	"unsafe"

	"gomx/device"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/rnn"
)

// BenchmarkLSTM is one training step of two layers as language models have them.
func BenchmarkLSTM(b *testing.B) {
	p := rnn.RNNParams{Mode: "lstm", StateSize: 200, NumLayers: 2}
	lengths := make([]float64, 32)
	for i := range lengths {
		lengths[i] = 35
	}
	in := network(p, 35, 200, lengths)
	params, err := rnn.RNN.Normalize(p)
	if err != nil {
		b.Fatal(err)
	}
	descs, err := optest.Infer(rnn.RNN.Op, params, in)
	if err != nil {
		b.Fatal(err)
	}
	var out, grads []op.Tensor
	for _, d := range descs {
		out = append(out, optest.New(d.DType, d.Shape...))
	}
	for _, x := range in {
		grads = append(grads, optest.New(x.DType, x.Shape...))
	}
	forward := prepared(b, rnn.RNN.Op, params, in, out)
	back := append(append([]op.Tensor{out[0]}, in...), out[1])
	backward := prepared(b, rnn.RNNGrad.Op, params, back, grads)
	b.ReportAllocs()
	for b.Loop() {
		forward()
		backward()
	}
	b.ReportMetric(float64(b.N*35*32)/b.Elapsed().Seconds(), "words/s")
}

// prepared readies the fastest kernel of an operator.
func prepared(b *testing.B, o *op.Op, params any, in, out []op.Tensor) func() {
	a := &op.Args{Train: true, Threads: device.Cores()}
	for _, t := range in {
		a.In = append(a.In, t.Desc)
	}
	for _, t := range out {
		a.Out = append(a.Out, t.Desc)
	}
	k, err := o.Prepare(device.CPU(), device.TierC, params, a)
	if err != nil {
		b.Fatal(err)
	}
	scratch := make([]uint64, k.Scratch/8+16)
	at := (64 - uintptr(unsafe.Pointer(unsafe.SliceData(scratch)))%64) % 64
	c := &op.Call{In: in, Out: out, Train: true, Scratch: unsafe.Add(unsafe.Pointer(unsafe.SliceData(scratch)), at)}
	return func() {
		if err := k.Run(c); err != nil {
			b.Fatal(err)
		}
	}
}
