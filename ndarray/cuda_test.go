//go:build cuda

package ndarray_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	"gomx/device/cuda"
	nd "gomx/ndarray"
	"gomx/op"
)

func needGPU(t *testing.T) {
	t.Helper()
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
}

// TestCUDAPrograms runs random programs of a few arrays on a GPU and on the processor: copies in
// and out, between devices, and kernels, in the order of the pushes without a wait between them.
func TestCUDAPrograms(t *testing.T) {
	needGPU(t)
	devices := []device.Device{device.CUDA(0), device.CUDA(max(device.Count(device.KindCUDA)-1, 0))}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := 1 + rng.IntN(5000)
		var host, there []*nd.Array
		for i := range 4 {
			values := make([]float32, n)
			for k := range values {
				values[k] = float32(rng.IntN(9) - 4)
			}
			a := nd.FromSlice(values)
			host = append(host, a)
			there = append(there, a.To(devices[i%2]))
		}
		for range 30 {
			x, y, z := rng.IntN(4), rng.IntN(4), rng.IntN(4)
			switch rng.IntN(3) {
			case 0:
				host[z] = host[x].Copy()
				there[z] = there[x].To(devices[z%2])
				if there[z] == there[x] {
					there[z] = there[x].Copy()
				}
			case 1:
				host[z] = nd.BroadcastMaximum(host[x], host[y])
				there[z] = nd.BroadcastMaximum(there[x], there[y].To(there[x].Device()))
			default:
				host[z] = nd.ElemwiseSub(host[x], host[y])
				there[z] = nd.ElemwiseSub(there[x], there[y].To(there[x].Device()))
			}
		}
		for i := range host {
			want, err := host[i].Float32s()
			if err != nil {
				t.Fatal(err)
			}
			got, err := there[i].Float32s()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for k := range want {
				if got[k] != want[k] {
					t.Fatalf("seed %d: array %d, element %d: got %v, want %v", seed, i, k, got[k],
						want[k])
				}
			}
		}
	}
}

// hostOnly is an operator that only the processor has a kernel for.
var hostOnly = op.Declare[op.NoParams]("_test_host_only")

func init() {
	hostOnly.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "nobody needs it"},
		Infer:  op.SameShape[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			copy(op.Slice[float32](c.Out[0]), op.Slice[float32](c.In[0]))
			return nil
		},
	})
}

// TestCUDAMissingKernel asks for an operator that has no kernel for GPUs.
func TestCUDAMissingKernel(t *testing.T) {
	needGPU(t)
	x := nd.Ones([]int{4}, nd.On(device.CUDA(0)))
	err := func() (err error) {
		defer op.Recover(&err)
		nd.Apply(hostOnly, op.NoParams{}, x)
		return nil
	}()
	if err == nil || !strings.Contains(err.Error(), "_test_host_only") ||
		!strings.Contains(err.Error(), "gpu(0)") {
		t.Errorf("an operator without kernel on a GPU: %v, want an error that names the "+
			"operator and the device", err)
	}
}

// TestCUDALoops runs a loop over arrays on a GPU, whose operators run there one by one, and selects
// rows by values. The operator of compiled loops has kernels for the processor only.
func TestCUDALoops(t *testing.T) {
	needGPU(t)
	on := func(values []float32, shape ...int) *nd.Array {
		return nd.FromSlice(values, shape...).To(device.CUDA(0))
	}
	x := on([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	outs, last := nd.Foreach(func(row, states []*nd.Array) (outs, next []*nd.Array) {
		sum := row[0].Add(states[0])
		return []*nd.Array{sum}, []*nd.Array{sum}
	}, []*nd.Array{x}, []*nd.Array{on([]float32{0, 0}, 2)})
	rows := nd.BooleanMask(outs[0], on([]float32{1, 0, 2}, 3), nd.BooleanMaskParams{})
	for _, tt := range []struct {
		name string
		got  *nd.Array
		want []float32
	}{{"state", last[0], []float32{9, 12}}, {"rows", rows, []float32{1, 2, 9, 12}}} {
		got, err := tt.got.Float32s()
		if err != nil || !slices.Equal(got, tt.want) || tt.got.Device() != device.CUDA(0) {
			t.Errorf("%s: got %v on %v, error %v, want %v", tt.name, got, tt.got.Device(), err,
				tt.want)
		}
	}
	for _, name := range []string{"_foreach", "_while_loop", "_cond"} {
		if op.Lookup(name).HasKernel(device.KindCUDA, device.TierRef) {
			t.Errorf("%s has a kernel for GPUs: correct docs/cuda.md", name)
		}
	}
}
