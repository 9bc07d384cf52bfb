package gluon_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/device"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// samples are points of the plane in batches, with the quadrant's parity as label.
func samples(batch, n int) (x, y *nd.Array) {
	x = nd.Uniform(-1, 1, nd.Shape{n, 2}, nd.Seed(uint64(batch)+1))
	y = x.SliceAxis(1, 0, 1).Mul(x.SliceAxis(1, 1, 2)).Gt(nd.Zeros(nd.Shape{n, 1})).Reshape(-1)
	return x, y
}

// classifier is a network for samples.
func classifier() *gluon.Net {
	return gluon.New(nn.Sequential{&nn.Dense{Units: 8, Activation: "tanh"}, &nn.BatchNorm{},
		&nn.Dense{Units: 2}})
}

// plain is a classifier without batch statistics.
func plain() *gluon.Net {
	return gluon.New(nn.Sequential{&nn.Dense{Units: 8, Activation: "tanh"}, &nn.Dense{Units: 2}})
}

// backward computes the gradients for a part of a batch on a device.
func backward(net *gluon.Net, x, y *nd.Array, scale func(*nd.Array) *nd.Array) {
	l := loss.SoftmaxCE{}.Forward(net.Forward(autograd.Train().Watch(x)), y)
	if scale != nil {
		l = scale(l)
	}
	l.Backward()
}

// values returns all parameters on one device.
func values(t *testing.T, net *gluon.Net, device int) (list []float32) {
	t.Helper()
	for _, p := range net.Params().All() {
		list = append(list, nettest.Values(t, p.All()[device])...)
	}
	return list
}

