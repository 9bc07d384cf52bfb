package gluon_test

import (
	"fmt"
	"testing"

	"gomx/autograd"
	"gomx/device/cpu"
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// mostAllocations bounds the allocations of a hybridized training step.
const mostAllocations = 32

// deep is a network of dense layers with a loss.
func deep(t testing.TB, layers int) (net *gluon.Net, x, label *nd.Array) {
	body := nn.Sequential{}
	for range layers {
		body = append(body, &nn.Dense{Units: 8, InUnits: 8, Activation: "relu"})
	}
	net = gluon.Wrap(body, func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{loss.SoftmaxCE{}.Forward(body.Forward(in[0]), in[1])}
	})
	if err := net.Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	net.Hybridize()
	return net, nd.Ones(nd.Shape{4, 8}), nd.Zeros(nd.Shape{4})
}

func TestAllocations(t *testing.T) {
	if !cpu.HasC {
		t.Skip("kernels in Go allocate working space of their own")
	}
	for _, layers := range []int{10, 100} {
		t.Run(fmt.Sprint(layers), func(t *testing.T) {
			net, x, label := deep(t, layers)
			trainer, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 0.1})
			if err != nil {
				t.Fatal(err)
			}
			forward := func() *nd.Array { return net.Call(autograd.Train().Watch(x), label)[0] }
			step := func() {
				l := forward()
				l.Backward()
				if err := trainer.Step(4); err != nil {
					t.Fatal(err)
				}
				l.Close()
				if err := nd.WaitAll(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				step()
			}
			n := testing.AllocsPerRun(20, step)
			for range 4 { // a collection empties the pools of calls, and they fill again
				n = min(n, testing.AllocsPerRun(20, step))
			}
			t.Logf("%v allocations a step", n)
			if n > mostAllocations {
				t.Errorf("%v allocations, want at most %d", n, mostAllocations)
			}
		})
	}
}
