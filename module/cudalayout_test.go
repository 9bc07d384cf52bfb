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
// of more than one tap, and their gradients on the way back. Nothing between layers is copied.
func TestCUDALayoutCopies(t *testing.T) {
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
	if err := cuda.DNN(); err != nil {
		t.Skip("layouts serve cuDNN: ", err)
	}
	mod := module.New(resnet50(t), module.On(device.CUDA(0)),
		module.MixedPrecision(dtype.BFloat16))
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
	if want := int64(1 + 2*17); casts != want || copies != 0 {
		t.Errorf("%d conversions and %d copies change a layout, want %d and 0", casts, copies, want)
	}
}
