package exec_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"gomx/device"
	_ "gomx/device/null"
	"gomx/dtype"
	"gomx/engine"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/loop"
	sym "gomx/symbol"
)

// cpus are memories of the processor that stand for devices.
var cpus = []device.Device{device.CPU(), {ID: 1}, {ID: 2}}

// meet is an operator for null devices and the processor: it computes x + 1, after it has told the
// test that it runs.
var (
	meet     = op.Declare[meetParams]("_test_meet")
	meetings sync.Map // by name: func() error
)

type meetParams struct {
	Name string `op:"name" doc:"the name of what the test has put into meetings"`
}

func init() {
	run := func(p meetParams, c *op.Call) error {
		x, y := op.Slice[float32](c.In[0]), op.Slice[float32](c.Out[0])
		for i := range x {
			y[i] = x[i] + 1
		}
		if f, ok := meetings.Load(p.Name); ok {
			return f.(func() error)()
		}
		return nil
	}
	meet.Define(op.Spec[meetParams]{
		Traits: op.Traits{Hidden: true},
		Infer:  op.SameShape[meetParams], Ref: run,
		Grad: func(g *op.Grad, _ meetParams) []op.Entry { return []op.Entry{g.Head(0)} },
	})
	meet.Kernel(device.KindNull, device.TierRef, op.Simple(run))
	gate.Kernel(device.KindNull, device.TierRef, op.Simple(func(_ op.NoParams, c *op.Call) error {
		loop.Move(c.Out[0], c.In[0])
		return nil
	}))
}

// groups3 maps three groups to devices.
func groups3(list ...device.Device) map[string]device.Device {
	m := map[string]device.Device{}
	for i := range 3 {
		m[fmt.Sprint("dev", i)] = list[i%len(list)]
	}
	return m
}

// parallelMLP has its first layer in one group, its second in another, and the loss in none.
func parallelMLP() *sym.Symbol {
	first, second := sym.NewScope("", sym.CtxGroup("dev1")), sym.NewScope("", sym.CtxGroup("dev2"))
	net := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 16},
		first.Name("fc1"))
	net = sym.BatchNorm(net, sym.BatchNormParams{}, first.Name("bn")).At(0)
	net = sym.Activation(net, sym.ActivationParams{ActType: "tanh"}, first.Name("tanh"))
	net = sym.FullyConnected(net, sym.FullyConnectedParams{NumHidden: 5}, second.Name("fc2"))
	return sym.SoftmaxOutput(net, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// TestModelParallelism trains a network whose layers are on devices of their own and looks where
// its arrays are.
func TestModelParallelism(t *testing.T) {
	config := sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {4, 8}}, Guard: true}
	want := (&nettest.Trial{Net: parallelMLP(), Config: config, Seed: 3}).Run(t, false, nil)
	config.Group2Ctx = groups3(cpus...)
	c := &nettest.Trial{Net: parallelMLP(), Config: config, Seed: 3}
	got := c.Run(t, false, nil)
	for key := range want {
		nettest.SameBits(t, key, got[key], want[key])
	}
	ex, err := c.Net.SimpleBind(config)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	for name, d := range map[string]device.Device{"data": cpus[0], "softmax_label": cpus[0],
		"fc1_weight": cpus[1], "fc1_bias": cpus[1],
		"bn_gamma": cpus[1], "fc2_weight": cpus[2], "fc2_bias": cpus[2]} {
		if a, g := ex.Args[name].Device(), ex.Grads[name].Device(); a != d || g != d {
			t.Errorf("%s is on %v and its gradient on %v, want %v", name, a, g, d)
		}
	}
	if d := ex.Aux["bn_moving_mean"].Device(); d != cpus[1] {
		t.Errorf("the moving mean is on %v, want %v", d, cpus[1])
	}
	if d := ex.Outputs()[0].Device(); d != cpus[2] {
		t.Errorf("the output is on %v, want %v: the loss follows its first input", d, cpus[2])
	}
	use, err := ex.MemoryUse(true)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, d := range cpus {
		sum += use.On[d]
		if use.On[d] == 0 && d != cpus[0] {
			t.Errorf("no planned memory on %v: %v", d, use.On)
		}
	}
	if sum != use.Arena {
		t.Errorf("the devices have %d bytes, want %d together", sum, use.Arena)
	}
	e, err := ex.Explain(true)
	if err != nil || !strings.Contains(e.String(), "tanh_output on cpu(2)") ||
		!strings.Contains(e.String(), "data on cpu(1)") {
		t.Errorf("got %v and %s: want copies of the data and between the layers", err, e)
	}
}

var (
	firstSeed = flag.Uint64("seed", 0, "seed of the first random graph")
	manySeeds = flag.Uint64("seeds", 50, "number of random graphs")
)

// TestDevicesAgree puts the nodes of random graphs into random groups: whatever devices these are,
// results are the same to the bit without passes that round differently, and close with all of
// them.
func TestDevicesAgree(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*manySeeds/3; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { devicesAgree(t, seed) })
	}
}

