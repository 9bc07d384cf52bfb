package gluon_test

import (
	"fmt"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// Bottleneck is a block of a program's own: its parts are its fields.
type Bottleneck struct {
	Narrow, Wide *nn.Dense
}

// Forward adds a correction to x.
func (b *Bottleneck) Forward(x *nd.Array) *nd.Array {
	return x.Add(b.Wide.Forward(b.Narrow.Forward(x)))
}

func Example() {
	net := gluon.New(nn.Sequential{
		&Bottleneck{&nn.Dense{Units: 2, Activation: "tanh"}, &nn.Dense{Units: 4}},
		&nn.Dense{Units: 3}})
	if err := net.Init(initializer.Xavier{}); err != nil {
		panic(err)
	}
	x, label := nd.Arange(0, 8, 1).Reshape(2, 4), nd.FromSlice([]float32{0, 2}, 2)

	tape := autograd.Train()
	l := loss.SoftmaxCE{}.Forward(net.Forward(tape.Watch(x)), label)
	l.Backward()
	for name, p := range net.Params().All() {
		fmt.Println(name, p.Shape, p.Grad().Shape())
	}
	fmt.Println("loss of each sample:", l.Shape())
	// Output:
	// 0.narrow.weight (2, 4) (2, 4)
	// 0.narrow.bias (2,) (2,)
	// 0.wide.weight (4, 2) (4, 2)
	// 0.wide.bias (4,) (4,)
	// 1.weight (3, 4) (3, 4)
	// 1.bias (3,) (3,)
	// loss of each sample: (2,)
}
