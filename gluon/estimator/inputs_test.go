package estimator_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gomx/device"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/estimator"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// twoInputs has a part for each input and two outputs.
type twoInputs struct{ Left, Right *nn.Dense }

func (b *twoInputs) net(t *testing.T, devices ...device.Device) *gluon.Net {
	t.Helper()
	net := gluon.Wrap(b, func(in []*nd.Array) []*nd.Array {
		l, r := b.Left.Forward(in[0]), b.Right.Forward(in[1])
		return []*nd.Array{l.Add(r), l.Sub(r)}
	})
	if len(devices) == 0 {
		devices = []device.Device{device.CPU()}
	}
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1), gluon.On(devices...)); err != nil {
		t.Fatal(err)
	}
	return net
}

// pairs are samples with two inputs and two labels.
func pairs(n int) data.Dataset[data.Sample] {
	range1 := func(k int) *nd.Array { return nd.Uniform(-1, 1, nd.Shape{n, k}, nd.Seed(uint64(k))) }
	return data.Arrays(range1(3), range1(2), range1(1), range1(4).SliceAxis(1, 0, 1))
}

// Fit trains networks with several inputs and labels as a loop does, on one device and on two; the
// losses of the outputs are added, or LossOf computes them.
func TestSeveralInputs(t *testing.T) {
	cpus := []device.Device{device.CPU(), {Kind: device.CPU().Kind, ID: 1}}
	fresh := func(devices ...device.Device) *gluon.Net {
		b := &twoInputs{Left: &nn.Dense{Units: 1}, Right: &nn.Dense{Units: 1}}
		return b.net(t, devices...)
	}
	both := func(outs, labels []*nd.Array) *nd.Array {
		return loss.L2{}.Forward(outs[0], labels[0]).Add(loss.L2{}.Forward(outs[1], labels[1]))
	}
	fit := func(net *gluon.Net, criterion estimator.Loss, opts ...estimator.Option) *gluon.Net {
		t.Helper()
		h, err := estimator.Fit(context.Background(), net, criterion, data.NewLoader(pairs(10), 4),
			append(opts, estimator.Inputs(2), estimator.Metric(metric.MAE()), estimator.Epochs(3),
				estimator.Optimize(optimizer.SGD{LR: 0.1}),
				estimator.Validate(data.NewLoader(pairs(6), 3)))...)
		if err != nil {
			t.Fatal(err)
		}
		l, ok := h.Epochs[2].Validation.Get("loss")
		s, err := estimator.Score(context.Background(), net, nil, data.NewLoader(pairs(6), 3),
			metric.MAE(), estimator.Inputs(2), estimator.LossOf(both))
		again, _ := s.Get("loss")
		if err != nil || !ok || again != l || math.IsNaN(l) {
			t.Errorf("validation loss %v, Score %v, %v", l, s, err)
		}
		return net
	}
	want := weights(t, fit(fresh(cpus[0]), loss.L2{}))
	nettest.SameBits(t, "LossOf", weights(t, fit(fresh(cpus[0]), nil, estimator.LossOf(both))), want)
	nettest.Near(t, "two devices", weights(t, fit(fresh(cpus...), loss.L2{})), want)
}

func TestInputErrors(t *testing.T) {
	b := &twoInputs{Left: &nn.Dense{Units: 1}, Right: &nn.Dense{Units: 1}}
	one := func(outs, labels []*nd.Array) *nd.Array { return outs[0] }
	for _, c := range []struct {
		criterion estimator.Loss
		opts      []estimator.Option
		want      string
	}{
		{loss.L2{}, []estimator.Option{estimator.Inputs(3)}, "2 outputs, the samples have 1 label"},
		{loss.L2{}, []estimator.Option{estimator.Inputs(4)}, "4 parts, want 4 for the network and 1"},
		{loss.L2{}, []estimator.Option{estimator.Inputs(0)}, "Inputs(0)"},
		{loss.L2{}, []estimator.Option{estimator.LossOf(one)}, "LossOf with a loss"},
		{nil, []estimator.Option{estimator.LossOf(nil)}, "LossOf(nil)"},
		{nil, nil, "the loss is nil"},
	} {
		_, err := estimator.Fit(context.Background(), b.net(t), c.criterion,
			data.NewLoader(pairs(8), 4), c.opts...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
}

// broken is a layer whose result is NaN from the third call on.
type broken struct {
	gluon.Hooks
	calls int
}

func (b *broken) Forward(x *nd.Array) *nd.Array {
	call := b.Enter(b, x)
	if b.calls++; b.calls > 2 {
		x = x.MulScalar(math.NaN())
	}
	return call.Leave(x)
}

// Guard names the batch and the block, or the parameter whose gradient is not finite.
func TestGuard(t *testing.T) {
	fit := func(net *gluon.Net, opts ...estimator.Option) error {
		t.Helper()
		if err := net.Init(initializer.Xavier{}); err != nil {
			t.Fatal(err)
		}
		_, err := estimator.Fit(context.Background(), net, loss.SoftmaxCE{}, loaderOf(20, 4),
			append(opts, estimator.Epochs(2))...)
		return err
	}
	layers := nn.Sequential{&nn.Dense{Units: 3}, &broken{}, &nn.Dense{Units: 2}}
	err := fit(gluon.New(layers), estimator.Guard())
	if err == nil || !strings.Contains(err.Error(), "epoch 0: batch 2") ||
		!strings.Contains(err.Error(), "result 0 of block 1 ") {
		t.Errorf("got %v, want an error that names batch 2 and block 1", err)
	}
	root := nn.Sequential{&nn.Dense{Units: 2}, gluon.Func(func(x *nd.Array) *nd.Array {
		return x.MulScalar(0).Sqrt() // whose gradient is infinite
	})}
	if err = fit(gluon.New(root), estimator.Guard()); err == nil ||
		!strings.Contains(err.Error(), "the gradient of parameter 0.") {
		t.Errorf("got %v, want an error that names a parameter", err)
	}
	net := network(t)
	if err := fit(net, estimator.Guard(), estimator.Trainer(gluon.LossScale(
		gluon.Scaling{Initial: 8}))); err != nil {
		t.Errorf("a sound network: %v", err)
	}
	layers[1].(*broken).calls = 0
	if err := fit(gluon.New(layers)); err != nil {
		t.Errorf("without Guard: %v", err)
	}
}
