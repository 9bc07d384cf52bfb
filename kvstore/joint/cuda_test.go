//go:build cuda

package joint_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	"gomx/device/cuda/imitation"
	"gomx/device/cuda/nccl"
	"gomx/dtype"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// needNCCL skips a test where NCCL or GPUs are missing.
func needNCCL(t *testing.T, gpus int) {
	t.Helper()
	if n := device.Count(device.KindCUDA); n < gpus {
		t.Skipf("%d GPUs, want %d", n, gpus)
	}
	if _, err := nccl.Version(); err != nil {
		t.Skip(err)
	}
}

// store is a store device with a key for arrays on several GPUs.
type store struct {
	kv   *kvstore.KV
	gpus int
	n    int
	t    dtype.Type
	rng  *rand.Rand
	late int // kernels that run before a gradient is ready
}

func openStore(t *testing.T, gpus, n int, dt dtype.Type, o optimizer.Optimizer) *store {
	t.Helper()
	kv, err := kvstore.Open(t.Context(), "device")
	if err == nil {
		err = kv.Init(t.Context(), "w", nd.Ones([]int{n}, nd.As(dt), nd.On(device.CUDA(0))))
	}
	if err == nil && o != nil {
		err = kv.SetOptimizer(t.Context(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &store{kv, gpus, n, dt, rand.New(rand.NewPCG(uint64(n), 7)), 1}
}

// round pushes random gradients and pulls into arrays on the first outs GPUs. Kernels make the
// gradients just before, and read the results just after, so that only events order them.
func (s *store) round(t *testing.T, outs int) [][]float32 {
	t.Helper()
	var grads, out []*nd.Array
	for i := range s.gpus {
		values := make([]float32, s.n)
		for k := range values {
			values[k] = float32(s.rng.NormFloat64()) * float32(int(1)<<s.rng.IntN(6))
		}
		g := nd.FromSlice(values).To(device.CUDA(i)).AsType(s.t)
		for range s.late {
			g = g.AddScalar(0.5)
		}
		grads = append(grads, g)
		if i < outs {
			out = append(out, nd.Empty([]int{s.n}, nd.As(s.t), nd.On(device.CUDA(i))))
		}
	}
	if err := s.kv.PushPull("w", 0, grads, out); err != nil {
		t.Fatal(err)
	}
	var got [][]float32
	for i, a := range out {
		out[i] = a.MulScalar(2)
		a.Close()
	}
	for _, a := range out {
		values, err := a.AsType(dtype.Float32).Float32s()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, values)
	}
	return got
}

// lateSize is the size of arrays whose gradients come after many kernels, so that the host has put
// all operations on the streams before the devices come to them.
const lateSize = 30000

// both runs rounds with NCCL and with copies, and compares all bits.
func both(t *testing.T, gpus, n int, dt dtype.Type, o optimizer.Optimizer, outs int) {
	t.Helper()
	run := func(allowed bool) (got [][]float32) {
		nccl.Allow(allowed)
		defer nccl.Allow(true)
		s := openStore(t, gpus, n, dt, o)
		if n == lateSize {
			s.late = 20
		}
		for range max(1, min(3, 10000/n)) {
			got = append(got, s.round(t, outs)...)
		}
		if err := s.kv.Close(); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got, want := run(true), run(false)
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("%d GPUs, %d × %v, optimizer %v: result %d of %d differs from that by copies",
				gpus, n, dt, o, i, len(want))
		}
	}
}

// TestCUDAJointStore compares sums by NCCL with sums by copies, bit for bit, which the imitation
// adds up in the same order.
func TestCUDAJointStore(t *testing.T) {
	sizes := []int{1, 2, 3, 255, 1001, 65537, 1 << 20}
	if imitation.Strict() {
		sizes = []int{1, 3, 1001}
	}
	for _, gpus := range []int{2, 4} {
		t.Run(fmt.Sprint(gpus), func(t *testing.T) {
			needNCCL(t, gpus)
			before := [3]int{}
			calls := [3]string{"ncclAllReduce", "ncclReduce", "ncclBroadcast"}
			for i, c := range calls {
				before[i] = imitation.Calls(c)
			}
			for _, dt := range []dtype.Type{dtype.Float32, dtype.Float16, dtype.BFloat16} {
				for _, n := range sizes {
					both(t, gpus, n, dt, nil, gpus)
					both(t, gpus, n, dt, nil, 1)
					both(t, gpus, n, dt, optimizer.SGD{LR: 0.125, Momentum: 0.5}, gpus)
				}
			}
			for i, c := range calls {
				if c == "ncclBroadcast" && gpus == 2 {
					continue // to one other device a copy is as fast
				}
				if imitation.Present() && imitation.Calls(c) == before[i] {
					t.Errorf("%s was not called", c)
				}
			}
		})
	}
}

// TestCUDAJointOrder runs many operations on random streams of the strict imitation: each must wait
// for its operands, and later work for its results.
func TestCUDAJointOrder(t *testing.T) {
	needNCCL(t, 2)
	if !imitation.Present() {
		t.Skip("this is a test for the imitation")
	}
	gpus := device.Count(device.KindCUDA)
	for seed := range uint64(5) {
		imitation.Seed(seed + 1)
		for _, outs := range []int{1, gpus} {
			both(t, gpus, lateSize, dtype.Float32, nil, outs)
		}
	}
	imitation.Seed(0)
}

// TestCUDAJointFails lets calls of NCCL fail: the error names the call and reaches the program that
// waits for the result, and later rounds work.
func TestCUDAJointFails(t *testing.T) {
	needNCCL(t, 2)
	if !imitation.Present() {
		t.Skip("this is a test for the imitation")
	}
	for _, c := range []struct {
		call string
		outs int
	}{{"ncclAllReduce", 2}, {"ncclReduce", 1}, {"ncclGroupEnd", 2}} {
		s := openStore(t, 2, 1000, dtype.Float32, nil)
		s.round(t, c.outs)
		var grads, out []*nd.Array
		for i := range 2 {
			grads = append(grads, nd.Ones([]int{1000}, nd.On(device.CUDA(i))))
			out = append(out, nd.Empty([]int{1000}, nd.On(device.CUDA(i))))
		}
		imitation.Fail(c.call, 1, 1)
		if err := s.kv.PushPull("w", 0, grads, out[:c.outs]); err != nil {
			t.Fatal(err)
		}
		for i, a := range out[:c.outs] {
			want := c.call + " of 1000 float32 for devices [0 1]: error 1: unhandled cuda error"
			if _, err := a.Float32s(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s fails: array %d: got error %v, want %q", c.call, i, err, want)
			}
		}
		_ = s.kv.Barrier(t.Context()) // the value has the error too
		got := s.round(t, c.outs)
		if len(got[0]) != 1000 {
			t.Errorf("%s: a round after the failure gave %d elements", c.call, len(got[0]))
		}
		_ = s.kv.Close()
	}
}

// TestCUDAJointFallsBack lets the communicators of a list of devices fail: copies add up, and the
// user is told why, once.
func TestCUDAJointFallsBack(t *testing.T) {
	needNCCL(t, 2)
	if !imitation.Present() {
		t.Skip("this is a test for the imitation")
	}
	var said []string
	defer op.NoticesTo(op.NoticesTo(func(text string) { said = append(said, text) }))
	kv, err := kvstore.Open(t.Context(), "device")
	if err != nil {
		t.Fatal(err)
	}
	on := []device.Device{device.CUDA(1), device.CUDA(0)} // a list that no other test has
	if err := kv.Init(t.Context(), "w", nd.Zeros([]int{5}, nd.On(on[0]))); err != nil {
		t.Fatal(err)
	}
	imitation.Fail("ncclCommInitAll", 1, 2)
	for range 2 {
		var grads, out []*nd.Array
		for _, d := range on {
			grads = append(grads, nd.Ones([]int{5}, nd.On(d)))
			out = append(out, nd.Empty([]int{5}, nd.On(d)))
		}
		if err := kv.PushPull("w", 0, grads, out); err != nil {
			t.Fatal(err)
		}
		for _, a := range out {
			got, err := a.Float32s()
			if err != nil || !slices.Equal(got, []float32{2, 2, 2, 2, 2}) {
				t.Errorf("got %v, %v, want twos", got, err)
			}
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "ncclCommInitAll for devices [1 0]: error 2") {
		t.Errorf("got notices %q, want one that names ncclCommInitAll", said)
	}
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
}
