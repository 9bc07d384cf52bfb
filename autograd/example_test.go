package autograd_test

import (
	"fmt"

	"gomx/autograd"
	nd "gomx/ndarray"
)

func Example() {
	x := nd.FromSlice([]float32{1, 2, 3})
	x.AttachGrad()
	tape := autograd.Train()
	y := tape.Watch(x)
	y.Mul(y).Sum().Backward()
	fmt.Println(x.Grad())
	// Output:
	// [2. 4. 6.]
	// <Array 3 cpu(0)>
}

// Logistic regression by hand: which points lie above a line?
func Example_training() {
	nd.SetSeed(1)
	points := nd.Uniform(-1, 1, nd.Shape{200, 2}, nd.Seed(5))
	above := nd.Dot(points, nd.FromSlice([]float32{2, -1}, 2, 1), nd.DotParams{}).AddScalar(0.3)
	label := above.Reshape(-1).Gt(nd.Zeros(nd.Shape{200}))
	w, b := nd.Zeros(nd.Shape{1, 2}), nd.Zeros(nd.Shape{1})
	w.AttachGrad()
	b.AttachGrad()
	step := nd.SGDUpdateParams{LR: 2, RescaleGrad: nd.Some(1. / 200)}
	for range 200 {
		tape := autograd.Train()
		out := nd.FullyConnected(tape.Watch(points), w, b, nd.FullyConnectedParams{NumHidden: 1})
		loss := nd.LogisticRegressionOutput(out.Reshape(-1), label, nd.RegressionParams{})
		loss.Backward()
		nd.SGDUpdate(w, w.Grad(), step)
		nd.SGDUpdate(b, b.Grad(), step)
	}
	out := nd.FullyConnected(points, w, b, nd.FullyConnectedParams{NumHidden: 1})
	right, err := out.Reshape(-1).Gt(nd.Zeros(nd.Shape{200})).Eq(label).Mean().Item()
	fmt.Println(right > 0.97, err)
	// Output: true <nil>
}

func ExampleRetain() {
	x := nd.FromSlice([]float32{3})
	x.AttachGrad(nd.GradAdd)
	y := autograd.Train().Watch(x).Square()
	for range 2 {
		if err := autograd.Backward([]*nd.Array{y}, autograd.Retain()); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(x.Grad())
	// Output:
	// [12.]
	// <Array 1 cpu(0)>
}

func ExampleGrad() {
	x := nd.FromSlice([]float32{1, 2})
	x.AttachGrad()
	y := autograd.Predict().Watch(x).Exp().Sum()
	g, err := autograd.Grad([]*nd.Array{y}, []*nd.Array{x})
	fmt.Println(g[0], err)
	fmt.Println(x.Grad())
	// Output:
	// [2.7182817 7.389056 ]
	// <Array 2 cpu(0)> <nil>
	// [0. 0.]
	// <Array 2 cpu(0)>
}

// A gradient is itself differentiated: the penalty on the slope of a critic, as Wasserstein GANs
// have it.
func ExampleCreateGraph() {
	w := nd.FromSlice([]float32{3, 4})
	w.AttachGrad()
	x := nd.FromSlice([]float32{0.5, -1})
	x.AttachGrad()
	score := autograd.Train().Watch(x).Mul(w).Sum()
	g, err := autograd.Grad([]*nd.Array{score}, []*nd.Array{x}, autograd.CreateGraph())
	if err != nil {
		fmt.Println(err)
		return
	}
	norm := g[0].Square().Sum().Sqrt() // |w| = 5
	norm.SubScalar(1).Square().Backward()
	fmt.Println(w.Grad()) // 2(|w|-1)·w/|w|
	// Output:
	// [4.8 6.4]
	// <Array 2 cpu(0)>
}

// A straight-through estimator: rounding whose gradient is that of doing nothing.
func ExampleFunction() {
	round := autograd.Function{
		Name:     "round",
		Forward:  func(in []*nd.Array) []*nd.Array { return []*nd.Array{nd.Round(in[0])} },
		Backward: func(_, _, grad []*nd.Array) []*nd.Array { return grad },
	}
	x := nd.FromSlice([]float32{0.2, 1.7})
	x.AttachGrad()
	y := round.Apply(autograd.Train().Watch(x))[0]
	y.Square().Backward()
	fmt.Println(y)
	fmt.Println(x.Grad())
	// Output:
	// [0. 2.]
	// <Array 2 cpu(0)>
	// [0. 4.]
	// <Array 2 cpu(0)>
}

func ExampleHeadGrads() {
	x := nd.FromSlice([]float32{1, 2})
	x.AttachGrad()
	w := autograd.Train().Watch(x)
	err := autograd.Backward([]*nd.Array{w.Square(), w.MulScalar(3)},
		autograd.HeadGrads(nil, nd.FromSlice([]float32{1, 10})))
	fmt.Println(x.Grad(), err)
	// Output:
	// [ 5. 34.]
	// <Array 2 cpu(0)> <nil>
}
