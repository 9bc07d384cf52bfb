package zoo

import (
	"gomx/gluon"
	"gomx/gluon/nn"
	nd "gomx/ndarray"
)

// InceptionV3 makes the network of Szegedy et al., Rethinking the Inception Architecture for
// Computer Vision, for pictures of 299×299. Options: Classes, Prefix.
//
// MXNet: gluon.model_zoo.vision.inception_v3.
func InceptionV3(opts ...Option) *Classifier {
	c := configure("InceptionV3", opts)
	plain := func(channels, kernel, stride, pad int) gluon.Block {
		return window{channels, nn.Square(kernel), stride, nn.Square(pad)}.block()
	}
	pool := func() gluon.Block {
		return &nn.MaxPool2D{Size: nn.Square(3), Strides: nn.Square(2)}
	}
	return classifier("inception3", c, nn.Sequential{
		plain(32, 3, 2, 0), plain(32, 3, 1, 0), plain(64, 3, 1, 1), pool(), plain(80, 1, 1, 0),
		plain(192, 3, 1, 0), pool(),
		inceptionA("A1_", 32), inceptionA("A2_", 64), inceptionA("A3_", 64),
		inceptionB("B_"),
		inceptionC("C1_", 128), inceptionC("C2_", 160), inceptionC("C3_", 160),
		inceptionC("C4_", 192),
		inceptionD("D_"),
		inceptionE("E1_"), inceptionE("E2_"),
		&nn.AvgPool2D{Size: nn.Square(8)}, &nn.Dropout{Rate: 0.5},
	}, &nn.Dense{Units: c.classes})
}

// window is a convolution of Inception.
type window struct {
	channels int
	kernel   []int
	stride   int
	pad      []int
}

// block is the convolution with normalization and activation.
func (w window) block() gluon.Block {
	return nn.Sequential{&nn.Conv2D{Channels: w.channels, Kernel: w.kernel,
		Strides: nn.Square(w.stride), Pad: w.pad, NoBias: true},
		&nn.BatchNorm{Eps: nd.Some(0.001)}, relu}
}

// Convolutions of 1×1, and others that keep height and width.
func one(channels int) window   { return window{channels, nn.Square(1), 1, nn.Square(0)} }
func three(channels int) window { return window{channels, nn.Square(3), 1, nn.Square(1)} }
func five(channels int) window  { return window{channels, nn.Square(5), 1, nn.Square(2)} }
func wide(channels, n int) window {
	return window{channels, []int{1, n}, 1, []int{0, n / 2}}
}
func tall(channels, n int) window {
	return window{channels, []int{n, 1}, 1, []int{n / 2, 0}}
}

// half is the convolution that halves height and width.
func half(channels int) window { return window{channels, nn.Square(3), 2, nn.Square(0)} }

// branch is a sequence of convolutions.
func branch(windows ...window) nn.Sequential {
	var list nn.Sequential
	for _, w := range windows {
		list = append(list, w.block())
	}
	return list
}

// smooth is a branch that begins with the average of a neighbourhood.
func smooth(w window) nn.Sequential {
	return nn.Sequential{&nn.AvgPool2D{Size: nn.Square(3), Strides: nn.Square(1),
		Pad: nn.Square(1)}, w.block()}
}

// halfPool is a branch that halves height and width by pooling.
func halfPool() nn.Sequential {
	return nn.Sequential{&nn.MaxPool2D{Size: nn.Square(3), Strides: nn.Square(2)}}
}

// join makes an Inception block.
func join(prefix string, blocks ...gluon.Block) gluon.Block {
	return &branches{nn.Concurrent{Axis: 1, Blocks: blocks}, prefix}
}

func inceptionA(prefix string, pooled int) gluon.Block {
	return join(prefix, branch(one(64)), branch(one(48), five(64)),
		branch(one(64), three(96), three(96)), smooth(one(pooled)))
}

func inceptionB(prefix string) gluon.Block {
	return join(prefix, branch(half(384)), branch(one(64), three(96), half(96)), halfPool())
}

func inceptionC(prefix string, n int) gluon.Block {
	return join(prefix, branch(one(192)), branch(one(n), wide(n, 7), tall(192, 7)),
		branch(one(n), tall(n, 7), wide(n, 7), tall(n, 7), wide(192, 7)), smooth(one(192)))
}

func inceptionD(prefix string) gluon.Block {
	return join(prefix, branch(one(192), half(320)),
		branch(one(192), wide(192, 7), tall(192, 7), half(192)), halfPool())
}

func inceptionE(prefix string) gluon.Block {
	split := func() gluon.Block {
		return parallel(branch(wide(384, 3)), branch(tall(384, 3)))
	}
	return join(prefix, branch(one(320)), nn.Sequential{branch(one(384)), split()},
		nn.Sequential{branch(one(448), three(384)), split()}, smooth(one(192)))
}
