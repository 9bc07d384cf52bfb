package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/graph"
	"gomx/memplan"
	"gomx/op"
	sym "gomx/symbol"
)

// TestPlansOfOtherGraphs demands an error for a plan with another number of buffers.
func TestPlansOfOtherGraphs(t *testing.T) {
	p := examples()[0].compile(t)
	n := len(p.Memory.Buffers)
	p.Memory.Plan = &memplan.Plan{Offsets: make([]int64, n+1)}
	want := fmt.Sprintf("the plan has %d buffers, the graph %d", n+1, n)
	if m, err := p.MemoryPlan(); m != nil || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, %v, want an error with %q", m, err, want)
	}
}

// TestMemoryOfAProgram compares the numbers of a program's memory with its plan.
func TestMemoryOfAProgram(t *testing.T) {
	for _, e := range examples() {
		p := e.compile(t)
		use := p.MemoryUse()
		if use.Arena != p.Memory.Plan.Total || use.Arena < use.LowerBound ||
			use.Values > use.Arena || use.On[device.CPU()] != use.Arena {
			t.Errorf("%s: got %+v, want numbers that belong together", e.name, use)
		}
		asked := strings.HasPrefix(e.name, "again") || e.name == "pointwise-train" ||
			e.name == "deep-recompute"
		if (p.Memory.Trade != graph.Trade{}) != asked {
			t.Errorf("%s: got the trade %+v, want one where it is asked for: %v", e.name,
				p.Memory.Trade, asked)
		}
		m, err := p.MemoryPlan()
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range m.Buffers {
			for _, v := range b.Values {
				if v.Step < b.Start || v.Step > b.End || v.Step >= len(m.Steps) {
					t.Errorf("%s: buffer %d lives from %d to %d, its value %s is of step %d",
						e.name, i, b.Start, b.End, v.Name, v.Step)
				}
			}
		}
		var svg strings.Builder
		if err := m.WriteSVG(&svg); err != nil || !strings.Contains(svg.String(), "</svg>") {
			t.Errorf("%s: picture %.100s, %v", e.name, svg.String(), err)
		}
		if want := e.train && e.name != "narrow-fixed"; p.HasBackward() != want {
			t.Errorf("%s: backward part %v, want %v", e.name, p.HasBackward(), want)
		}
	}
}

// TestScratchIsNoValue demands that the working memory of a kernel does not count as a value.
func TestScratchIsNoValue(t *testing.T) {
	x := sym.RNN(sym.Var("data"), sym.RNNParams{StateSize: 4, NumLayers: 1, Mode: "lstm"},
		sym.Name("rnn"))
	p := mustCompile(t, source(t, x, map[string]dtype.Shape{"data": {3, 2, 5}}), training(x))
	if use := p.MemoryUse(); use.Values >= use.Arena {
		t.Errorf("got values of %d bytes of %d, want fewer: the layer keeps memory for its "+
			"gradient", use.Values, use.Arena)
	}
}

// TestDerivesFrom looks for the variables that a kept form is made of.
func TestDerivesFrom(t *testing.T) {
	e := examples()[9]
	p := e.compile(t)
	for name, want := range map[string]bool{"conv_weight": true, "bn_gamma": true, "data": false,
		"nothing": false} {
		if got := p.DerivesFrom(name); got != want {
			t.Errorf("%s: the forms of %s derive from %s: %v, want %v", e.name, e.name, name, got,
				want)
		}
	}
}

// TestLanesOfCopies demands that copies between the processor and a device have queues of their
// own.
func TestLanesOfCopies(t *testing.T) {
	pass := func(x *sym.Symbol, group string) *sym.Symbol {
		return sym.ApplyWith(counted, op.NoParams{}, []sym.Option{sym.CtxGroup(group)}, x)
	}
	net := pass(pass(pass(sym.Var("data"), "host"), "far"), "host")
	net.Nodes()
	sp, err := compile.SpreadOver(net.Entries(),
		graph.Placement{Groups: map[string]device.Device{"host": device.CPU(),
			"far": device.Null(0)}})
	if err != nil {
		t.Fatal(err)
	}
	p := mustCompile(t, source(t, net, map[string]dtype.Shape{"data": {4}}),
		compile.Options{Spread: sp})
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	queues := map[device.QueueKind]int{}
	for _, s := range p.Segments {
		queues[s.Lane.Queue]++
	}
	if queues[device.QueueIn] != 1 || queues[device.QueueOut] != 1 || len(p.Memory.Rooms) != 2 {
		t.Errorf("got queues %v and %d rooms, want one copy in each direction and two rooms",
			queues, len(p.Memory.Rooms))
	}
}

