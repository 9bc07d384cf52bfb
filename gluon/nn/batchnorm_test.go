package nn_test

import (
	"fmt"
	"math"
	"strings"
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

// TestSyncBatchNorm: the layer is BatchNorm on one device, and an error on two.
func TestSyncBatchNorm(t *testing.T) {
	x := uniform(1, 4, 3)
	forward := func(b gluon.Block, on ...device.Device) *nd.Array {
		net := gluon.New(b)
		if err := net.Init(initializer.Xavier{}, gluon.On(on...)); err != nil {
			t.Fatal(err)
		}
		return net.Forward(autograd.Train().Watch(x))
	}
	one := device.CPU()
	got, want := forward(&nn.SyncBatchNorm{}, one), forward(&nn.BatchNorm{}, one)
	near(t, "one device", "output", read(t, got).data, read(t, want).data, 0)
	defer func() {
		if e := fmt.Sprint(recover()); !strings.Contains(e, "on 2 devices, want 1") {
			t.Errorf("panic %q", e)
		}
	}()
	forward(&nn.SyncBatchNorm{}, one, device.Device{ID: 1})
}
