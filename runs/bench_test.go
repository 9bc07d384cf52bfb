package runs_test

import (
	"testing"

	"gomx/runs"
)

// BenchmarkStep is the cost of recording one step with six scalars.
func BenchmarkStep(b *testing.B) {
	for name, opts := range map[string][]runs.Option{"run": nil,
		"tensorboard": {runs.TensorBoard()}} {
		b.Run(name, func(b *testing.B) {
			r := open(b, b.TempDir(), opts...)
			points := make([]runs.Point, 6)
			for i, tag := range []string{"loss", "accuracy", "top5", "samples/s", "memory", "lr"} {
				points[i].Tag = r.Tag(tag)
			}
			b.ReportAllocs()
			step := int64(0)
			for b.Loop() {
				step++
				r.Add(step, points...)
			}
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