// trained initializes a network and returns its trainer.
func trained(t *testing.T, net *gluon.Net, o optimizer.Optimizer, devices []device.Device,
	opts ...gluon.TrainerOption) *gluon.Trainer {
	t.Helper()
	if err := net.Init(initializer.Xavier{}, gluon.On(devices...), gluon.Seed(3)); err != nil {
		t.Fatal(err)
	}
	tr, err := gluon.NewTrainer(net.Params(), o, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// processors are devices of the processor.
func processors(n int) (list []device.Device) {
	for i := range n {
		list = append(list, device.Device{ID: i})
	}
	return list
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var someAdam = optimizer.Adam{LR: 0.05, Common: optimizer.Common{Clip: 0.5}}

// Several devices train as one does, through every kind of store, and have equal parameters.
func TestTrainerOverDevices(t *testing.T) {
	run := func(n int, opts ...gluon.TrainerOption) [][]float32 {
		net, devices := plain(), processors(n)
		tr := trained(t, net, someAdam, devices, opts...)
		for step := range 6 {
			x, y := samples(step, 12)
			xs, err := gluon.SplitAndLoad(x, devices, 0, false)
			ok(t, err)
			ys, err := gluon.SplitAndLoad(y, devices, 0, false)
			ok(t, err)
			for k := range devices {
				backward(net, xs[k], ys[k], nil)
			}
			ok(t, tr.Step(12))
		}
		var list [][]float32
		for k := range devices {
			list = append(list, values(t, net, k))
		}
		ok(t, tr.Close())
		return list
	}
	want := run(1)[0]
	for name, opts := range map[string][]gluon.TrainerOption{
		"device":              nil,
		"local":               {gluon.Store("local")},
		"update on the store": {gluon.Store("local"), gluon.UpdateOnStore(true)},
	} {
		got := run(3, opts...)
		for k := range got {
			if !slices.Equal(got[k], got[0]) {
				t.Errorf("%s: the parameters of device %d differ", name, k)
			}
		}
		nettest.Near(t, name, got[0], want)
	}
}

// AllreduceGrads and Update are a Step in two parts.
func TestTrainerInTwoParts(t *testing.T) {
	run := func(parts bool) []float32 {
		net, devices := plain(), processors(2)
		tr := trained(t, net, someAdam, devices)
		for step := range 3 {
			for k := range devices {
				x, y := samples(2*step+k, 6)
				backward(net, x.To(devices[k]), y.To(devices[k]), nil)
			}
			if !parts {
				ok(t, tr.Step(12))
				continue
			}
			if err := tr.Update(12); err == nil ||
				!strings.Contains(err.Error(), "AllreduceGrads") {
				t.Fatalf("Update before AllreduceGrads: %v", err)
			}
			ok(t, tr.AllreduceGrads())
			for name, p := range net.Params().All() {
				a, b := nettest.Values(t, p.All()[0].Grad()), nettest.Values(t, p.All()[1].Grad())
				if !slices.Equal(a, b) {
					t.Errorf("%s: the sums on the devices differ", name)
				}
			}
			ok(t, tr.Update(12))
		}
		return values(t, net, 1)
	}
	if got, want := run(true), run(false); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// one is a network of one weight, whose gradient is the sum of the inputs.
func one() (*gluon.Net, *gluon.Param) {
	net := gluon.New(&nn.Dense{Units: 1, NoBias: true})
	return net, net.Params().Get("weight")
}

func TestTrainerArithmetic(t *testing.T) {
	for name, c := range map[string]struct {
		opt  optimizer.Optimizer
		opts []gluon.TrainerOption
		run  func(tr *gluon.Trainer, p *gluon.Param, pass func(sum float32)) error
		want float32
	}{
		"changing batch sizes": {opt: optimizer.SGD{LR: 1},
			run: func(tr *gluon.Trainer, p *gluon.Param, pass func(float32)) error {
				pass(4)
				if err := tr.Step(4); err != nil {
					return err
				}
				pass(4)
				return tr.Step(2)
			}, want: 10 - 1 - 2},
		"changing batch sizes in a store": {opt: optimizer.SGD{LR: 1},
			opts: []gluon.TrainerOption{gluon.UpdateOnStore(true)},
			run: func(tr *gluon.Trainer, p *gluon.Param, pass func(float32)) error {
				pass(4)
				if err := tr.Step(4); err != nil {
					return err
				}
				pass(4)
				return tr.Step(2)
			}, want: 10 - 1 - 2},
		"the optimizer's own factor": {
			opt: optimizer.SGD{LR: 1, Common: optimizer.Common{Rescale: 0.5}},
			run: func(tr *gluon.Trainer, p *gluon.Param, pass func(float32)) error {
				pass(4)
				return tr.Step(4)
			}, want: 10 - 0.5},
		"weight decay of any name, multipliers": {opt: optimizer.SGD{LR: 1, WD: 0.1},
			run: func(tr *gluon.Trainer, p *gluon.Param, pass func(float32)) error {
				pass(4)
				if err := tr.Step(4); err != nil { // 10 - (1+1)
					return err
				}
				p.LRMult, p.WDMult = op.Some(0.5), op.Some(0.0)
				pass(4)
				return tr.Step(4)
			}, want: 8 - 0.5},
		"accumulation": {opt: optimizer.SGD{LR: 1},
			run: func(tr *gluon.Trainer, p *gluon.Param, pass func(float32)) error {
				p.SetGradReq(nd.GradAdd)
				pass(1)
				pass(2)
				if err := tr.Step(1); err != nil {
					return err
				}
				p.ZeroGrad()
				pass(1)
				return tr.Step(1)
			}, want: 10 - 3 - 1},
		"clipping": {opt: optimizer.SGD{LR: 1},
			opts: []gluon.TrainerOption{gluon.ClipGlobalNorm(2)},
			run: func(tr *gluon.Trainer, p *gluon.Param, pass func(float32)) error {
				pass(8)
				if err := tr.Step(2); err != nil { // 4 becomes 2
					return err
				}
				pass(2)
				return tr.Step(2)
			}, want: 10 - 2 - 1},
		"learning rate": {opt: optimizer.SGD{LR: 1},
			run: func(tr *gluon.Trainer, p *gluon.Param, pass func(float32)) error {
				if err := tr.SetLearningRate(0.25); err != nil {
					return err
				}
				if tr.LearningRate() != 0.25 {
					return fmt.Errorf("learning rate %v", tr.LearningRate())
				}
				pass(4)
				return tr.Step(1)
			}, want: 10 - 1},
		"frozen, then trained": {opt: optimizer.SGD{LR: 1},
			run: func(tr *gluon.Trainer, p *gluon.Param, pass func(float32)) error {
				p.SetGradReq(nd.GradNull)
				if err := tr.Step(1); err != nil {
					return err
				}
				p.SetGradReq(nd.GradWrite)
				pass(4)
				return tr.Step(1)
			}, want: 10 - 4},
	} {
		t.Run(name, func(t *testing.T) {
			net, p := one()
			tr := trained(t, net, c.opt, processors(1), c.opts...)
			ok(t, p.Set(nd.Full(10, nd.Shape{1, 1})))
			pass := func(sum float32) {
				net.Forward(autograd.Train().Watch(nd.Full(float64(sum),
					nd.Shape{1, 1}))).Backward()
			}
			ok(t, c.run(tr, p, pass))
			if got := nettest.Values(t, p.Data())[0]; math.Abs(float64(got-c.want)) > 1e-5 {
				t.Errorf("weight %v, want %v", got, c.want)
			}
		})
	}
}

func TestTrainerStaleGradients(t *testing.T) {
	used, idle := &nn.Dense{Units: 1, InUnits: 1, NoBias: true}, &nn.Dense{Units: 1, InUnits: 1}
	net := gluon.Wrap(&struct{ Used, Idle *nn.Dense }{used, idle},
		func(in []*nd.Array) []*nd.Array { return []*nd.Array{used.Forward(in[0])} })
	tr := trained(t, net, optimizer.SGD{LR: 1, WD: 0.5}, processors(1))
	x := nd.Ones(nd.Shape{1, 1})
	before := nettest.Values(t, idle.Weight.Data())
	net.Forward(autograd.Train().Watch(x)).Backward()
	if err := tr.Step(1); err == nil || !strings.Contains(err.Error(),
		"gluon: Step: the gradient of parameter idle.weight on cpu(0)") {
		t.Errorf("a parameter that the loss does not depend on: %v", err)
	}
	w := nettest.Values(t, used.Weight.Data())[0]
	ok(t, tr.Step(1, gluon.IgnoreStale()))
	if got := nettest.Values(t, used.Weight.Data())[0]; got == w {
		t.Error("the parameter with a gradient has not changed")
	}
	if got := nettest.Values(t, idle.Weight.Data()); !slices.Equal(got, before) {
		t.Errorf("the other parameter has changed from %v to %v", before, got)
	}
	w = nettest.Values(t, used.Weight.Data())[0]
	ok(t, tr.Step(1, gluon.IgnoreStale()))
	if got := nettest.Values(t, used.Weight.Data())[0]; got != w {
		t.Error("a step without Backward has used a gradient again")
	}
}

// On several devices a stale gradient counts as zero if another one is fresh.
func TestTrainerIdleDevice(t *testing.T) {
	net, p := one()
	devices := processors(2)
	tr := trained(t, net, optimizer.SGD{LR: 1}, devices)
	ok(t, p.Set(nd.Full(10, nd.Shape{1, 1})))
	pass := func(d device.Device, v float64) {
		net.Forward(autograd.Train().Watch(nd.Full(v, nd.Shape{1, 1}, nd.On(d)))).Backward()
	}
	pass(devices[0], 1)
	pass(devices[1], 2)
	ok(t, tr.Step(1))
	pass(devices[0], 1)
	if err := tr.Step(1); err == nil || !strings.Contains(err.Error(), "cpu(1)") {
		t.Errorf("a device without a batch: %v", err)
	}
	ok(t, tr.Step(1, gluon.IgnoreStale()))
	if got := nettest.Values(t, p.All()[1])[0]; got != 10-3-1 {
		t.Errorf("weight %v, want 6", got)
	}
}

// A parameter of several blocks is updated once.
func TestTrainerSharedParameter(t *testing.T) {
	d := &nn.Dense{Units: 1, NoBias: true}
	net := gluon.New(nn.Sequential{d, d})
	tr := trained(t, net, optimizer.SGD{LR: 1}, processors(1))
	if !strings.Contains(tr.String(), "1 parameters") {
		t.Errorf("%v, want one parameter", tr)
	}
	x := nd.Ones(nd.Shape{1, 1})
	net.Forward(x)
	ok(t, d.Weight.Set(nd.Full(3, nd.Shape{1, 1})))
	net.Forward(autograd.Train().Watch(x)).Backward()
	ok(t, tr.Step(1))
	if got := nettest.Values(t, d.Weight.Data())[0]; got != 3-6 { // y = w²
		t.Errorf("weight %v, want -3", got)
	}
}

// Shapes that the first call finds may be unknown when the trainer is made.
func TestTrainerBeforeShapes(t *testing.T) {
	net := gluon.New(&nn.Dense{Units: 2})
	tr := trained(t, net, optimizer.SGD{LR: 0.1}, processors(1))
	if err := tr.Step(1); err == nil || !strings.Contains(err.Error(),
		"parameter weight has no values") {
		t.Errorf("a step before the first call: %v", err)
	}
	if err := tr.LoadStates("none"); err == nil {
		t.Error("states of a file that does not exist")
	}
	net.Forward(autograd.Train().Watch(nd.Ones(nd.Shape{1, 3}))).Backward()
	ok(t, tr.Step(1))
}

// Gradients in float16 vanish without a loss scale. One that is too large is halved, and the step
// skipped.
func TestTrainerLossScale(t *testing.T) {
	net, p := one()
	tr := trained(t, net, optimizer.SGD{LR: 1 << 20,
		Common: optimizer.Common{MultiPrecision: true}}, processors(1),
		gluon.LossScale(gluon.Scaling{Initial: 1 << 22, Window: 2}))
	net.Params().Cast(dtype.Float16)
	pass := func() {
		x := nd.Ones(nd.Shape{1, 1}, nd.As(dtype.Float16))
		y := net.Forward(autograd.Train().Watch(x)).AsType(dtype.Float32)
		tr.ScaleLoss(y.MulScalar(1. / (1 << 20))).Backward() // a gradient of 2^-20
	}
	ok(t, net.Params().Set(map[string]*nd.Array{"weight": nd.Full(10, nd.Shape{1, 1})}))
	_ = p
	var scales []float64
	for range 4 {
		pass()
		ok(t, tr.Step(1))
		scales = append(scales, tr.LossScale())
	}
	if want := []float64{1 << 22, 1 << 23, 1 << 23, 1 << 24}; !slices.Equal(scales, want) {
		t.Errorf("scales %v, want %v", scales, want)
	}
	if got := nettest.Values(t, net.Params().Get("weight").Data().AsType(
		dtype.Float32))[0]; got != 6 {
		t.Errorf("weight %v, want 6", got)
	}
	x := nd.Full(65504, nd.Shape{1, 1}, nd.As(dtype.Float16))
	tr.ScaleLoss(net.Forward(autograd.Train().Watch(x)).AsType(dtype.Float32)).Backward()
	ok(t, tr.Step(1))
	if tr.Skipped() != 1 || tr.LossScale() != 1<<23 {
		t.Errorf("skipped %d, scale %v, want 1 and 2^23", tr.Skipped(), tr.LossScale())
	}
	if got := nettest.Values(t, net.Params().Get("weight").Data().AsType(
		dtype.Float32))[0]; got != 6 {
		t.Errorf("weight %v after a skipped step, want 6", got)
	}
}

// someOptimizers are optimizers with different states and schedules.
var someOptimizers = map[string]optimizer.Optimizer{
	"sgd": optimizer.SGD{LR: 0.1, WD: 0.01, Common: optimizer.Common{Schedule: optimizer.
		FactorScheduler{Step: 2, Factor: 0.5, BaseLR: 0.1}}},
	"momentum": optimizer.SGD{LR: 0.1, Momentum: 0.9, Common: optimizer.Common{Clip: 0.5}},
	"adam":     optimizer.Adam{LR: 0.05, Beta1: op.Some(0.8)},
	"rmsprop": optimizer.RMSProp{LR: 0.01, Centered: true, Common: optimizer.Common{
		Schedule: optimizer.MultiFactorScheduler{Step: []int{2, 5}, Factor: 0.1, BaseLR: 0.01}}},
}

// States and counts of updates go on exactly in another trainer.
func TestTrainerStates(t *testing.T) {
	for name, o := range someOptimizers {
		t.Run(name, func(t *testing.T) { goOn(t, o, filepath.Join(t.TempDir(), "states")) })
	}
	path := filepath.Join(t.TempDir(), "states")
	goOn(t, optimizer.SGD{LR: 0.1, Momentum: 0.9}, path)
	early := trained(t, classifier(), optimizer.SGD{LR: 0.1, Momentum: 0.9}, processors(1))
	if err := early.LoadStates(path); err == nil || !strings.Contains(err.Error(),
		"has no values yet") {
		t.Errorf("states before the first call: %v", err)
	}
}

// goOn trains with an optimizer, saves its states to a file, and goes on in two trainers.
func goOn(t *testing.T, o optimizer.Optimizer, path string) {
	step := func(net *gluon.Net, tr *gluon.Trainer, n int) {
		x, y := samples(n, 8)
		backward(net, x, y, nil)
		ok(t, tr.Step(8))
	}
	net := classifier()
	tr := trained(t, net, o, processors(1))
	for n := range 3 {
		step(net, tr, n)
	}
	ok(t, tr.SaveStates(path))
	ok(t, net.Save(path+".params"))
	again := classifier()
	tr2 := trained(t, again, o, processors(1))
	ok(t, again.Load(path+".params"))
	ok(t, tr2.LoadStates(path))
	for n := range 3 {
		step(net, tr, 3+n)
		step(again, tr2, 3+n)
	}
	if got, want := values(t, again, 0), values(t, net, 0); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTrainerMisuse(t *testing.T) {
	net, _ := one()
	ok(t, net.Init(nil))
	sgd := optimizer.SGD{LR: 0.1}
	scheduled := optimizer.SGD{Common: optimizer.Common{
		Schedule: optimizer.FactorScheduler{Step: 2, Factor: 0.5}}}
	for name, c := range map[string]struct {
		opt  optimizer.Optimizer
		opts []gluon.TrainerOption
		use  func(tr *gluon.Trainer) error
		want string
	}{
		"no optimizer": {want: "the optimizer is nil"},
		"unknown store": {opt: sgd, opts: []gluon.TrainerOption{gluon.Store("dust")},
			want: `"dust"`},
		"nil store": {opt: sgd, opts: []gluon.TrainerOption{gluon.StoreWith(nil)},
			want: "StoreWith(nil)"},
		"clipping in a store": {opt: sgd, opts: []gluon.TrainerOption{gluon.ClipGlobalNorm(1),
			gluon.UpdateOnStore(true)}, want: "ClipGlobalNorm with UpdateOnStore(true)"},
		"negative norm": {opt: sgd, opts: []gluon.TrainerOption{gluon.ClipGlobalNorm(-1)},
			want: "ClipGlobalNorm(-1)"},
		"order": {opt: sgd, opts: []gluon.TrainerOption{gluon.Order("bias")}, want: `"bias"`},
		"scale": {opt: sgd, opts: []gluon.TrainerOption{gluon.LossScale(
			gluon.Scaling{Initial: -1})}, want: "LossScale from -1"},
		"batch": {opt: sgd, use: func(tr *gluon.Trainer) error { return tr.Step(0) },
			want: "a batch of 0 samples"},
		"schedule": {opt: scheduled,
			use:  func(tr *gluon.Trainer) error { return tr.SetLearningRate(1) },
			want: "FactorScheduler"},
		"no job": {opt: sgd, opts: []gluon.TrainerOption{gluon.Store("dist_sync")},
			use: func(tr *gluon.Trainer) error {
				net.Forward(autograd.Train().Watch(nd.Ones(nd.Shape{1, 1}))).Backward()
				return tr.Step(1)
			}, want: "gluon.InJob"},
		"sums of a store": {opt: sgd, opts: []gluon.TrainerOption{gluon.UpdateOnStore(true)},
			use:  func(tr *gluon.Trainer) error { return tr.AllreduceGrads() },
			want: "UpdateOnStore(false)"},
	} {
		tr, err := gluon.NewTrainer(net.Params(), c.opt, c.opts...)
		if err == nil && c.use != nil {
			err = c.use(tr)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