func devicesAgree(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 13))
	g := nettest.GrowAnyGraph(rng, true)
	config := sym.BindConfig{Shapes: map[string]dtype.Shape{}, GradReq: map[string]op.Req{},
		Seed: seed}
	c := &nettest.Trial{Net: g.Symbol(), Seed: seed, Config: config}
	for _, name := range c.Net.Arguments() {
		if s, ok := g.Shape[name]; ok {
			config.Shapes[name] = s
		}
		config.GradReq[name] = []op.Req{op.ReqWrite, op.ReqAdd, op.ReqNull}[rng.IntN(3)]
	}
	want := c.Run(t, true, nil)
	for _, list := range [][]device.Device{{cpus[0]}, {cpus[2], cpus[1]}, cpus} {
		c.Config.Group2Ctx = groups3(list...)
		got, fused := c.Run(t, true, nil), c.Run(t, false, nil)
		for key := range want {
			nettest.SameBits(t, fmt.Sprint(list, ": ", key), got[key], want[key])
			nettest.Alike(t, fmt.Sprint(list, " with all passes: ", key), fused[key], want[key])
		}
	}
}

// TestDevicesOverlap runs two branches of a network on null devices: each begins only to end when
// the other has begun too, so nothing would be computed if they did not run side by side. The trace
// shows it.
func TestDevicesOverlap(t *testing.T) {
	eng, err := engine.New(engine.Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	defer engine.SetDefault(engine.SetDefault(eng))
	left, right := make(chan struct{}), make(chan struct{})
	tell := func(mine, other chan struct{}) func() error {
		return func() error { close(mine); return (*waitFor(other, "the other device"))() }
	}
	meetings.Store("left", tell(left, right))
	meetings.Store("right", tell(right, left))
	defer meetings.Clear()
	x := sym.Var("x")
	a := sym.ApplyWith(meet, meetParams{Name: "left"}, []sym.Option{sym.Name("left"),
		sym.CtxGroup("dev0")}, x)
	b := sym.ApplyWith(meet, meetParams{Name: "right"}, []sym.Option{sym.Name("right"),
		sym.CtxGroup("dev1")}, x)
	ex, err := sym.ElemwiseAdd(a, b, sym.Name("sum"),
		sym.CtxGroup("dev2")).SimpleBind(sym.BindConfig{DefaultReq: op.ReqNull,
		Shapes: map[string]dtype.Shape{"x": {4}},
		Group2Ctx: map[string]device.Device{"dev0": device.Null(0), "dev1": device.Null(1),
			"dev2": device.CPU()}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	ex.Args["x"].Fill(1)
	profile := eng.StartProfile()
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	nettest.Compare(t, "sum", nettest.Values(t, ex.Outputs()[0]), []float32{4, 4, 4, 4})
	profile.Stop()
	spans := map[string]engine.Span{}
	for _, s := range profile.Spans() {
		spans[s.Name+" "+s.Lane.String()] = s
	}
	l, r := spans["left null(0)"], spans["right null(1)"]
	if l.Name == "" || r.Name == "" || l.Start > r.End || r.Start > l.End {
		t.Errorf("got %v-%v and %v-%v, want the two at the same time: %v", l.Start, l.End, r.Start,
			r.End, profile.Table())
	}
	for _, name := range []string{"x_copy null(0) copy in", "x_copy null(1) copy in",
		"left_copy null(0) copy out", "right_copy null(1) copy out"} {
		if spans[name].Name == "" {
			t.Errorf("no %s in the trace:\n%s", name, profile.Table())
		}
	}
	if use := device.Usage(device.Null(0)); use.Used[device.PurposeArena] == 0 {
		t.Errorf("no arena on null(0): %v", use)
	}
}

// TestDevicesFail wants errors that name the device, the node or the option at fault.
func TestDevicesFail(t *testing.T) {
	shapes := map[string]dtype.Shape{"data": {4, 8}}
	on1 := nd.Zeros(nd.Shape{16, 8}, nd.On(cpus[1]))
	moving := sym.Var("mean", sym.CtxGroup("dev2"))
	bn := sym.BatchNorm(sym.Var("data"), sym.BatchNormParams{}, sym.Name("bn"),
		sym.CtxGroup("dev1"), sym.With("moving_mean", moving)).At(0)
	for _, tt := range []struct {
		name string
		s    *sym.Symbol
		c    sym.BindConfig
		want string
	}{
		{"group without a device", parallelMLP(),
			sym.BindConfig{Group2Ctx: map[string]device.Device{"dev1": cpus[1]}},
			`group "dev2", for which Group2Ctx has no device: it has dev1`},
		{"device that does not exist", parallelMLP(),
			sym.BindConfig{Group2Ctx: groups3(device.Null(99))},
			`group "dev0": device: null(99) does not exist`},
		{"device without kernels", parallelMLP(),
			sym.BindConfig{Group2Ctx: groups3(device.Null(1))}, "no kernel for device null(1)"},
		{"argument elsewhere", parallelMLP(), sym.BindConfig{Group2Ctx: groups3(cpus[0]),
			Args: map[string]*nd.Array{"fc1_weight": on1}},
			`"fc1_weight" is on cpu(1), its group "dev1" wants cpu(0)`},
		{"argument elsewhere, without groups", parallelMLP(),
			sym.BindConfig{Args: map[string]*nd.Array{"fc1_weight": on1}},
			`argument "fc1_weight" is on cpu(1), want cpu(0)`},
		{"gradient elsewhere", parallelMLP(),
			sym.BindConfig{Grads: map[string]*nd.Array{"fc1_weight": on1}},
			`gradient of "fc1_weight" is on cpu(1), want the argument's device cpu(0)`},
		{"state elsewhere", bn, sym.BindConfig{Group2Ctx: groups3(cpus...)},
			`changes "mean", which is on cpu(2), and runs on cpu(1)`},
	} {
		tt.c.Shapes = shapes
		ex, err := tt.s.SimpleBind(tt.c)
		if err == nil {
			err = ex.Forward(true)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := nd.WaitAll(context.Background()); err != nil {
		t.Error(err)
	}
}
