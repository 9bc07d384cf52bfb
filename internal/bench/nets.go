package bench

import (
	sym "gomx/symbol"
)

// The networks of MXNet's model zoo that peers/convnets.py measures, layer for layer.

// conv is a convolution without bias.
func conv(x *sym.Symbol, filters, kernel, stride, pad int) *sym.Symbol {
	return sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{kernel, kernel},
		Stride: []int{stride, stride},
		Pad:    []int{pad, pad}, NumFilter: filters, NoBias: true})
}

func biased(x *sym.Symbol, filters, kernel, stride, pad int) *sym.Symbol {
	return sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{kernel, kernel},
		Stride: []int{stride, stride},
		Pad:    []int{pad, pad}, NumFilter: filters})
}

func relu(x *sym.Symbol) *sym.Symbol {
	return sym.Activation(x, sym.ActivationParams{ActType: "relu"})
}

func norm(x *sym.Symbol) *sym.Symbol {
	return sym.BatchNorm(x, sym.BatchNormParams{Eps: sym.Some(1e-5), NoFixGamma: true})
}

func maxPool(x *sym.Symbol, kernel, stride, pad int) *sym.Symbol {
	return sym.Pooling(x, sym.PoolingParams{PoolType: "max", Kernel: []int{kernel, kernel},
		Stride: []int{stride, stride}, Pad: []int{pad, pad}})
}

// classify ends a network with the optional average over the image, a dense layer and the loss.
func classify(x *sym.Symbol, average bool, classes int) *sym.Symbol {
	if average {
		x = sym.Pooling(x, sym.PoolingParams{PoolType: "avg", GlobalPool: true,
			Kernel: []int{1, 1}})
	}
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: classes})
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// resnet is ResNet v1 (He et al., 2015) with two- or three-layer blocks.
func resnet(bottleneck bool, blocks []int, classes int) *sym.Symbol {
	x := maxPool(relu(norm(conv(sym.Var("data"), 64, 7, 2, 3))), 3, 2, 1)
	in := 64
	for stage, n := range blocks {
		out := 64 << stage
		if bottleneck {
			out *= 4
		}
		for i := range n {
			stride := 1
			if i == 0 && stage > 0 {
				stride = 2
			}
			x = block(x, bottleneck, out, stride, i == 0 && in != out)
		}
		in = out
	}
	return classify(x, true, classes)
}

// block is one residual block. project adds a convolution to the shortcut.
func block(x *sym.Symbol, bottleneck bool, out, stride int, project bool) *sym.Symbol {
	var body *sym.Symbol
	if bottleneck {
		body = relu(norm(biased(x, out/4, 1, stride, 0)))
		body = relu(norm(conv(body, out/4, 3, 1, 1)))
		body = norm(biased(body, out, 1, 1, 0))
	} else {
		body = relu(norm(conv(x, out, 3, stride, 1)))
		body = norm(conv(body, out, 3, 1, 1))
	}
	if project {
		x = norm(conv(x, out, 1, stride, 0))
	}
	return relu(sym.ElemwiseAdd(body, x))
}

// dense2 is the head of AlexNet and VGG: two wide layers with dropout.
func dense2(x *sym.Symbol, classes int) *sym.Symbol {
	x = sym.Flatten(x)
	for range 2 {
		x = relu(sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 4096}))
		x = sym.Dropout(x, sym.DropoutParams{})
	}
	return classify(x, false, classes)
}

// vgg16 is VGG-16 (Simonyan and Zisserman, 2014).
func vgg16(classes int) *sym.Symbol {
	x := sym.Var("data")
	for stage, n := range []int{2, 2, 3, 3, 3} {
		for range n {
			x = relu(biased(x, min(64<<stage, 512), 3, 1, 1))
		}
		x = maxPool(x, 2, 2, 0)
	}
	return dense2(x, classes)
}

// alexnet is AlexNet in its one-column form (Krizhevsky, 2014).
func alexnet(classes int) *sym.Symbol {
	x := maxPool(relu(biased(sym.Var("data"), 64, 11, 4, 2)), 3, 2, 0)
	x = maxPool(relu(biased(x, 192, 5, 1, 2)), 3, 2, 0)
	x = relu(biased(x, 384, 3, 1, 1))
	x = relu(biased(x, 256, 3, 1, 1))
	x = maxPool(relu(biased(x, 256, 3, 1, 1)), 3, 2, 0)
	return dense2(x, classes)
}

// mobilenet is MobileNet 1.0 (Howard et al., 2017).
func mobilenet(classes int) *sym.Symbol {
	x := relu(norm(conv(sym.Var("data"), 32, 3, 2, 1)))
	in := 32
	for _, l := range []struct{ out, stride, n int }{{64, 1, 1}, {128, 2, 1}, {128, 1, 1},
		{256, 2, 1}, {256, 1, 1},
		{512, 2, 1}, {512, 1, 5}, {1024, 2, 1}, {1024, 1, 1}} {
		for range l.n {
			depthwise := sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3},
				Stride: []int{l.stride, l.stride},
				Pad:    []int{1, 1}, NumFilter: in, NumGroup: in, NoBias: true})
			x = relu(norm(conv(relu(norm(depthwise)), l.out, 1, 1, 0)))
			in = l.out
		}
	}
	return classify(x, true, classes)
}
