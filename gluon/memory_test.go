package gluon_test

import (
	"flag"
	"runtime/debug"
	"testing"

	"gomx/autograd"
	"gomx/device"
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
	sym "gomx/symbol"
)

var memorySteps = flag.Int("memory.steps", 1000, "training steps of TestMemoryStaysFlat")

// convolutional is a small convolutional network.
func convolutional() gluon.Block {
	return nn.Sequential{
		&nn.Conv2D{Channels: 16, Kernel: nn.Square(3), Pad: nn.Square(1), InChannels: 3},
		&nn.BatchNorm{Channels: 16}, nn.Activation("relu"), &nn.MaxPool2D{},
		&nn.Conv2D{Channels: 32, Kernel: nn.Square(3), Pad: nn.Square(1), InChannels: 16},
		nn.Activation("relu"), nn.Flatten{}, &nn.Dense{Units: 10, InUnits: 32 * 64}}
}

// TestMemoryStaysFlat trains line by line without closing an array: the garbage collector alone
// gives memory back.
func TestMemoryStaysFlat(t *testing.T) {
	net := gluon.New(convolutional())
	if err := net.Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := device.PoolOf(device.CPU())
	if err != nil {
		t.Fatal(err)
	}
	x, label := nd.Uniform(0, 1, nd.Shape{8, 3, 16, 16}), nd.Zeros(nd.Shape{8})
	var early, most int64
	for i := range *memorySteps {
		loss.SoftmaxCE{}.Forward(net.Forward(autograd.Train().Watch(x)), label).Backward()
		if err := trainer.Step(8); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			if err := nd.WaitAll(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if used := pool.Usage().Reserved; i < *memorySteps/4 {
			early = max(early, used)
		} else {
			most = max(most, used)
		}
	}
	t.Logf("%d MiB in the first quarter of the steps, %d MiB later", early>>20, most>>20)
	if most > early+early/4+16<<20 {
		t.Errorf("memory grows from %d to %d bytes", early, most)
	}
}

// TestMemoryOfQueuedSteps pushes many training steps without waiting for one, with the garbage
// collector switched off: memory must neither grow with their number nor stay in use.
func TestMemoryOfQueuedSteps(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	pool, err := device.PoolOf(device.CPU())
	if err != nil {
		t.Fatal(err)
	}
	net := hybrid(t, &nn.Dense{Units: 4096, InUnits: 64})
	criterion := gluon.Wrap(loss.SoftmaxCE{}, func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{loss.SoftmaxCE{}.Forward(in[0], in[1])}
	})
	criterion.Hybridize()
	x, label := nd.Uniform(0, 1, nd.Shape{256, 64}), nd.Zeros(nd.Shape{256})
	steps := func(n int) device.UsageInfo {
		for range n {
			nd.Scope(func(s *nd.Scoped) {
				y := net.Forward(autograd.Train().Watch(s.Enter(x)))
				criterion.Call(y, label)[0].Backward()
			})
		}
		if err := nd.WaitAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		return pool.Usage()
	}
	before := steps(3)
	after := steps(100)
	used := after.Used[device.PurposeArray] - before.Used[device.PurposeArray]
	grown := after.Reserved - before.Reserved
	t.Logf("100 steps: %d bytes stay in use, the pool grew by %d", used, grown)
	if used > 1<<20 {
		t.Errorf("%d bytes stay in use", used)
	}
	if grown > 22*256*4096*4 { // 64 MiB may be on their way back
		t.Errorf("the pool grew by %d bytes, want at most those of 22 outputs", grown)
	}
}

// TestHybridMemory compares the planned memory of a hybridized network with the memory of the same
// symbol's executor.
func TestHybridMemory(t *testing.T) {
	net := hybrid(t, convolutional())
	shape := nd.Shape{8, 3, 16, 16}
	net.Forward(autograd.Train().Watch(nd.Ones(shape))).Backward()
	s, err := net.Symbol(gluon.Input("data", shape...))
	if err != nil {
		t.Fatal(err)
	}
	ex, err := s.SimpleBind(sym.BindConfig{Shapes: map[string]nd.Shape{"data": shape},
		DefaultReq: op.ReqWrite, GradReq: map[string]op.Req{"data": op.ReqNull}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := ex.MemoryUse(true)
	if err != nil {
		t.Fatal(err)
	}
	got := gluon.Memory(net)
	t.Logf("hybridized %+v, executor %+v", got, want)
	if got.Arena > want.Arena+want.Arena/50 {
		t.Errorf("%d bytes planned, the executor has %d", got.Arena, want.Arena)
	}
}
