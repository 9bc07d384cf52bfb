package compile_test

import (
	"slices"
	"strings"
	"testing"

	"gomx/compile"
	"gomx/device"
	_ "gomx/device/null"
	"gomx/dtype"
)

// TestExamplesKeepInvariants checks the programs of all examples, as kernels of this machine and as
// single operators.
func TestExamplesKeepInvariants(t *testing.T) {
	for _, e := range append(examples(), twoDevices(t)) {
		for _, single := range []bool{false, true} {
			o := compile.Options{}
			if e.train {
				o = training(e.net)
			}
			if e.set != nil {
				e.set(&o)
			}
			o.Single, o.Target, o.Verify = single, thisMachine(), true
			p := mustCompile(t, source(t, e.net, map[string]dtype.Shape{"data": e.shape}), o)
			if err := p.Check(); err != nil {
				t.Errorf("%s: %v", e.name, err)
			}
		}
	}
}

func thisMachine() compile.Target {
	return compile.Target{Tier: device.MaxTier(), Threads: device.Cores(),
		Layouts: device.MaxTier() >= device.TierC}
}

// TestCheckBites breaks programs in one place each.
func TestCheckBites(t *testing.T) {
	steps := func(p *compile.Program, name string) *compile.Step {
		i := slices.IndexFunc(p.Steps, func(s compile.Step) bool { return s.Node.Name == name })
		return &p.Steps[i]
	}
	last := func(p *compile.Program) *compile.Segment { return &p.Segments[len(p.Segments)-1] }
	for name, c := range map[string]struct {
		breaks func(p *compile.Program)
		want   string
	}{
		"nothing": {func(*compile.Program) {}, ""},
		"another shape": {func(p *compile.Program) { p.Descs[0].Shape = dtype.Shape{5, 8} },
			"fc1"},
		"another type": {func(p *compile.Program) { p.Descs[0].DType = dtype.Int32 }, "fc1"},
		"outside its room": {func(p *compile.Program) {
			steps(p, "relu1").Internal[0].Offset = 1 << 20
		}, "relu1 uses bytes"},
		"outside its slot": {func(p *compile.Program) { p.Slots[0].Desc.Bytes = 8 }, "uses bytes"},
		"no place": {func(p *compile.Program) { steps(p, "fc2").Internal = nil },
			"operands with a place"},
		"scratch outside": {func(p *compile.Program) {
			s := steps(p, "fc1")
			k := *s.Kernel
			k.Scratch = 1 << 20
			s.Kernel, s.Scratch = &k, 0
		}, "scratch memory"},
		"scratch over a value": {func(p *compile.Program) {
			s := steps(p, "drop")
			k := *s.Kernel
			k.Scratch = 64
			s.Kernel, s.Scratch = &k, 0
		}, "drop"},
		"steps exchanged": {func(p *compile.Program) {
			p.Steps[0], p.Steps[1] = p.Steps[1], p.Steps[0]
		}, "relu1"},
		"a step left out": {func(p *compile.Program) { last(p).To-- }, "steps in segments"},
		"a gap": {func(p *compile.Program) { p.Segments[1].From++ },
			"segment 1 has steps"},
		"waits for itself": {func(p *compile.Program) { p.Segments[1].Needs = []int{1} },
			"segment 1 waits"},
		"waits for nothing": {func(p *compile.Program) { last(p).Needs = nil },
			"without order"},
		"use not declared": {func(p *compile.Program) { last(p).Uses = nil },
			"without its access"},
		"write declared a read": {func(p *compile.Program) {
			u := last(p).Uses
			u[len(u)-1].Access = compile.Read
		}, "without its access"},
		"bytes of a live value": {func(p *compile.Program) { p.Memory.Plan.Offsets[1] = p.Memory.Plan.Offsets[0] }, "overwrites entry"},
		"live value overwritten": {func(p *compile.Program) {
			s := steps(p, "drop")
			from, _ := p.Graph.Out(s.Index)
			in := p.Graph.Entry(s.Node.In[0])
			p.Memory.Store.Root[from] = p.Memory.Store.Root[in]
		}, "writes entry"},
	} {
		e := examples()[0]
		p := e.compile(t)
		p.Descs, p.Memory.Store.Root = slices.Clone(p.Descs), slices.Clone(p.Memory.Store.Root)
		c.breaks(p)
		err := p.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

// TestStreamsKeepOrder spreads the branches of a graph over queues of a device that computes
// nothing.
func TestStreamsKeepOrder(t *testing.T) {
	e := branches()
	// equal branches stay apart
	o := compile.Options{Device: device.Null(0), Streams: 3, NoFusion: true}
	p := mustCompile(t, source(t, e.net, map[string]dtype.Shape{"data": e.shape}), o)
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	queues := map[device.QueueKind]bool{}
	for _, s := range p.Segments {
		queues[s.Lane.Queue] = true
	}
	if len(queues) < 2 {
		t.Errorf("branches run on %d queues, want several", len(queues))
	}
}
