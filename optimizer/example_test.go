package optimizer_test

import (
	"fmt"

	nd "gomx/ndarray"
	"gomx/optimizer"
)

func ExampleUpdater() {
	u, err := optimizer.NewUpdater(optimizer.SGD{LR: 0.5, Momentum: 0.5}, []string{"fc_weight"})
	if err != nil {
		fmt.Println(err)
		return
	}
	w, g := nd.FromSlice([]float32{1, 2}), nd.FromSlice([]float32{1, -1})
	for range 2 {
		if err := u.Update(0, w, g); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(w.Float32s())
	// Output: [-0.25 3.25] <nil>
}

func ExampleEncode() {
	data, err := optimizer.Encode(optimizer.SGD{LR: 0.1, Momentum: 0.9,
		Common: optimizer.Common{Schedule: optimizer.FactorScheduler{Step: 1000, Factor: 0.5}}})
	fmt.Println(string(data), err)
	// Output: {"name":"sgd","params":{"learning_rate":0.1,"lr_scheduler":{"name":"factor","params":{"factor":0.5,"step":1000}},"momentum":0.9}} <nil>
}

func ExampleCosineScheduler() {
	s := optimizer.CosineScheduler{MaxUpdate: 100, BaseLR: 0.1}
	for _, n := range []int{0, 50, 100} {
		fmt.Printf("%.3f ", s.Rate(0, n))
	}
	// Output: 0.100 0.050 0.000
}
