// Resnet classifies digits by a residual network (He et al., 2016) whose blocks are structs with a
// Forward method. It trains on pictures with random shifts, in a compiled network.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"

	images "gomx/examples/data"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/estimator"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// least is the share of test images that must be classified correctly.
const least = 0.96

// residual adds its input to the result of two convolutions.
type residual struct {
	Conv1, Conv2 *nn.Conv2D
	Norm1, Norm2 *nn.BatchNorm
	Shortcut     nn.Sequential // makes the input fit where the shape changes; else empty
}

// newResidual makes a block; with a stride of 2 its output has half the height and width.
func newResidual(channels, stride int) *residual {
	conv := func(kernel, stride int) *nn.Conv2D {
		return &nn.Conv2D{Channels: channels, Kernel: nn.Square(kernel), Strides: nn.Square(stride),
			Pad: nn.Square(kernel / 2), NoBias: true}
	}
	r := &residual{Conv1: conv(3, stride), Conv2: conv(3, 1), Norm1: &nn.BatchNorm{},
		Norm2: &nn.BatchNorm{}}
	if stride > 1 {
		r.Shortcut = nn.Sequential{conv(1, stride), &nn.BatchNorm{}}
	}
	return r
}

func (r *residual) Forward(x *nd.Array) *nd.Array {
	y := r.Norm1.Forward(r.Conv1.Forward(x)).Relu()
	y = r.Norm2.Forward(r.Conv2.Forward(y))
	return y.Add(r.Shortcut.Forward(x)).Relu()
}

// move moves the pixels of a picture by at most one place to the left, right, up or down.
func move(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	from, err := data.Elements[float32](t)
	if err != nil {
		return t, err
	}
	height, width := t.Shape[1], t.Shape[2]
	to, dy, dx := make([]float32, len(from)), r.IntN(3)-1, r.IntN(3)-1
	for y := max(0, -dy); y < min(height, height-dy); y++ {
		for x := max(0, -dx); x < min(width, width-dx); x++ {
			to[y*width+x] = from[(y+dy)*width+x+dx]
		}
	}
	return data.Values(to, t.Shape...), nil
}

func main() {
	accuracy, err := run(context.Background(), 12)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accuracy %.4f\n", accuracy)
	if accuracy < least {
		log.Fatalf("want at least %v", least)
	}
}

// run trains for some epochs, and returns the share of test images that are classified correctly.
func run(ctx context.Context, epochs int) (float64, error) {
	train, test, err := images.Digits().Arrays()
	if err != nil {
		return 0, err
	}
	net := gluon.New(nn.Sequential{
		&nn.Conv2D{Channels: 16, Kernel: nn.Square(3), Pad: nn.Square(1), NoBias: true},
		&nn.BatchNorm{}, nn.Activation("relu"),
		newResidual(16, 1), newResidual(32, 2), newResidual(64, 2),
		&nn.GlobalAvgPool2D{}, &nn.Dense{Units: 10}})
	net.Hybridize()
	loader := data.NewLoader(data.Arrays(train...).Map(data.First(move)), 32, data.Shuffle(7),
		data.LastBatch(data.Discard))
	steps := epochs * (train[0].Shape()[0] / 32)
	history, err := estimator.Fit(ctx, net, loss.SoftmaxCE{}, loader,
		estimator.Epochs(epochs),
		estimator.Init(initializer.MSRAPrelu{}, gluon.Seed(1)),
		estimator.Optimize(optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 1e-4,
			Common: optimizer.Common{Schedule: optimizer.CosineScheduler{MaxUpdate: steps}}}),
		estimator.Metric(metric.Accuracy()),
		estimator.Validate(data.NewLoader(data.Arrays(test...), 64)))
	if err != nil {
		return 0, err
	}
	accuracy, ok := history.Epochs[epochs-1].Validation.Get("accuracy")
	if !ok {
		return 0, errors.New("there is no accuracy")
	}
	return accuracy, nil
}
