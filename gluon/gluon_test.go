package gluon_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
)

type residual struct {
	Conv1, Conv2 *nn.Conv2D
	Norm         *nn.BatchNorm `gluon:"bn"`
	Gains        []*scale
	Shared       *nn.Conv2D
	Note         string
	hidden       *nn.Dense
	Skipped      *nn.Dense `gluon:"-"`
}

func newResidual(channels int) *residual {
	conv := func() *nn.Conv2D {
		return &nn.Conv2D{Channels: channels, Kernel: nn.Square(3), Pad: nn.Square(1)}
	}
	r := &residual{Conv1: conv(), Conv2: conv(), Norm: &nn.BatchNorm{}, hidden: &nn.Dense{Units: 1},
		Skipped: &nn.Dense{Units: 1}, Gains: []*scale{newScale(), newScale()}}
	r.Shared = r.Conv1
	return r
}

func (r *residual) Forward(x *nd.Array) *nd.Array {
	y := r.Norm.Forward(r.Conv2.Forward(r.Conv1.Forward(x).Relu()))
	for _, g := range r.Gains {
		y = g.Forward(y)
	}
	return y.Add(x)
}

// scale is a block with a parameter of its own.
type scale struct{ Gain *gluon.Param }

func newScale() *scale {
	return &scale{gluon.NewParam(gluon.Spec{Shape: nd.Shape{1}, Init: initializer.One{}})}
}

func (s *scale) Forward(x *nd.Array) *nd.Array { return x.Mul(s.Gain.At(x)) }

func TestNames(t *testing.T) {
	net := gluon.New(nn.Sequential{newResidual(2), nn.Sequential{&nn.Dense{Units: 3}}})
	want := strings.Fields(`0.conv1.weight 0.conv1.bias 0.conv2.weight 0.conv2.bias 0.bn.gamma
		0.bn.beta 0.bn.running_mean 0.bn.running_var 0.gains.0.gain 0.gains.1.gain
		0.shared.weight 0.shared.bias 1.0.weight 1.0.bias`)
	if got := net.Params().Names(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	ps := net.Params()
	if ps.Get("0.shared.weight") != ps.Get("0.conv1.weight") {
		t.Error("the shared convolution has another weight")
	}
	if got := ps.Get("0.shared.weight").Name(); got != "0.conv1.weight" {
		t.Errorf("a shared parameter is called %s, want the first name", got)
	}
}

func TestDeferredShapes(t *testing.T) {
	net := gluon.New(&nn.Dense{Units: 3})
	w := net.Params().Get("weight")
	if err := net.Init(initializer.Xavier{}, gluon.Seed(5)); err != nil {
		t.Fatal(err)
	}
	if w.Data() != nil || !w.Shape.Equal(nd.Shape{3, 0}) {
		t.Errorf("shape %v before the first call, want (3, 0)", w.Shape)
	}
	if y := net.Forward(nd.Ones(nd.Shape{4, 2, 5})); !y.Shape().Equal(nd.Shape{4, 3}) {
		t.Errorf("output of shape %v", y.Shape())
	}
	if !w.Shape.Equal(nd.Shape{3, 10}) {
		t.Errorf("shape %v after the first call, want (3, 10)", w.Shape)
	}
	again := gluon.New(&nn.Dense{Units: 3, InUnits: 10})
	if err := again.Init(initializer.Xavier{}, gluon.Seed(5)); err != nil {
		t.Fatal(err)
	}
	a, b := nettest.Values(t, w.Data()), nettest.Values(t, again.Params().Get("weight").Data())
	if !slices.Equal(a, b) {
		t.Error("initial values depend on more than seed and name")
	}
}

func TestSharedGradient(t *testing.T) {
	d := &nn.Dense{Units: 2, NoBias: true}
	net := gluon.New(nn.Sequential{d, d})
	if err := net.Init(initializer.Constant{Value: 0.5}); err != nil {
		t.Fatal(err)
	}
	y := net.Forward(autograd.Train().Watch(nd.Ones(nd.Shape{1, 2})))
	y.Backward()
	// y = W·W·x summed: the gradient of each element is the sum over both uses
	for _, v := range nettest.Values(t, d.Weight.Grad()) {
		if v != 2 {
			t.Errorf("gradient %v, want 2", v)
		}
	}
}

func TestSaveAndLoad(t *testing.T) {
	d := &nn.Dense{Units: 2, InUnits: 2}
	net := gluon.New(nn.Sequential{d, d})
	if err := net.Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	all, once := filepath.Join(dir, "all.params"), filepath.Join(dir, "once.params")
	if err := net.Save(all); err != nil {
		t.Fatal(err)
	}
	if err := net.Save(once, gluon.Deduplicate()); err != nil {
		t.Fatal(err)
	}
	x := nd.Arange(0, 4, 1).Reshape(2, 2)
	want := nettest.Values(t, net.Forward(x))
	apart := gluon.New(nn.Sequential{&nn.Dense{Units: 2}, &nn.Dense{Units: 2}})
	if err := apart.Load(once); err == nil || !strings.Contains(err.Error(), `"1.weight"`) {
		t.Errorf("a file without a parameter: %v", err)
	}
	if err := apart.Load(all); err != nil {
		t.Fatal(err)
	}
	if got := nettest.Values(t, apart.Forward(x)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	shared := gluon.New(nn.Sequential{d, d})
	if err := shared.Load(once); err != nil {
		t.Error(err)
	}
	small := gluon.New(nn.Sequential{&nn.Dense{Units: 2}})
	if err := small.Load(all); err == nil || !strings.Contains(err.Error(), `"1.bias"`) {
		t.Errorf("a file with more parameters: %v", err)
	}
	if err := small.Load(all, gluon.IgnoreExtra()); err != nil {
		t.Error(err)
	}
	wide := gluon.New(nn.Sequential{&nn.Dense{Units: 3}, &nn.Dense{Units: 2}})
	if err := wide.Load(all); err == nil || !strings.Contains(err.Error(), "(2, 2), want (3, 0)") {
		t.Errorf("another shape: %v", err)
	}
}

func TestMisuse(t *testing.T) {
	for name, c := range map[string]struct {
		f    func()
		want string
	}{
		"no values": {func() { gluon.New(&nn.Dense{Units: 2}).Forward(nd.Ones(nd.Shape{1, 2})) },
			"parameter weight: it has no values: call Init or Load first"},
		"no name": {func() { newScaleOf(nil).Forward(nd.Ones(nd.Shape{1})) }, "has no values"},
	} {
		err := func() (err error) {
			defer op.Recover(&err)
			c.f()
			return nil
		}()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	ps := gluon.ParamsOf(newResidual(1))
	if _, err := ps.Select("nothing"); err == nil ||
		!strings.Contains(err.Error(), "conv1.weight") {
		t.Errorf("a pattern that matches nothing: %v", err)
	}
	if bias, err := ps.Select(`bias$`); err != nil || len(bias.Names()) != 3 {
		t.Errorf("biases: %v, %v", bias, err)
	}
}

func newScaleOf(i initializer.Initializer) *scale {
	return &scale{gluon.NewParam(gluon.Spec{Shape: nd.Shape{1}, Init: i})}
}
