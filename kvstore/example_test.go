package kvstore_test

import (
	"context"
	"fmt"

	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

func Example() {
	ctx := context.Background()
	kv, err := kvstore.Open(ctx, "local")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer kv.Close()
	w := nd.FromSlice([]float32{1, 1})
	// of two devices
	grads := []*nd.Array{nd.FromSlice([]float32{1, 2}), nd.FromSlice([]float32{3, 4})}
	for _, err := range []error{
		kv.Init(ctx, "w", w),
		kv.SetOptimizer(ctx, optimizer.SGD{LR: 0.5}),
		kv.PushPull("w", 0, grads, []*nd.Array{w}),
	} {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(w)
	// Output:
	// [-1. -2.]
	// <Array 2 cpu(0)>
}
