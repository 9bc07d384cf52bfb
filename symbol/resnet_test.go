package symbol_test

import (
	"fmt"
	"testing"
	"time"

	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"
)

// resnet is a residual network of bottleneck units, as ResNet-50 is with units 3, 4, 6, 3.
func resnet(units ...int) *sym.Symbol {
	n := 0
	conv := func(x *sym.Symbol, filters, kernel, stride int, relu bool) *sym.Symbol {
		n++
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{kernel, kernel}, Stride: []int{stride, stride}, Pad: []int{kernel / 2, kernel / 2},
			NumFilter: filters, NoBias: true}, sym.Name(fmt.Sprintf("conv%d", n)))
		x = sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: true, Eps: sym.Some(1e-5)}, sym.Name(fmt.Sprintf("bn%d", n)))
		if relu {
			x = sym.Activation(x, sym.ActivationParams{ActType: "relu"}, sym.Name(fmt.Sprintf("relu%d", n)))
		}
		return x
	}
	x := conv(sym.Var("data"), 64, 7, 2, true)
	x = sym.Pooling(x, sym.PoolingParams{Kernel: []int{3, 3}, Stride: []int{2, 2}, Pad: []int{1, 1}, PoolType: "max"})
	for stage, count := range units {
		width := 64 << stage
		for u := range count {
			stride, short := 1, x
			if u == 0 && stage > 0 {
				stride = 2
			}
			y := conv(conv(conv(x, width, 1, stride, true), width, 3, 1, true), 4*width, 1, 1, false)
			if u == 0 {
				short = conv(x, 4*width, 1, stride, false)
			}
			x = sym.Activation(sym.ElemwiseAdd(y, short), sym.ActivationParams{ActType: "relu"})
		}
	}
	x = sym.Pooling(x, sym.PoolingParams{Kernel: []int{1, 1}, GlobalPool: true, PoolType: "avg"})
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 1000}, sym.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// BenchmarkBindResNet50 measures inference of shapes, the gradient, all passes, preparing the
// kernels and planning the memory, for training and for inference.
func BenchmarkBindResNet50(b *testing.B) {
	for _, train := range []bool{true, false} {
		b.Run(map[bool]string{true: "train", false: "infer"}[train], func(b *testing.B) {
			s := resnet(3, 4, 6, 3)
			c := sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {8, 3, 224, 224}}, GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}}
			if !train {
				c.DefaultReq = op.ReqNull
			}
			for b.Loop() {
				ex, err := s.SimpleBind(c)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := ex.MemoryUse(train); err != nil {
					b.Fatal(err)
				}
				for _, a := range ex.Args {
					a.Close()
				}
				for _, a := range ex.Grads {
					a.Close()
				}
				ex.Close()
			}
		})
	}
}

// TestBindIsQuick binds ResNet-50 for training. It takes 0.05 s where nothing else runs; the bound is for machines that are
// slow and busy.
func TestBindIsQuick(t *testing.T) {
	start := time.Now()
	ex, err := resnet(3, 4, 6, 3).SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {2, 3, 64, 64}}, GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if _, err := ex.MemoryUse(true); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	if t.Logf("bound in %v", took); took > 30*time.Second {
		t.Errorf("binding took %v, want at most 1 s on a quiet machine", took)
	}
}
