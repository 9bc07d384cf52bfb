package module_test

import (
	"context"
	"testing"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	"gomx/optimizer"
)

// BenchmarkStep measures one step of training a small network: what Fit does per batch.
func BenchmarkStep(b *testing.B) {
	it := points(b, 200, 20, dataio.NDArrayConfig{})
	mod := module.New(mlp())
	for _, err := range []error{mod.Bind(it.ProvideData(), it.ProvideLabel()),
		mod.InitParams(initializer.Xavier{}),
		mod.InitOptimizer(optimizer.SGD{LR: 0.1, Momentum: 0.9})} {
		if err != nil {
			b.Fatal(err)
		}
	}
	acc := metric.Accuracy()
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		batch, err := it.Next(ctx)
		if err != nil {
			if err := it.Reset(); err != nil {
				b.Fatal(err)
			}
			continue
		}
		if err := mod.ForwardBackward(batch); err != nil {
			b.Fatal(err)
		}
		if err := mod.Update(); err != nil {
			b.Fatal(err)
		}
		if err := mod.UpdateMetric(acc, batch.Label); err != nil {
			b.Fatal(err)
		}
	}
}