// TestCompileErrors compiles graphs that cannot run.
func TestCompileErrors(t *testing.T) {
	mlp := perceptron()
	src := source(t, mlp, map[string]dtype.Shape{"data": {5, 7}})
	if _, err := compile.Compile(src, compile.Options{Without: []string{"nothing"}}); err == nil ||
		!strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("got %v, want an error that names the stage", err)
	}
	if _, err := compile.Compile(src, compile.Options{Device: device.Null(0)}); err == nil ||
		!strings.Contains(err.Error(), "no kernel") {
		t.Errorf("got %v, want an error about a kernel", err)
	}
	far := sym.Apply(joined, op.NoParams{}, sym.Var("data"), sym.Var("w"))
	o := training(far)
	o.Grads = map[string]op.Req{"w": op.ReqWrite}
	if _, err := compile.Compile(source(t, far, map[string]dtype.Shape{"data": {2}}),
		o); err == nil || !strings.Contains(err.Error(), "a test needs none") {
		t.Errorf("got %v, want an error about a gradient", err)
	}
}

// TestSpreadErrors places graphs that cannot lie on several devices.
func TestSpreadErrors(t *testing.T) {
	groups := map[string]device.Device{"a": {ID: 1}, "b": {ID: 2}}
	at := func(*op.Node) (device.Device, bool) { return device.CPU(), true }
	x := sym.Tanh(sym.Var("data", sym.CtxGroup("a")))
	if _, err := compile.SpreadOver(x.Entries(), graph.Placement{Groups: groups,
		Var: at}); err == nil || !strings.Contains(err.Error(), "use To") {
		t.Errorf("got %v, want an error about the array's device", err)
	}
	mean := sym.Var("mean", sym.CtxGroup("a"))
	bn := sym.BatchNorm(sym.Var("data"), sym.BatchNormParams{}, sym.Name("bn"),
		sym.With("moving_mean", mean), sym.CtxGroup("b"))
	if _, err := compile.SpreadOver(bn.Entries()[:1],
		graph.Placement{Groups: groups}); err == nil ||
		!strings.Contains(err.Error(), "one group") {
		t.Errorf("got %v, want an error about a state on another device", err)
	}
}

// TestGradientsOfNothing asks for gradients that no output depends on: they are zeros, or what an
// array holds already.
func TestGradientsOfNothing(t *testing.T) {
	blocked, through := sym.BlockGrad(sym.Var("w")), sym.Tanh(sym.Var("v"))
	net := sym.Group(blocked, through)
	src := source(t, net, map[string]dtype.Shape{"w": {2}, "v": {2}})
	for i, net := range []*sym.Symbol{net, sym.Group(through, blocked)} {
		p := mustCompile(t, source(t, net, map[string]dtype.Shape{"w": {2}, "v": {2}}),
			compile.Options{Train: true, Grads: map[string]op.Req{"w": op.ReqAdd,
				"v": op.ReqWrite}})
		if !slices.ContainsFunc(p.Slots, func(s compile.Slot) bool {
			return s.Kind == compile.SlotGradient && s.Arg == "v"
		}) {
			t.Errorf("graph %d: no gradient of v beside the array of w, which stays as it is", i)
		}
	}
	for req, want := range map[op.Req]int{op.ReqWrite: 2, op.ReqAdd: 1} {
		p := mustCompile(t, src, compile.Options{Train: true, Grads: map[string]op.Req{"w": req,
			"v": op.ReqWrite}})
		n := 0
		for _, s := range p.Slots {
			if s.Kind == compile.SlotGradient {
				n++
			}
		}
		if n != want {
			t.Errorf("%v: %d gradients, want %d", req, n, want)
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
	p := mustCompile(t, src, compile.Options{Train: true})
	if p.HasBackward() {
		t.Error("a program without gradients has a backward part")
	}
}

// TestNoDropout compiles a training program whose dropout passes everything on.
func TestNoDropout(t *testing.T) {
	e := examples()[0]
	e.set = func(o *compile.Options) { o.NoDropout = true }
	for _, s := range e.compile(t).Steps {
		if s.Call.Train == compile.IsDropout(s.Node) {
			t.Errorf("%s trains: %v, want it of all but dropout", s.Node.Name, s.Call.Train)
		}
	}
}
