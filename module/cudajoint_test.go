//go:build cuda

package module_test

import (
	"slices"
	"testing"

	"gomx/device"
	"gomx/device/cuda/imitation"
	"gomx/device/cuda/nccl"
	"gomx/initializer"
	"gomx/module"
	"gomx/optimizer"
)

// TestCUDAJointFit trains on two and on four GPUs with NCCL. Two give the bits of one GPU that
// computes the parts of every batch; so do copies, and on four GPUs the imitated NCCL adds up in the
// order of the copies.
func TestCUDAJointFit(t *testing.T) {
	if _, err := nccl.Version(); err != nil {
		t.Skip(err)
	}
	n := device.Count(device.KindCUDA)
	if n < 2 {
		t.Skipf("%d GPUs, want 2", n)
	}
	before := imitation.Calls("ncclReduce")
	compareDevices(t, []device.Device{device.CUDA(0), device.CUDA(1)}, module.Store("device"))
	if imitation.Present() && imitation.Calls("ncclReduce") == before {
		t.Error("ncclReduce was not called")
	}
	if n < 4 {
		t.Skipf("%d GPUs, want 4", n)
	}
	fit := func(allowed bool) map[string][]float32 {
		nccl.Allow(allowed)
		defer nccl.Allow(true)
		m := module.New(auxNet(), module.Seed(5), module.On(device.CUDA(0), device.CUDA(1),
			device.CUDA(2), device.CUDA(3)))
		if err := m.Fit(t.Context(), manySamples(t, 41), module.Epochs(2),
			module.Init(initializer.Xavier{}), module.Optimize(optimizer.Adam{LR: 0.01})); err != nil {
			t.Fatal(err)
		}
		args, _ := m.Params()
		return floats(t, args)
	}
	before = imitation.Calls("ncclBroadcast")
	got, want := fit(true), fit(false)
	for name, w := range want {
		if !slices.Equal(got[name], w) {
			t.Errorf("%s differs from that of sums by copies", name)
		}
	}
	if imitation.Present() && imitation.Calls("ncclBroadcast") == before {
		t.Error("ncclBroadcast was not called")
	}
}
