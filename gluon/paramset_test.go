package gluon_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/device"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

// normalized is a network with running statistics.
func normalized(t *testing.T, opts ...gluon.InitOption) *gluon.Net {
	t.Helper()
	net := gluon.New(nn.Sequential{&nn.Dense{Units: 3, InUnits: 2}, &nn.BatchNorm{Channels: 3}})
	if err := net.Init(initializer.Xavier{}, opts...); err != nil {
		t.Fatal(err)
	}
	return net
}

func TestCastKeepsGradientsAndNames(t *testing.T) {
	net := normalized(t)
	w := net.Params().Get("0.weight")
	net.Forward(autograd.Train().Watch(nd.FromSlice([]float32{1, 2, -3, 5}, 2,
		2))).Square().Backward()
	before := nettest.Values(t, w.Grad())
	net.Params().Cast(dtype.Float16)
	if got := w.Grad(); got.DType() != dtype.Float16 || w.Data().DType() != dtype.Float16 {
		t.Errorf("values are %v and gradients %v, want float16", w.Data().DType(), got.DType())
	}
	for i, v := range nettest.Values(t, w.Grad().AsType(dtype.Float32)) {
		if d := v - before[i]; d > 1e-2 || d < -1e-2 {
			t.Errorf("gradient %d is %v, it was %v", i, v, before[i])
		}
	}
	if got := net.Params().Get("1.gamma").Data().DType(); got != dtype.Float32 {
		t.Errorf("gamma is %v, want float32", got)
	}
	y := net.Forward(autograd.Train().Watch(nd.Ones(nd.Shape{2, 2}, nd.As(dtype.Float16))))
	y.Backward()
	if y.DType() != dtype.Float16 {
		t.Errorf("output is %v, want float16", y.DType())
	}
	net.Hybridize()
	net.Forward(nd.Ones(nd.Shape{2, 2}, nd.As(dtype.Float16)))
	s, err := net.Symbol()
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Arguments(); !slices.Contains(got, "0.weight") {
		t.Errorf("arguments %v, want 0.weight", got)
	}
}

// Freezing all parameters and training them again leaves running statistics without gradients.
func TestFreezeAndTrainAgain(t *testing.T) {
	net := normalized(t)
	ps := net.Params()
	ps.SetGradReq(nd.GradNull)
	if g := ps.Get("0.weight").Grad(); g != nil {
		t.Error("a frozen parameter has a gradient")
	}
	ps.SetGradReq(nd.GradWrite)
	if ps.Get("0.weight").Grad() == nil || ps.Get("1.gamma").Grad() == nil {
		t.Error("a parameter stays frozen")
	}
	if g := ps.Get("1.running_mean").Grad(); g != nil {
		t.Error("a running mean has a gradient")
	}
}

func TestSetInitOfSome(t *testing.T) {
	net := normalized(t)
	biases, err := net.Params().Select("bias$")
	if err != nil {
		t.Fatal(err)
	}
	biases.SetInit(initializer.Constant{Value: 7})
	if err := net.Init(initializer.One{}); err != nil {
		t.Fatal(err)
	}
	nettest.Compare(t, "bias", nettest.Values(t, net.Params().Get("0.bias").Data()),
		[]float32{7, 7, 7})
	if v := nettest.Values(t, net.Params().Get("0.weight").Data()); v[0] != 1 {
		t.Errorf("weight %v, want ones", v)
	}
}

func TestSetDevices(t *testing.T) {
	cpus := []device.Device{{Kind: device.CPU().Kind, ID: 0}, {Kind: device.CPU().Kind, ID: 1}}
	net := normalized(t, gluon.On(cpus...))
	ps := net.Params()
	if got := ps.Devices(); !slices.Equal(got, cpus) {
		t.Errorf("devices %v, want %v", got, cpus)
	}
	mean := ps.Get("1.running_mean").All()
	mean[0].Fill(1)
	mean[1].Fill(3)
	path := filepath.Join(t.TempDir(), "a.params")
	if err := ps.Save(path); err != nil {
		t.Fatal(err)
	}
	weight := nettest.Values(t, ps.Get("0.weight").Data())
	if err := ps.SetDevices(cpus[1]); err != nil {
		t.Fatal(err)
	}
	if got := ps.Devices(); !slices.Equal(got, cpus[1:]) {
		t.Errorf("devices %v, want %v", got, cpus[1:])
	}
	want := []float32{2, 2, 2}
	nettest.Compare(t, "mean", nettest.Values(t, ps.Get("1.running_mean").Data()), want)
	nettest.Compare(t, "weight", nettest.Values(t, ps.Get("0.weight").Data()), weight)
	net.Forward(nd.Ones(nd.Shape{1, 2}, nd.On(cpus[1])))
	again := normalized(t)
	if err := again.Load(path); err != nil {
		t.Fatal(err)
	}
	nettest.Compare(t, "saved mean", nettest.Values(t,
		again.Params().Get("1.running_mean").Data()), want)
	later := gluon.New(&nn.Dense{Units: 1})
	if err := later.Params().SetDevices(cpus[1]); err == nil {
		t.Error("SetDevices before Init: no error")
	}
	if err := later.Init(nil); err != nil {
		t.Fatal(err)
	}
	if err := later.Params().SetDevices(cpus[1]); err != nil {
		t.Fatal(err)
	}
	later.Forward(nd.Ones(nd.Shape{1, 2}, nd.On(cpus[1])))
}

func TestShare(t *testing.T) {
	a, b := normalized(t), normalized(t, gluon.Seed(2))
	x := nd.FromSlice([]float32{1, -2}, 1, 2)
	b.Hybridize()
	b.Forward(x)
	if err := b.Share(a.Params()); err != nil {
		t.Fatal(err)
	}
	nettest.Compare(t, "outputs", nettest.Values(t, b.Forward(x)), nettest.Values(t, a.Forward(x)))
	if a.Params().Get("0.bias") != b.Params().Get("0.bias") {
		t.Error("the networks have different biases")
	}
	some, err := a.Params().Select("weight")
	if err != nil {
		t.Fatal(err)
	}
	c := gluon.New(nn.Sequential{&nn.Dense{Units: 3}})
	if err := c.Share(some); err != nil {
		t.Fatal(err)
	}
	if c.Params().Get("0.weight") != a.Params().Get("0.weight") ||
		c.Params().Get("0.bias") == a.Params().Get("0.bias") {
		t.Error("want the weight shared, and the bias not")
	}
	for name, bad := range map[string]gluon.Block{
		"shape": nn.Sequential{&nn.Dense{Units: 4}}, "no parameter": &nn.Dense{Units: 3}} {
		if err := gluon.New(bad).Share(some); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error about %s", err, name)
		}
	}
	gains := gluon.New(nn.Sequential{byValue{newScale().Gain}})
	if err := gains.Share(gluon.New(nn.Sequential{newScale()}).Params()); err == nil {
		t.Error("no error for a parameter in a value")
	}
}
