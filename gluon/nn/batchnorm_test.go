package nn_test

import (
	"math"
	"testing"

	"gomx/autograd"
	"gomx/device"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// TestBatchNormReLU compares the layer with numbers that MXNet 1.9.1 computed, line by line and
// compiled.
func TestBatchNormReLU(t *testing.T) {
	wave := func(f func(float64) float64) *nd.Array {
		list := make([]float32, 24)
		for i := range list {
			list[i] = float32(f(float64(i)))
		}
		return nd.FromSlice(list, 2, 3, 2, 2)
	}
	x, head := wave(func(i float64) float64 { return math.Sin(1.7 * i) }), wave(math.Cos)
	out := []float64{0.084295, 1.488542, 0, 0, 0.122269, 0.337868, 0, 0, 2.574084, 1.263176, 0, 0,
		1.500052, 0, 0, 0.59274, 0.395092, 0, 0, 0.320047, 1.63835, 0, 0, 2.932522}
	grad := []float64{1.132794, 0.098649, -0.184512, 0.07449, -0.420002, 0.252617, 0.008912,
		0.011245, 0.422175, -1.988108, -0.109504, 0.311811, 0.525353, -0.241277, 0.092258,
		-1.497755, -0.624352, 0.012173, 0.008099, 0.751307, 1.820332, -0.082676, 0.236264,
		-0.610295}
	for _, mode := range []string{"line by line", "compiled"} {
		b := &nn.BatchNormReLU{}
		net := gluon.New(b)
		if err := net.Init(initializer.Xavier{}); err != nil {
			t.Fatal(err)
		}
		net.Forward(x)
		b.Gamma.Data().Set(nd.FromSlice([]float32{1, 0.5, 2}, 3))
		b.Beta.Data().Set(nd.FromSlice([]float32{0.1, -0.2, 0.3}, 3))
		if mode == "compiled" {
			net.Hybridize()
		}
		x.AttachGrad()
		y := net.Forward(autograd.Train().Watch(x))
		y.Mul(head).Backward()
		near(t, mode, "output", read(t, y).data, out, 1e-5)
		near(t, mode, "gradient of the input", read(t, x.Grad()).data, grad, 1e-5)
		near(t, mode, "gradient of gamma", read(t, b.Gamma.Grad()).data,
			[]float64{1.5416383, -0.2275972, -1.0324982}, 1e-5)
		near(t, mode, "gradient of beta", read(t, b.Beta.Grad()).data,
			[]float64{1.6244683, -0.3389363, -1.1813812}, 1e-5)
		near(t, mode, "moving average", read(t, b.RunningMean.Data()).data,
			[]float64{0.0011091, 0.0039149, 0.0056981}, 1e-5)
	}
}

// normalizer has a layer between others, so that gradients depend on the statistics.
func normalizer(t *testing.T, norm gluon.Block, on ...device.Device) *gluon.Net {
	t.Helper()
	net := gluon.New(nn.Sequential{nn.Activation("tanh"), norm,
		gluon.Func(func(x *nd.Array) *nd.Array { return x.Mul(x).Add(x) })})
	if err := net.Init(initializer.Xavier{}, gluon.On(on...)); err != nil {
		t.Fatal(err)
	}
	return net
}

// TestSyncBatchNorm: the layer is BatchNorm of the whole batch, whose parts lie on several devices:
// outputs, gradients and averages, line by line and compiled, in several steps. In inference and with
// global statistics the devices do not wait for each other.
func TestSyncBatchNorm(t *testing.T) {
	cpus := []device.Device{device.CPU(), {ID: 1}}
	for name, c := range map[string]struct {
		whole   *nn.BatchNorm
		sync    *nn.SyncBatchNorm
		shape   nd.Shape
		hybrid  bool
		devices []device.Device
	}{
		"one device":  {&nn.BatchNorm{}, &nn.SyncBatchNorm{}, nd.Shape{4, 3}, false, cpus[:1]},
		"two devices": {&nn.BatchNorm{}, &nn.SyncBatchNorm{}, nd.Shape{4, 3, 2}, false, cpus},
		"compiled":    {&nn.BatchNorm{}, &nn.SyncBatchNorm{}, nd.Shape{4, 3, 2}, true, cpus},
		"large":       {&nn.BatchNorm{}, &nn.SyncBatchNorm{}, nd.Shape{8, 16, 40, 40}, true, cpus},
		"last axis, without scale": {&nn.BatchNorm{Axis: nd.Some(2), NoScale: true},
			&nn.SyncBatchNorm{BatchNorm: nn.BatchNorm{Axis: nd.Some(2), NoScale: true}},
			nd.Shape{4, 2, 3}, false, cpus},
		"global statistics": {&nn.BatchNorm{UseGlobalStats: true}, &nn.SyncBatchNorm{
			BatchNorm: nn.BatchNorm{UseGlobalStats: true}}, nd.Shape{4, 3, 2}, false, cpus},
	} {
		t.Run(name, func(t *testing.T) {
			whole, parts := normalizer(t, c.whole, cpus[0]), normalizer(t, c.sync, c.devices...)
			if c.hybrid {
				parts.Hybridize()
			}
			for step := range 3 {
				x := uniform(uint64(step), c.shape...)
				x.AttachGrad()
				want := whole.Forward(autograd.Train().Watch(x))
				want.Backward()
				xs, err := gluon.SplitAndLoad(x.Detach(), c.devices, 0, false)
				if err != nil {
					t.Fatal(err)
				}
				outs := make([]*nd.Array, len(xs))
				for i, x := range xs {
					x.AttachGrad()
					outs[i] = parts.Forward(autograd.Train().Watch(x))
					outs[i].Backward()
				}
				var got, grads []float64
				for i, y := range outs {
					got = append(got, read(t, y).data...)
					grads = append(grads, read(t, xs[i].Grad()).data...)
				}
				near(t, name, "output", got, read(t, want).data, 1e-5)
				near(t, name, "gradient of the input", grads, read(t, x.Grad()).data, 1e-4)
				comparePasses(t, name, whole, parts)
			}
			x := uniform(9, c.shape...)
			near(t, name, "inference", read(t, parts.Forward(x)).data,
				read(t, whole.Forward(x)).data, 1e-5)
		})
	}
}

// comparePasses compares the running statistics, and the sums of gradients over the devices.
func comparePasses(t *testing.T, name string, whole, parts *gluon.Net) {
	t.Helper()
	for param, p := range parts.Params().All() {
		want, sum := whole.Params().Get(param), []float64(nil)
		for _, a := range p.All() {
			if p.State {
				near(t, name, param, read(t, a).data, read(t, want.Data()).data, 1e-5)
				continue
			}
			if a.Grad() == nil {
				continue
			}
			for k, v := range read(t, a.Grad()).data {
				if k == len(sum) {
					sum = append(sum, 0)
				}
				sum[k] += v
			}
		}
		if g := want.Grad(); g != nil {
			near(t, name, "gradient of "+param, sum, read(t, g).data, 1e-4)
		}
	}
}
