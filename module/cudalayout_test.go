//go:build cuda

package module_test

import (
	"strings"
	"testing"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// TestCUDALayoutCopies counts the copies that change layouts in a training step of ResNet-50 in
// bfloat16: the images change theirs while they are converted to bfloat16, and so do the 17 weights
// of more than one tap, and their gradients on the way back, with Replay all in two conversions.
// Nothing between layers is copied.
func TestCUDALayoutCopies(t *testing.T) {
	t.Run("plain", func(t *testing.T) { layoutCopies(t, 1+2*17) })
	t.Run("replay", func(t *testing.T) { layoutCopies(t, 1, module.Replay()) })
}

// layoutCopies wants a number of conversions that change one layout, and no copies.
func layoutCopies(t *testing.T, want int64, opts ...module.Option) {
	t.Helper()
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
	if err := cuda.DNN(); err != nil {
		t.Skip("layouts serve cuDNN: ", err)
	}
	mod := module.New(resnet50(t), append(opts, module.On(device.CUDA(0)),
		module.MixedPrecision(dtype.BFloat16))...)
	if err := mod.Bind([]dataio.Desc{desc("data", 2, 3, 32, 32)},
		[]dataio.Desc{desc("softmax_label", 2)}); err != nil {
		t.Fatal(err)
	}
	if err := mod.InitParams(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	if err := mod.InitOptimizer(optimizer.SGD{LR: 0.01}); err != nil {
		t.Fatal(err)
	}
	b := &dataio.Batch{Data: []*nd.Array{nd.Ones(dtype.Shape{2, 3, 32, 32}, nd.On(device.CUDA(0)))},
		Label: []*nd.Array{nd.Ones(dtype.Shape{2}, nd.On(device.CUDA(0)))}}
	step := func() {
		if err := mod.ForwardBackward(b); err != nil {
			t.Fatal(err)
		}
		if err := mod.Update(); err != nil {
			t.Fatal(err)
		}
		if err := nd.WaitAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	step()
	stop := cuda.Trace(0)
	step()
	casts, copies := int64(0), int64(0)
	for name, n := range stop() {
		t.Logf("%6d %s", n, name)
		switch {
		case name == "fill.cast_turned":
			casts += n
		case strings.HasPrefix(name, "copy."):
			copies += n
		}
	}
	if casts != want || copies != 0 {
		t.Errorf("%d conversions and %d copies change a layout, want %d and 0", casts, copies, want)
	}
}
