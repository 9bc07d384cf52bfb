package data_test

import (
	"fmt"
	"testing"

	"gomx/gluon/data"
	nd "gomx/ndarray"
)

// BenchmarkLoader reads epochs of arrays in random order. An operation is a batch of 64 samples.
func BenchmarkLoader(b *testing.B) {
	for _, side := range []int{28, 64, 224} {
		const n = 256
		x, y := nd.Zeros(nd.Shape{n, 3, side, side}), nd.Zeros(nd.Shape{n})
		for _, workers := range []int{0, 1, 2} {
			b.Run(fmt.Sprintf("side=%d/workers=%d", side, workers), func(b *testing.B) {
				l := data.NewLoader(data.Arrays(x, y), 64, data.Shuffle(1), data.Workers(workers))
				b.SetBytes(int64(x.Bytes() / n * 64))
				b.ReportAllocs()
				for i := 0; i < b.N; {
					for _, err := range l.Batches(ctx) {
						if err != nil {
							b.Fatal(err)
						}
						if i++; i == b.N {
							break
						}
					}
				}
			})
		}
	}
}
