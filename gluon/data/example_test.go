package data_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gomx/gluon/data"
	nd "gomx/ndarray"
)

func ExampleLoader() {
	images := nd.Arange(0, 10, 1).Reshape(5, 2)
	labels := nd.FromSlice([]int32{0, 1, 0, 1, 0})
	scale := func(t data.Tensor, _ *rand.Rand) (data.Tensor, error) {
		v, err := data.Elements[float32](t)
		if err != nil {
			return t, err
		}
		return data.Values([]float32{v[0] / 10, v[1] / 10}), nil
	}
	set := data.Arrays(images, labels).Map(data.First(scale))
	loader := data.NewLoader(set, 2, data.Shuffle(7), data.Workers(2))
	for batch, err := range loader.Batches(context.Background()) {
		if err != nil {
			panic(err)
		}
		fmt.Println(batch.Index, batch.Data.Shape(), batch.Label.Shape(), batch.Size)
	}
	// Output:
	// [2 4] (2, 2) (2,) 2
	// [3 0] (2, 2) (2,) 2
	// [1] (1, 2) (1,) 1
}

// Sentences of different lengths become one array per batch.
func ExamplePad() {
	sentences := data.FromSlice([][]int32{{3, 1}, {4, 1, 5}, {9}})
	set := data.Convert(sentences, func(s []int32, _ *rand.Rand) (data.Sample, error) {
		return data.Sample{data.Values(s), data.Scalar(int32(len(s)))}, nil
	})
	loader := data.NewLoader(set, 3, data.Group(data.Pad{Value: -1}, data.Stack{}))
	for batch, err := range loader.Batches(context.Background()) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d\nlengths %d\n", batch.Data, batch.Label)
	}
	// Output:
	// [[ 3  1 -1]
	//  [ 4  1  5]
	//  [ 9 -1 -1]]
	// lengths [2 3 1]
}

// A run that is cut in an epoch continues with the next batch.
func ExampleLoader_State() {
	set := data.FromSlice([]data.Sample{{data.Scalar(1.)}, {data.Scalar(2.)}, {data.Scalar(3.)}})
	var saved []byte
	loader := data.NewLoader(set, 1, data.Shuffle(1))
	for batch, err := range loader.Batches(context.Background()) {
		if err != nil {
			panic(err)
		}
		fmt.Println("before:", batch.Index)
		if saved, err = loader.State(); err != nil {
			panic(err)
		}
		break
	}
	again := data.NewLoader(set, 1, data.Shuffle(1), data.Workers(4))
	if err := again.SetState(saved); err != nil {
		panic(err)
	}
	for batch, err := range again.Batches(context.Background()) {
		if err != nil {
			panic(err)
		}
		fmt.Println("after:", batch.Index)
	}
	// Output:
	// before: [2]
	// after: [0]
	// after: [1]
}
