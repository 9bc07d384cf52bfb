package bench

import (
	"context"
	"fmt"
	"time"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// convnets ports peers/convnets.py: inference and training of convolutional networks.
func convnets() ([]Workload, error) {
	resnet50 := resnet(true, []int{3, 4, 6, 3}, 1000)
	resnet18 := resnet(false, []int{2, 2, 2, 2}, 1000)
	return []Workload{
		network("resnet50_v1", resnet50, 1, 224, false),
		network("resnet50_v1", resnet50, 32, 224, false),
		network("vgg16", vgg16(1000), 1, 224, false),
		network("alexnet", alexnet(1000), 32, 224, false),
		network("mobilenet1_0", mobilenet(1000), 1, 224, false),
		network("mobilenet1_0", mobilenet(1000), 32, 224, false),
		network("resnet18_v1", resnet18, 32, 224, true),
		network("resnet50_v1", resnet50, 16, 224, true),
		network("alexnet", alexnet(1000), 32, 224, true),
		network("mobilenet1_0", mobilenet(1000), 32, 224, true),
		network("resnet18_v1", resnet(false, []int{2, 2, 2, 2}, 10), 64, 32, true),
	}, nil
}

// network measures images per second of one network on random images: the best of several steps
// after one to warm up.
func network(name string, net *sym.Symbol, batch, side int, training bool) Workload {
	mode, repeat := "infer", 3
	if training {
		mode = "train"
	}
	if batch == 1 {
		repeat = 10
	}
	run := func(ctx context.Context) (float64, error) {
		step, err := networkStep(ctx, net, batch, side, training)
		if err != nil {
			return 0, err
		}
		least := 0.0
		for i := range repeat + 1 {
			start := time.Now()
			if err := step(); err != nil {
				return 0, err
			}
			if s := time.Since(start).Seconds(); i > 0 && (least == 0 || s < least) {
				least = s
			}
		}
		return float64(batch) / least, nil
	}
	return Workload{Name: fmt.Sprintf("convnets.%s.%s.bs%d.%d", name, mode, batch, side),
		Unit: "images/s", Run: run}
}

// networkStep binds a network and returns a step that waits for its results.
func networkStep(ctx context.Context, net *sym.Symbol, batch, side int,
	training bool) (func() error, error) {
	push, err := networkPush(net, nd.Shape{batch, 3, side, side}, training)
	return func() error {
		if err := push(); err != nil {
			return err
		}
		return nd.WaitAll(ctx)
	}, err
}

// networkPush binds a network and returns a step that starts the work without waiting. The data are
// on the network's device.
func networkPush(net *sym.Symbol, shape nd.Shape, training bool,
	options ...module.Option) (func() error, error) {
	return modulePush(net, shape, shape[:1], initializer.Xavier{}, training, options...)
}

// modulePush is networkPush for labels of any shape and parameters of any initializer.
func modulePush(net *sym.Symbol, shape, labels nd.Shape, init initializer.Initializer,
	training bool, options ...module.Option) (func() error, error) {
	data := []dataio.Desc{{Name: "data", Shape: shape}}
	label := []dataio.Desc{{Name: "softmax_label", Shape: labels}}
	mod := module.New(net, options...)
	var opts []module.BindOption
	if !training {
		opts = append(opts, module.ForInference())
	}
	if err := mod.Bind(data, label, opts...); err != nil {
		return nil, err
	}
	if err := mod.InitParams(init); err != nil {
		return nil, err
	}
	if training {
		if err := mod.InitOptimizer(optimizer.SGD{}); err != nil {
			return nil, err
		}
	}
	args, _ := mod.Params()
	on := nd.On(args[mod.ParamNames()[0]].Device())
	b := &dataio.Batch{Data: []*nd.Array{nd.Uniform(0, 1, shape, on)},
		Label: []*nd.Array{nd.Zeros(labels, on)}}
	return func() error {
		if err := mod.Forward(b, training); err != nil {
			return err
		}
		if training {
			if err := mod.Backward(); err != nil {
				return err
			}
			return mod.Update()
		}
		return nil
	}, nil
}
