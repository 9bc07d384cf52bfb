package module_test

import (
	"context"
	"fmt"

	"gomx/dtype"
	"gomx/examples/data"
	"gomx/initializer"
	"gomx/module"
	"gomx/optimizer"
)

func ExampleMixedPrecision() {
	train, err := data.Digits().Train(64, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	mod := module.New(digitsNet(), module.MixedPrecision(dtype.Float16),
		module.LossScale(module.Scaling{Initial: 64}), module.Seed(1))
	err = mod.Fit(context.Background(), train, module.Init(initializer.Xavier{}),
		module.Optimize(optimizer.SGD{LR: 0.05}))
	if err != nil {
		fmt.Println(err)
		return
	}
	args, _ := mod.Params()
	fmt.Println("fc1_weight is", args["fc1_weight"].DType(), "and gradients are scaled by",
		mod.LossScale())
	// Output: fc1_weight is float32 and gradients are scaled by 64
}
