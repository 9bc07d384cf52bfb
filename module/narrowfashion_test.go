package module_test

import (
	"flag"
	"math"
	"testing"

	"gomx/dtype"
	"gomx/examples/data"
	"gomx/initializer"
	"gomx/metric"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"
)

var fashion = flag.Bool("fashion", false,
	"train a ResNet on Fashion-MNIST in float32 and bfloat16 (minutes)")

// smallResNet has three stages of one residual block.
func smallResNet(classes int) *sym.Symbol {
	conv := func(x *sym.Symbol, filters, kernel, stride int) *sym.Symbol {
		return sym.BatchNorm(sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{kernel, kernel},
			Stride: []int{stride, stride}, Pad: []int{kernel / 2, kernel / 2}, NumFilter: filters,
			NoBias: true}), sym.BatchNormParams{NoFixGamma: true})
	}
	relu := func(x *sym.Symbol) *sym.Symbol {
		return sym.Activation(x, sym.ActivationParams{ActType: "relu"})
	}
	x := relu(conv(sym.Var("data"), 16, 3, 1))
	for stage, stride := range []int{1, 2, 2} {
		filters := 16 << stage
		y := conv(relu(conv(x, filters, 3, stride)), filters, 3, 1)
		if stride > 1 {
			x = conv(x, filters, 1, stride)
		}
		x = relu(sym.ElemwiseAdd(y, x))
	}
	x = sym.Pooling(x, sym.PoolingParams{PoolType: "avg", GlobalPool: true, Kernel: []int{1, 1}})
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: classes})
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// TestFashionNarrow trains in bfloat16 to the accuracy of float32, within half a point.
func TestFashionNarrow(t *testing.T) {
	if !*fashion {
		t.Skip("needs -fashion: it takes minutes (make narrow)")
	}
	set := data.Open(data.Dir)
	if set.Name != "Fashion-MNIST" {
		t.Fatalf("no Fashion-MNIST in %s: apt-get install -y dataset-fashion-mnist", data.Dir)
	}
	accuracy := map[dtype.Type]float64{}
	for _, p := range []dtype.Type{dtype.Float32, dtype.BFloat16} {
		train, err := set.Train(128, 1)
		if err != nil {
			t.Fatal(err)
		}
		test, err := set.Test(128)
		if err != nil {
			t.Fatal(err)
		}
		m := module.New(smallResNet(len(set.Classes)), module.Seed(1), module.MixedPrecision(p))
		steps := train.Samples() / 128
		if err := m.Fit(t.Context(), train, module.Epochs(3), module.Init(initializer.Xavier{}),
			module.Optimize(optimizer.SGD{LR: 0.1, WD: 1e-4, Momentum: 0.9,
				Common: optimizer.Common{Schedule: optimizer.CosineScheduler{BaseLR: 0.1,
					MaxUpdate: 3 * steps}}})); err != nil {
			t.Fatal(err)
		}
		scores, err := m.Score(t.Context(), test, metric.Accuracy())
		if err != nil {
			t.Fatal(err)
		}
		accuracy[p] = 100 * scores[0].Value
		t.Logf("%v: %.2f %% of the test images", p, accuracy[p])
	}
	if d := accuracy[dtype.BFloat16] - accuracy[dtype.Float32]; math.Abs(d) > 0.5 ||
		accuracy[dtype.Float32] < 88 {
		t.Errorf("bfloat16 %.2f %%, float32 %.2f %%, want at least 88 and within 0.5",
			accuracy[dtype.BFloat16], accuracy[dtype.Float32])
	}
}
