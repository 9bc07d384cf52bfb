//go:build cuda

package kvstore_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// needGPUs skips a test where there are fewer than two GPUs, real or imitated.
func needGPUs(t *testing.T) {
	t.Helper()
	if n := device.Count(device.KindCUDA); n < 2 {
		t.Skipf("%d devices, want two: %s", n, cuda.Missing())
	}
}

// TestCUDADeviceStore adds gradients up that lie on two devices: those of one device first, in
// their order, then those of the devices. Every bit is that of the processor's sum in the same
// order, and pulled values are the same everywhere.
func TestCUDADeviceStore(t *testing.T) {
	needGPUs(t)
	for _, name := range []string{"device", "local"} {
		for seed, places := range [][]int{{0}, {0, 1}, {1, 0}, {0, 1, 0, 1}, {1, 1, 0},
			{0, 0, 1, 1, 0}} {
			rng := rand.New(rand.NewPCG(uint64(seed), 3))
			const n = 1001
			kv, err := kvstore.Open(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if err := kv.Init(t.Context(), "w",
				nd.Zeros([]int{n}, nd.On(device.CUDA(places[0])))); err != nil {
				t.Fatal(err)
			}
			byDevice := map[int][]float32{}
			var grads, out []*nd.Array
			var order []int
			for _, d := range places {
				values := make([]float32, n)
				for i := range values {
					values[i] = float32(rng.NormFloat64()) * float32(math.Exp(rng.NormFloat64()*4))
				}
				grads = append(grads, nd.FromSlice(values).To(device.CUDA(d)))
				out = append(out, nd.Empty([]int{n}, nd.On(device.CUDA(d))))
				if byDevice[d] == nil {
					byDevice[d], order = values, append(order, d)
					continue
				}
				sum := slices.Clone(byDevice[d])
				for i, v := range values {
					sum[i] += v
				}
				byDevice[d] = sum
			}
			want := slices.Clone(byDevice[order[0]])
			for _, d := range order[1:] {
				for i, v := range byDevice[d] {
					want[i] += v
				}
			}
			if err := kv.PushPull("w", 0, grads, out); err != nil {
				t.Fatal(err)
			}
			for k, a := range out {
				got, err := a.Float32s()
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s store, devices %v: array %d differs from the sum in order", name,
						places, k)
				}
			}
			if err := kv.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCUDADeviceStoreUpdates lets the store's optimizer run on a device, where the value is, and
// compares with the processor.
func TestCUDADeviceStoreUpdates(t *testing.T) {
	needGPUs(t)
	const n = 500
	run := func(on func(i int) device.Device) []float32 {
		kv, err := kvstore.Open(t.Context(), "device")
		if err != nil {
			t.Fatal(err)
		}
		if err := kv.Init(t.Context(), "w", nd.Ones([]int{n}, nd.On(on(0)))); err != nil {
			t.Fatal(err)
		}
		if err := kv.SetOptimizer(t.Context(), optimizer.SGD{LR: 0.125,
			Momentum: 0.5}); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(5, 3))
		out := nd.Empty([]int{n}, nd.On(on(1)))
		for range 5 {
			var grads []*nd.Array
			for i := range 2 {
				values := make([]float32, n)
				for k := range values {
					values[k] = float32(rng.IntN(17) - 8)
				}
				grads = append(grads, nd.FromSlice(values).To(on(i)))
			}
			if err := kv.PushPull("w", 0, grads, []*nd.Array{out}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := out.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := run(func(int) device.Device { return device.CPU() })
	got := run(func(i int) device.Device { return device.CUDA(i) })
	if !slices.Equal(got, want) { // small whole numbers and powers of two: no rounding
		t.Error("the store on two GPUs differs from that on the processor")
	}
}
