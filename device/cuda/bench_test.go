//go:build cuda

package cuda_test

import (
	"testing"
	"unsafe"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
)

// BenchmarkSquare reads and writes memory once: the bandwidth of elementwise kernels.
func BenchmarkSquare(b *testing.B) {
	if device.Count(device.KindCUDA) == 0 {
		b.Skip("no devices: ", cuda.Missing())
	}
	q, err := device.QueueOf(device.CUDA(0), device.QueueCompute)
	if err != nil {
		b.Fatal(err)
	}
	queue := q.(*cuda.Queue)
	for _, t := range []dtype.Type{dtype.Float32, dtype.BFloat16} {
		b.Run(t.String(), func(b *testing.B) {
			const n = 64 << 20
			bytes := n * t.Size()
			x, err := device.Alloc(device.CUDA(0), 2*bytes, device.PurposeArray)
			if err != nil {
				b.Fatal(err)
			}
			defer x.Free()
			if err := queue.Clear(x.Ptr, bytes); err != nil {
				b.Fatal(err)
			}
			square := cuda.NewMap("square", t, n)
			b.SetBytes(int64(2 * bytes))
			for b.Loop() {
				if err := square.Run(queue, unsafe.Add(x.Ptr, bytes), x.Ptr, nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := queue.Sync(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
