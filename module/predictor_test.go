package module_test

import (
	"context"
	"fmt"

	"gomx/checkpoint"
	"gomx/module"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

func ExampleNewPredictor() {
	net := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 2},
		sym.Name("fc"))
	// or checkpoint.Load("resnet-50", 0)
	model := &checkpoint.Model{Symbol: sym.Softmax(net, sym.SoftmaxParams{}),
		Args: map[string]*nd.Array{"fc_weight": nd.FromSlice([]float32{1, 0, 0, 1}, 2, 2),
			"fc_bias": nd.Zeros(nd.Shape{2})}}
	p, err := module.NewPredictor(model, module.Input("data", 1, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	// any number of goroutines at once
	probs, err := p.Predict(context.Background(), nd.FromSlice([]float32{3, 3}, 1, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, _ := probs.Float32s()
	fmt.Println(v)
	// Output: [0.5 0.5]
}
