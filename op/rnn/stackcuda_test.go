//go:build cuda

package rnn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/rnn"
)

// onDevice runs an operator on device 0, whose kernel may lay out the outputs in free. It returns the outputs there, and those that are plain here; the last
// operand may be on the device already.
func onDevice(t *testing.T, o *op.Op, c op.Call, params any, out []op.Tensor, free []bool) []op.Tensor {
	t.Helper()
	d := device.CUDA(0)
	a := &op.Args{Train: c.Train, Threads: 1, Free: free, Need: make([]bool, len(out))}
	for _, x := range c.In {
		a.In = append(a.In, x.Desc)
	}
	for i, x := range out {
		a.Out, a.Need[i] = append(a.Out, x.Desc), x.Data != nil
	}
	k, err := o.Prepare(d, device.TierRef, params, a)
	if err != nil {
		t.Fatal(err)
	}
	alloc := func(bytes int) device.Block {
		b, err := device.Alloc(d, bytes, device.PurposeArray)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Free)
		return b
	}
	bytes := func(x op.Tensor) []byte { return unsafe.Slice((*byte)(x.Data), x.Bytes) }
	c.In = slices.Clone(c.In)
	for i, x := range c.In {
		if x.Layout == nil && x.Data != nil {
			b := alloc(x.Bytes)
			b.CopyIn(0, bytes(x))
			c.In[i].Data = b.Ptr
		}
	}
	c.Out = make([]op.Tensor, len(out))
	blocks := make([]device.Block, len(out))
	for i, x := range k.Out {
		if c.Out[i].Desc = x; a.Need[i] {
			blocks[i] = alloc(x.Bytes)
			c.Out[i].Data = blocks[i].Ptr
		}
	}
	c.Scratch = alloc(k.Scratch).Ptr
	q, err := device.QueueOf(d, device.QueueCompute)
	if err != nil {
		t.Fatal(err)
	}
	c.Queue = q
	if err := k.Run(&c); err != nil {
		t.Fatal(err)
	}
	most := 5 // attempts: others allocate now and then
	for ; most > 0 && testing.AllocsPerRun(2, func() { _ = k.Run(&c) }) > 0; most-- {
	}
	if most == 0 && len(cuda.DNNMissing()) == 0 {
		t.Errorf("a run of %s makes allocations, want none", o.Name)
	}
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	for i, x := range out {
		if x.Data != nil && k.Out[i].Layout == nil {
			blocks[i].CopyOut(bytes(x), 0)
		}
	}
	return c.Out
}

// compare wants every number of got to be as near to want as its element type and the number of terms allow.
func compare(t *testing.T, what string, got, want op.Tensor) {
	t.Helper()
	eps := map[dtype.Type]float64{dtype.Float16: 2e-2, dtype.Float32: 2e-5, dtype.Float64: 1e-12}[want.DType]
	x, y := loop.Floats(got), loop.Floats(want)
	for i := range x {
		if !(math.Abs(x[i]-y[i]) <= eps*(1+math.Abs(y[i]))) {
			t.Errorf("%s: number %d of %d is %v, want %v", what, i, len(x), x[i], y[i])
			return
		}
	}
}

// networks are the cases that are compared in cuDNN: kinds of cells, directions, layers, sizes that make the library want the parameters elsewhere, and all
// that may happen between layers.
func networks() map[string]rnn.RNNParams {
	list := map[string]rnn.RNNParams{}
	for _, mode := range modes {
		for _, size := range []int{4, 5} {
			list[fmt.Sprint(mode, " ", size)] = rnn.RNNParams{Mode: mode, StateSize: size, NumLayers: 1, StateOutputs: true}
			list[fmt.Sprint(mode, " both ", size)] = rnn.RNNParams{Mode: mode, StateSize: size, NumLayers: 2, Bidirectional: true}
			list[fmt.Sprint(mode, " dropped ", size)] = rnn.RNNParams{Mode: mode, StateSize: size, NumLayers: 3, Bidirectional: size == 4, P: 0.4, StateOutputs: true}
		}
	}
	for _, size := range []int{4, 5} {
		list[fmt.Sprint("projected ", size)] = rnn.RNNParams{Mode: "lstm", StateSize: size, NumLayers: 2, ProjectionSize: op.Some(2), Bidirectional: true, StateOutputs: true}
	}
	return list
}

// TestCUDALibrary trains networks in cuDNN, where it is there: outputs and gradients are those of the reference.
func TestCUDALibrary(t *testing.T) {
	if err := cuda.DNN(); err != nil || device.Count(device.KindCUDA) == 0 {
		t.Skip("there is no device, or no cuDNN: ", err)
	}
	for name, p := range networks() {
		for _, dt := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16} {
			for _, train := range []bool{true, false} {
				t.Run(fmt.Sprint(name, " ", dt, " ", train), func(t *testing.T) { checkLibrary(t, p, dt, train) })
			}
		}
	}
}

func checkLibrary(t *testing.T, p rnn.RNNParams, dt dtype.Type, train bool) {
	ref := optest.Runner{Train: train, Seed: op.Seed{Key: 7, Counter: 3}}
	c := op.Call{Train: train, Seed: ref.Seed}
	rng := rand.New(rand.NewPCG(9, 9))
	random := func(d op.Desc) op.Tensor {
		x := optest.New(d.DType, d.Shape...)
		loop.Generate(x, func(int) float64 { return 0.5 * (rng.Float64()*2 - 1) })
		return x
	}
	for _, x := range network(p, 4, 3, []float64{4, 4, 4}) {
		c.In = append(c.In, random(op.Plain(dt, x.Shape)))
	}
	want, err := ref.Apply(rnn.RNN.Op, p, c.In)
	if err != nil {
		t.Fatal(err)
	}
	last := len(want) - 1
	out, free := make([]op.Tensor, len(want)), make([]bool, len(want))
	for i := range out {
		out[i] = optest.New(dt, want[i].Shape...)
	}
	free[last] = true
	there := onDevice(t, rnn.RNN.Op, c, p, out, free)
	if missing := cuda.DNNMissing(); there[last].Layout == nil {
		if len(missing) > 0 {
			t.Skip(missing)
		}
		t.Fatal("the network did not run in cuDNN")
	}
	for i := range last {
		compare(t, fmt.Sprint("output ", i), out[i], want[i])
	}
	out[last].Data = nil // what inference wants
	if !train || p.P == 0 {
		onDevice(t, rnn.RNN.Op, c, p, out, nil)
		for i := range last {
			compare(t, fmt.Sprint("output of inference ", i), out[i], want[i])
		}
	}
	var heads []op.Tensor
	for i := range last {
		heads = append(heads, random(want[i].Desc))
	}
	all := slices.Concat(heads, c.In, want[last:])
	grads, err := ref.Apply(rnn.RNNGrad.Op, p, all)
	if err != nil {
		t.Fatal(err)
	}
	all[len(all)-1] = there[last]
	c.In = all
	for missing := range len(grads) + 1 { // all are wanted, or all but one
		got := make([]op.Tensor, len(grads))
		for i := range got {
			if got[i] = optest.New(dt, grads[i].Shape...); i == missing {
				got[i].Data = nil
			}
		}
		onDevice(t, rnn.RNNGrad.Op, c, p, got, nil)
		for i := range got {
			if got[i].Data != nil {
				compare(t, fmt.Sprintf("gradient %d without %d", i, missing), got[i], grads[i])
			}
		}
	}
}
