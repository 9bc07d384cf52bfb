package symbol

import (
	"fmt"
	"slices"
	"strings"

	"gomx/device"
	"gomx/engine"
	"gomx/graph"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/prim"
)

// spread says where the parts of an executor on several devices are.
type spread struct {
	vars    map[string]device.Device
	outputs []device.Device
	host    bool // all devices are processors
}

// spreadOver decides where variables and outputs lie, nil when everything is on one device.
func (s *Symbol) spreadOver(c *BindConfig) (*spread, error) {
	if len(c.Group2Ctx) == 0 {
		return nil, nil
	}
	if err := s.checkGroups(c); err != nil {
		return nil, err
	}
	p := graph.Placement{Default: c.Device, Groups: c.Group2Ctx, Var: func(v *op.Node) (device.Device, bool) {
		for _, given := range []map[string]*nd.Array{c.Args, c.Aux} {
			if a := given[v.Name]; a != nil {
				return a.Device(), true
			}
		}
		return device.Device{}, false
	}}
	on := p.Assign(s.outputs)
	sp := &spread{vars: map[string]device.Device{}, host: true}
	for _, n := range s.Nodes() {
		sp.host = sp.host && on[n].Kind == device.KindCPU
		if n.IsVar() {
			sp.vars[n.Name] = on[n]
			if g := graph.Group(n); g != "" && c.Group2Ctx[g] != on[n] {
				return nil, fmt.Errorf("symbol: the array given for %q is on %v, its group %q wants %v: use To", n.Name, on[n], g, c.Group2Ctx[g])
			}
			continue
		}
		for k, e := range n.In {
			if n.Mutates(k) && on[e.Node] != on[n] {
				return nil, fmt.Errorf("symbol: %s %q changes %q, which is on %v, and runs on %v: want both in one group", n.Op.Name, n.Name, e.Node.Name, on[e.Node], on[n])
			}
		}
	}
	for _, e := range s.outputs {
		sp.outputs = append(sp.outputs, on[e.Node])
	}
	return sp, nil
}

// checkGroups reports groups without a device and devices that do not exist.
func (s *Symbol) checkGroups(c *BindConfig) error {
	groups := sortedKeys(c.Group2Ctx)
	for _, n := range s.Nodes() {
		if g := graph.Group(n); g != "" && !slices.Contains(groups, g) {
			return fmt.Errorf("symbol: %q is in group %q, for which Group2Ctx has no device: it has %s", n.Name, g, strings.Join(groups, ", "))
		}
	}
	for _, g := range groups {
		if _, err := device.PoolOf(c.Group2Ctx[g]); err != nil {
			return fmt.Errorf("symbol: group %q: %w", g, err)
		}
	}
	return nil
}

// deviceOf returns where the array of a variable lies.
func (ex *Executor) deviceOf(name string) device.Device {
	if ex.spread != nil {
		if d, ok := ex.spread.vars[name]; ok {
			return d
		}
	}
	return ex.config.Device
}

// outputOn returns where output i lies.
func (ex *Executor) outputOn(i int) device.Device {
	if ex.spread != nil {
		return ex.spread.outputs[i]
	}
	return ex.config.Device
}

// onHost reports whether everything runs on processors.
func (ex *Executor) onHost() bool {
	if ex.spread != nil {
		return ex.spread.host && ex.config.Device.Kind == device.KindCPU
	}
	return ex.config.Device.Kind == device.KindCPU
}

// assignDevices writes down where every operator runs.
func (p *program) assignDevices(outs []op.Entry) []op.Entry {
	if p.ex.spread == nil {
		return outs
	}
	f := graph.FactsOf(p.ex.index, p.ex.shapes, p.ex.types)
	f.Place = &graph.Placement{Default: p.ex.config.Device, Groups: p.ex.config.Group2Ctx, Var: p.lies(nil)}
	outs, p.applied = graph.Run(graph.Select(nil, graph.Assigned), outs, f)
	return outs
}

