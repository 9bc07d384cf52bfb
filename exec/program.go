package exec

import (
	"sync/atomic"

	"gomx/compile"
	"gomx/device"
	"gomx/device/cpu"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// program is a compiled program as executors run it: with the kept forms of parameters. Executors
// that compute the same graph side by side share it.
type program struct {
	*compile.Program

	forms   *forms
	keepers []*keeper     // by step; nil for steps whose results are not kept
	lanes   []engine.Lane // by segment
	waits   []bool        // by segment: it waits for segments of other devices
	refs    atomic.Int32  // executors and runs that use it
	shared  atomic.Bool   // several executors use it
}

// compile compiles the graph for a mode.
func (ex *Executor) compile(m mode, single bool) (*program, error) {
	p, err := compile.Compile(compile.Source{Outputs: ex.net.Outputs, Args: ex.net.Args,
		Facts: ex.facts, Stored: ex.config.stored.grads, Values: ex.config.stored.vars},
		ex.options(m, single))
	if err != nil {
		return nil, err
	}
	return ex.link(p), nil
}

// options says how the graph is compiled for a mode.
func (ex *Executor) options(m mode, single bool) compile.Options {
	train := m != inferring
	c := &ex.config
	o := compile.Options{Train: train, NoDropout: m == gradientsOnly, Single: single,
		Frozen: m == frozen, Device: c.Device, Spread: ex.spread, Precision: c.Precision,
		Recompute: c.Recompute, Streams: c.streams(), NoFusion: c.NoFusion ||
			c.Monitor != nil, Without: c.Without, Verify: c.Guard || c.Monitor != nil,
		Grads: map[string]op.Req{}, Target: target(train)}
	o.Target.Whole = c.Replay
	o.Target.Wide = device.AllProducts &^ c.Products.Or(device.AllProducts)
	for name := range ex.Grads {
		o.Grads[name] = ex.req(name)
	}
	if c.LossScale != nil {
		on := c.LossScale.factor.Device()
		o.LossScale = &on
	}
	return o
}

// streams returns the number of queues that branches of the graph run on.
func (c *Config) streams() int {
	if !device.HasQueues(c.Device.Kind) {
		return 1
	}
	return c.Streams
}

// target describes the kernels of this machine.
func target(train bool) compile.Target {
	t := compile.Target{Tier: device.MaxTier(), Threads: device.Cores(), Runner: newBody}
	t.Layouts = cpu.HasC && t.Tier >= device.TierC && (!train || cpu.HasBlocks())
	return t
}

// link finds or makes the kept forms of parameters of a program.
func (ex *Executor) link(p *compile.Program) *program {
	l := &program{Program: p, forms: ex.arena.forms, keepers: make([]*keeper, len(p.Steps)),
		lanes: make([]engine.Lane, len(p.Segments)), waits: make([]bool, len(p.Segments))}
	for i := range p.Steps {
		if p.Steps[i].Form != nil {
			l.keepers[i] = l.keep(ex, &p.Steps[i])
		}
	}
	for i := range p.Segments {
		seg := &p.Segments[i]
		l.lanes[i] = laneOf(seg.Lane)
		for _, s := range p.Steps[seg.From:seg.To] {
			l.waits[i] = l.waits[i] || s.Node.Op.Waits
		}
	}
	return l
}

// laneOf returns the lane of the engine for a queue of a device.
func laneOf(l compile.Lane) engine.Lane {
	lane := engine.Lane{Device: l.Device}
	switch {
	case l.Queue == device.QueueIn:
		lane.Kind = engine.CopyIn
	case l.Queue == device.QueueOut:
		lane.Kind = engine.CopyOut
	case l.Queue >= device.QueueBeside:
		lane.Kind = engine.Beside + engine.LaneKind(l.Queue-device.QueueBeside)
	}
	return lane
}

// accesses are the accesses of the engine by the accesses of programs.
var accesses = [...]engine.Access{compile.Read: engine.Read, compile.Overwrite: engine.Overwrite,
	compile.Update: engine.Update}

// arrayOf returns the executor's array for a slot that is no kept form; nil for head gradients.
func (ex *Executor) arrayOf(s *compile.Slot) *nd.Array {
	switch s.Kind {
	case compile.SlotOutput:
		return ex.outputs[s.Index]
	case compile.SlotGradient:
		return ex.Grads[s.Arg]
	case compile.SlotFactor:
		return ex.config.LossScale.factor
	case compile.SlotInverse:
		return ex.config.LossScale.inverse
	case compile.SlotVariable:
		if a := ex.Args[s.Arg]; a != nil {
			return a
		}
		return ex.Aux[s.Arg]
	}
	return nil
}
