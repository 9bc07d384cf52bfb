//go:build cuda

package module_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/examples/data"
	"gomx/initializer"
	"gomx/metric"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// smallLeNet is LeNet for images of 8×8.
func smallLeNet() *sym.Symbol {
	stage := func(x *sym.Symbol, i, filters int) *sym.Symbol {
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: filters}, sym.Name(fmt.Sprint("conv", i)))
		x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"},
			sym.Name(fmt.Sprint("tanh", i)))
		return sym.Pooling(x, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}}, sym.Name(fmt.Sprint("pool", i)))
	}
	x := stage(stage(sym.Var("data"), 1, 8), 2, 16)
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 64}, sym.Name("fc1"))
	x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh3"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// lossCurve trains LeNet on a device and returns the cross entropy of every batch, and the accuracy
// on images that it has not seen.
func lossCurve(t *testing.T, d device.Device, epochs int, opts ...module.Option) (curve []float64,
	accuracy float64) {
	t.Helper()
	set := data.Digits()
	train, err := set.Train(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	test, err := set.Test(64)
	if err != nil {
		t.Fatal(err)
	}
	mod := module.New(smallLeNet(), append(opts, module.Seed(1), module.On(d))...)
	err = mod.Fit(context.Background(), train, module.Epochs(epochs),
		module.Init(initializer.Xavier{}), module.Sample(1), module.Validate(test),
		module.Optimize(optimizer.SGD{LR: 0.05, Momentum: 0.9, WD: 1e-4}),
		module.Metric(metric.Composite(metric.CrossEntropy(), metric.Accuracy())))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range mod.History().Curves() {
		if c.Name == "training" && c.Quantity == "cross-entropy" {
			curve = c.Y
		}
		if c.Name == "validation" && c.Quantity == "accuracy" {
			accuracy = c.Y[len(c.Y)-1]
		}
	}
	if len(curve) == 0 {
		t.Fatalf("no curve of the cross entropy among %v", mod.History().Curves())
	}
	return curve, accuracy
}

// TestCUDALeNet trains LeNet on the processor and on a GPU, real or imitated. The losses differ by
// rounding only, which grows from step to step.
func TestCUDALeNet(t *testing.T) {
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
	want, _ := lossCurve(t, device.CPU(), 2)
	got, accuracy := lossCurve(t, device.CUDA(0), 2)
	if len(got) != len(want) {
		t.Fatalf("%d batches, want %d", len(got), len(want))
	}
	worst := 0.0
	for i := range got {
		worst = max(worst, math.Abs(got[i]-want[i])/max(want[i], 0.1))
		if math.Abs(got[i]-want[i]) > 0.02*max(want[i], 0.1) {
			t.Fatalf("batch %d: cross entropy %v, want %v as on the processor", i, got[i], want[i])
		}
	}
	if want[len(want)-1] > want[0]/2 {
		t.Errorf("the loss went from %v to %v only", want[0], want[len(want)-1])
	}
	t.Logf("%d batches, loss %.4f to %.4f, relative difference at most %.2g, validation "+
		"accuracy %.3f", len(got), got[0], got[len(got)-1], worst, accuracy)
}

// TestCUDAMixedPrecision trains LeNet in narrow types on a GPU along the curve that the processor
// takes in the same types.
func TestCUDAMixedPrecision(t *testing.T) {
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
	for _, p := range []dtype.Type{dtype.Float16, dtype.BFloat16} {
		opts := []module.Option{module.MixedPrecision(p),
			module.LossScale(module.Scaling{Initial: 256, Window: 8, Max: 1024})}
		want, _ := lossCurve(t, device.CPU(), 1, opts...)
		got, _ := lossCurve(t, device.CUDA(0), 1, append(opts, module.Streams(2),
			module.Replay())...)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 0.05*max(want[i], 0.2) {
				t.Fatalf("%v, batch %d: cross entropy %v, want %v as on the processor", p, i,
					got[i], want[i])
			}
		}
	}
}

// TestCUDAFitOverDevices trains on two GPUs, bit for bit as one does with the parts of every batch;
// gradients are added up on a GPU or by the processor.
func TestCUDAFitOverDevices(t *testing.T) {
	if n := device.Count(device.KindCUDA); n < 2 {
		t.Skipf("%d devices, want two: %s", n, cuda.Missing())
	}
	compareDevices(t, []device.Device{device.CUDA(0), device.CUDA(1)})
	compareDevices(t, []device.Device{device.CUDA(1), device.CUDA(0)}, module.Store("local"))
}