// lies returns where arrays of variables lie.
func (p *program) lies(old map[*op.Node]*nd.Array) func(v *op.Node) (device.Device, bool) {
	return func(v *op.Node) (device.Device, bool) {
		if a := p.boundTo(v, old); a != nil {
			return a.Device(), true
		}
		return device.Device{}, false
	}
}

// copyBetweenDevices puts copies where devices meet. The outputs lie where their arrays are, gradients beside their arguments.
func (p *program) copyBetweenDevices(outs, all []op.Entry, grads []gradient) (forward, list []op.Entry, err error) {
	if p.ex.spread == nil {
		return outs, all, nil
	}
	f, err := p.factsOf(all, grads)
	if err != nil {
		return nil, nil, err
	}
	old := map[*op.Node]*nd.Array{}
	f.Place = &graph.Placement{Default: p.ex.config.Device, Outputs: slices.Clone(p.ex.spread.outputs)}
	for _, g := range grads {
		f.Place.Outputs = append(f.Place.Outputs, p.ex.Grads[g.arg].Device())
		if g.old != nil {
			old[g.old] = p.ex.Grads[g.arg]
		}
	}
	f.Place.Var = p.lies(old)
	list, applied := graph.Run(graph.Select(nil, graph.Placed), all, f)
	p.applied = append(p.applied, applied...)
	for i := range grads {
		grads[i].entry = list[len(outs)+i]
	}
	return list[:len(outs)], list, nil
}

// deviceOf returns where a node runs; the attributes of operators name their devices.
func (p *program) deviceOf(n *op.Node) device.Device {
	if p.ex.spread == nil {
		return p.ex.config.Device
	}
	if n.IsVar() {
		if a := p.arrayOf(n); a != nil {
			return a.Device()
		}
		return p.ex.config.Device
	}
	if d, err := device.Parse(graph.Group(n)); err == nil {
		return d
	}
	return p.ex.config.Device
}

// arrayOf returns the array of a variable, in a graph that has been numbered or not.
func (p *program) arrayOf(v *op.Node) *nd.Array {
	if p.g != nil {
		if i, ok := p.g.Node(v); ok {
			e, _ := p.g.Out(i)
			if s, ok := p.slotOf[e]; ok {
				return p.slots[s].array
			}
		}
	}
	return p.boundTo(v, nil)
}

// copies prepares a copy between devices.
func (p *program) copies(n *op.Node, a *op.Args) *ready {
	from, to := p.deviceOf(n.In[0].Node), p.deviceOf(n)
	bytes := a.In[0].Bytes
	k := &op.Prepared{In: a.In, Out: a.Out, Threads: 1, Run: func(c *op.Call) error {
		return device.Copy(to, c.Out[0].Data, from, c.In[0].Data, bytes)
	}}
	return &ready{k, a, k.In, k.Out}
}

// laneOf returns the queue on which a node runs: copies between a processor and another device have queues of their own.
func (p *program) laneOf(n *op.Node) engine.Lane {
	lane := engine.Lane{Device: p.deviceOf(n), Kind: p.branchLane(n)}
	if p.ex.spread == nil || n.Op != prim.CrossDeviceCopy.Op {
		return lane
	}
	from := p.deviceOf(n.In[0].Node)
	switch host := lane.Device.Kind == device.KindCPU; {
	case host && from.Kind != device.KindCPU:
		return engine.Lane{Device: from, Kind: engine.CopyOut}
	case !host && from != lane.Device:
		lane.Kind = engine.CopyIn
	}
	return lane
}

// leaves marks the nodes that another device, or another lane, waits for.
func (p *program) leaves() map[*op.Node]bool {
	set := map[*op.Node]bool{}
	for i := range p.steps {
		if n := p.steps[i].node; n.Op == prim.CrossDeviceCopy.Op {
			set[n], set[n.In[0].Node] = true, true
		}
		for _, e := range p.steps[i].node.In {
			if p.beside != nil && !e.Node.IsVar() && p.beside[e.Node] != p.beside[p.steps[i].node] {
				set[e.Node] = true
			}
		}
	}
	return set
}
