package module_test

import (
	"context"
	"fmt"
	"os"

	"gomx/autograd"
	"gomx/device"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// Example_arrays fits a line with arrays and a tape.
func Example_arrays() {
	x := nd.FromSlice([]float32{0, 1, 2, 3}, 4, 1)
	y := nd.FromSlice([]float32{1, 3, 5, 7}, 4, 1)
	w, b := nd.Zeros(nd.Shape{1, 1}), nd.Zeros(nd.Shape{1})
	w.AttachGrad()
	b.AttachGrad()
	for range 200 {
		tape := autograd.Train()
		out := nd.FullyConnected(tape.Watch(x), w, b, nd.FullyConnectedParams{NumHidden: 1})
		loss := out.Sub(y).Square().Mean()
		loss.Backward()
		nd.SGDUpdate(w, w.Grad(), nd.SGDUpdateParams{LR: 0.1})
		nd.SGDUpdate(b, b.Grad(), nd.SGDUpdateParams{LR: 0.1})
	}
	slope, err := w.Item() // waits; err is the first failure on the way
	fmt.Printf("slope %.2f, error %v\n", slope, err)
	// Output: slope 2.00, error <nil>
}

// stripes returns images of horizontal (0) and vertical (1) stripes.
func stripes(n, batch int) *dataio.Table {
	const side = 28
	pixels, labels := make([]float32, n*side*side), make([]float32, n)
	for i := range n {
		labels[i] = float32(i % 2)
		for p := range side * side {
			at := p / side
			if i%2 == 1 {
				at = p % side
			}
			pixels[i*side*side+p] = float32((at + i) / 3 % 2)
		}
	}
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{BatchSize: batch,
		Data:  []*nd.Array{nd.FromSlice(pixels, n, 1, side, side)},
		Label: []*nd.Array{nd.FromSlice(labels)}})
	if err != nil {
		panic(err)
	}
	return it
}

// Example_fit declares a small convolutional network and trains it in one call.
func Example_fit() {
	dir, err := os.MkdirTemp("", "gomx")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	back, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	if err := os.Chdir(dir); err != nil {
		panic(err)
	}
	defer os.Chdir(back)
	ctx, train, val := context.Background(), stripes(60, 10), stripes(20, 10)
	score, err := fitReadme(ctx, train, val)
	accuracy, _ := score.Get("accuracy")
	fmt.Println(accuracy, err)
	// Output: 1 <nil>
}

func fitReadme(ctx context.Context, train, val dataio.Iter) (module.Scores, error) {
	net := sym.Var("data")
	net = sym.Convolution(net, sym.ConvolutionParams{Kernel: []int{5, 5}, NumFilter: 20},
		sym.Name("conv1"))
	net = sym.Activation(net, sym.ActivationParams{ActType: "tanh"})
	net = sym.Pooling(net, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
		Stride: []int{2, 2}})
	net = sym.FullyConnected(sym.Flatten(net), sym.FullyConnectedParams{NumHidden: 10},
		sym.Name("fc"))
	net = sym.SoftmaxOutput(net, sym.SoftmaxOutputParams{}, sym.Name("softmax"))

	mod := module.New(net, module.On(device.CPU()))
	err := mod.Fit(ctx, train,
		module.Validate(val),
		module.Epochs(5),
		module.Optimize(optimizer.SGD{LR: 0.05, Momentum: 0.9}),
		module.Init(initializer.Xavier{}),
		module.Checkpoint("runs/lenet", module.KeepLast(3)),
		module.Progress(os.Stderr))
	if err != nil {
		return nil, err
	}
	score, err := mod.Score(ctx, val, metric.Accuracy())
	return score, err
}
