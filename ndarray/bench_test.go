package ndarray_test

import (
	"context"
	"testing"

	"gomx/device"
	nd "gomx/ndarray"
	"gomx/op"
)

// BenchmarkAddScalar is the time of one small operation with a fresh result and explicit release.
func BenchmarkAddScalar(b *testing.B) {
	x := nd.FromSlice(ramp(4))
	b.ReportAllocs()
	for b.Loop() {
		y := x.AddScalar(1)
		y.Close()
	}
}

// BenchmarkAddInPlace is the time of one small operation without a fresh result.
func BenchmarkAddInPlace(b *testing.B) {
	x, y := nd.FromSlice(ramp(4)), nd.FromSlice(ramp(4))
	b.ReportAllocs()
	for b.Loop() {
		x.AddInPlace(y)
	}
}

// BenchmarkAddScalarInPlace is the same with a number: x += 1.
func BenchmarkAddScalarInPlace(b *testing.B) {
	x := nd.FromSlice(ramp(4))
	b.ReportAllocs()
	for b.Loop() {
		x.AddScalarInPlace(1)
	}
}

// BenchmarkChain is a chain of operations whose results are left to the collector.
func BenchmarkChain(b *testing.B) {
	x := nd.FromSlice(ramp(4))
	b.ReportAllocs()
	for b.Loop() {
		x = x.AddScalar(1)
	}
}

// BenchmarkBackward records and differentiates a small loss.
func BenchmarkBackward(b *testing.B) {
	x, w := nd.FromSlice(ramp(8), 2, 4), nd.Ones(nd.Shape{4, 4})
	w.AttachGrad()
	b.ReportAllocs()
	for b.Loop() {
		nd.NewTape(true).Watch(x).Dot(w).Square().Sum().Backward()
	}
}

// The budget of allocations on the Go heap of operations whose kernels allocate nothing; raise it
// with a reason only.
func TestAllocations(t *testing.T) {
	if race {
		t.Skip("pools drop objects at random under the race detector")
	}
	x, y := nd.FromSlice(ramp(4)), nd.FromSlice(ramp(4))
	host := make([]float32, 4)
	ofKernel := 0.0
	if device.MaxTier() < device.TierC {
		ofKernel = 2
	}
	for _, c := range []struct {
		name   string
		f      func()
		budget float64
	}{
		{"in place", func() { nd.Apply(update, op.NoParams{}, x, y) }, 0},
		{"in place with a number", func() { x.AddScalarInPlace(1) }, ofKernel},
		{"fresh result", func() { nd.Apply(crossed, op.NoParams{}, x).Close() }, 4},
		{"copy to host", func() { _ = x.CopyTo(context.Background(), host) }, 1},
		{"copy from host", func() { _ = nd.CopyFrom(x, host) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			budget := c.budget
			if callSites {
				budget += 2 // the naive engine queues everything
			}
			if got := testing.AllocsPerRun(200, c.f); got > budget {
				t.Errorf("got %v allocations, want at most %v", got, budget)
			}
		})
	}
}
