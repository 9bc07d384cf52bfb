package ndarray_test

import (
	"fmt"

	nd "gomx/ndarray"
	ops "gomx/op/update"
)

func Example() {
	x := nd.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	y := x.Mul(x).AddScalar(1)
	fmt.Println(y)
	v, err := y.Sum().Item()
	fmt.Println(v, err)
	// Output:
	// [[ 2.  5. 10.]
	//  [17. 26. 37.]]
	// <Array 2x3 cpu(0)>
	// 97 <nil>
}

func ExampleFullyConnected() {
	x := nd.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	w := nd.FromSlice([]float32{1, 0, 0, 1, 1, 1}, 3, 2)
	fmt.Println(nd.FullyConnected(x, w, nil, nd.FullyConnectedParams{NumHidden: 3, NoBias: true}))
	// Output:
	// [[1. 2. 3.]
	//  [3. 4. 7.]]
	// <Array 2x3 cpu(0)>
}

func ExampleArray_Slice() {
	x := nd.Zeros(nd.Shape{3, 2})
	x.Slice(1, 3).Fill(7)
	x.At(0).Set(nd.FromSlice([]float32{1, 2}))
	fmt.Println(x)
	// Output:
	// [[1. 2.]
	//  [7. 7.]
	//  [7. 7.]]
	// <Array 3x2 cpu(0)>
}

func ExampleScope() {
	total := nd.Zeros(nd.Shape{1})
	for i := range 3 {
		nd.Scope(func(s *nd.Scoped) {
			x := s.Own(nd.Full(float64(i), nd.Shape{4}))
			total = s.Keep(x.Square().Sum().Add(total))
		})
	}
	fmt.Println(total)
	// Output:
	// [20.]
	// <Array 1 cpu(0)>
}

func ExampleConcat() {
	x, y := nd.Zeros(nd.Shape{2, 1}), nd.Ones(nd.Shape{2, 2})
	fmt.Println(nd.Concat([]*nd.Array{x, y}, nd.ConcatParams{}))
	for _, part := range nd.SliceChannel(y, nd.SliceChannelParams{NumOutputs: 2,
		SqueezeAxis: true}) {
		fmt.Println(part)
	}
	// Output:
	// [[0. 1. 1.]
	//  [0. 1. 1.]]
	// <Array 2x3 cpu(0)>
	// [1. 1.]
	// <Array 2 cpu(0)>
	// [1. 1.]
	// <Array 2 cpu(0)>
}

func ExampleBulk() {
	var b nd.Bulk
	weights := []*nd.Array{nd.Ones(nd.Shape{2}), nd.Ones(nd.Shape{3})}
	for i, w := range weights {
		g := nd.Full(float64(i+1), w.Shape())
		if err := b.InvokeInto(ops.SGDUpdate.Op, ops.SGDUpdateParams{LR: 0.25},
			[]*nd.Array{w, g}, []*nd.Array{w}); err != nil {
			fmt.Println(err)
		}
	}
	b.Push()
	for _, w := range weights {
		fmt.Println(w.Float32s())
	}
	// Output:
	// [0.75 0.75] <nil>
	// [0.5 0.5 0.5] <nil>
}
