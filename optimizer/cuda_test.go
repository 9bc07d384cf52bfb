//go:build cuda

package optimizer_test

import (
	"slices"
	"testing"

	"gomx/device"
	"gomx/device/cuda"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// weightsOn makes weights and gradients of several sizes on a GPU.
func weightsOn(d device.Device) (weights, grads []*nd.Array) {
	for i := range 37 {
		size := 1 + i*13
		if i%9 == 4 {
			size = 2040 + 2*i // around the part of a block
		}
		w, g := make([]float32, size), make([]float32, size)
		for k := range w {
			w[k], g[k] = float32((k*7+i)%23-11)/8, float32((k*5+3*i)%17-8)/4
		}
		weights = append(weights, nd.FromSlice(w).To(d))
		grads = append(grads, nd.FromSlice(g).To(d))
	}
	return weights, grads
}

// stepped returns the weights after three steps, joined or one by one, and the launches of the last
// step.
func stepped(t *testing.T, o optimizer.Optimizer, joined bool) (got [][]float32, launches int64) {
	t.Helper()
	u, err := optimizer.NewUpdater(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	weights, grads := weightsOn(device.CUDA(0))
	for range 3 {
		if err := nd.WaitAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := cuda.WorkOf(0)
		if joined {
			u.Begin()
		}
		for i, w := range weights {
			if err := u.Update(i, w, grads[i]); err != nil {
				t.Fatal(err)
			}
		}
		u.End()
		if err := nd.WaitAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		launches = cuda.WorkOf(0).Sub(before).Kernels
	}
	for _, w := range weights {
		v, err := w.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	return got, launches
}

// TestCUDAJoinedSteps joins the steps of many parameters: the same bits with few launches.
func TestCUDAJoinedSteps(t *testing.T) {
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
	rates := optimizer.Common{LRMult: map[string]float64{"": 1}}
	for _, o := range []optimizer.Optimizer{optimizer.SGD{LR: 0.1, WD: 0.01, Common: rates},
		optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.01}, optimizer.NAG{LR: 0.1, Momentum: 0.9},
		optimizer.NAG{LR: 0.1, Momentum: 0.9, WD: 0.01}, optimizer.Signum{LR: 0.1},
		optimizer.Adam{WD: 0.1}, optimizer.AdamW{WD: 0.1}, optimizer.RMSProp{},
		optimizer.RMSProp{Centered: true}, optimizer.Ftrl{}, optimizer.FTML{},
		optimizer.AdaGrad{}} {
		want, single := stepped(t, o, false)
		got, joined := stepped(t, o, true)
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%s: weight %d of joined steps is %v, want %v", o.Name(), i, got[i][:1],
					want[i][:1])
				break
			}
		}
		_, whole := o.(optimizer.AdaGrad)
		if nag, ok := o.(optimizer.NAG); ok {
			whole = nag.WD != 0
		}
		if !whole && joined > 2 {
			t.Errorf("%s: %d launches of joined steps, %d of single ones, want 2", o.Name(), joined,
				single)
		}
	}
}
