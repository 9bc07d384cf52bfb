package compile

import (
	"fmt"
	"slices"

	"gomx/device"
	"gomx/graph"
	"gomx/op"
	"gomx/op/prim"
)

// Spread says where the parts of a graph on several devices lie. It is read only once it is made.
type Spread struct {
	Vars    map[string]device.Device // devices of the arrays of variables, by name
	Outputs []device.Device          // devices of the output arrays, in the order of the outputs
	Groups  map[string]device.Device // devices of the groups that the attribute ctx_group names
	Host    bool                     // all devices are processors
}

// SpreadOver decides where the variables and outputs of a graph lie, as graph.Placement assigns
// them. p.Var tells the devices of arrays that exist. It answers an error for an array on another
// device than the group of its variable, and for an operator that changes a state on another
// device, because a copy of the state would be changed.
func SpreadOver(outs []op.Entry, p graph.Placement) (*Spread, error) {
	on := p.Assign(outs)
	sp := &Spread{Vars: map[string]device.Device{}, Groups: p.Groups, Host: true}
	for _, n := range op.Topo(outs) {
		sp.Host = sp.Host && on[n].Kind == device.KindCPU
		if n.IsVar() {
			sp.Vars[n.Name] = on[n]
			if g := graph.Group(n); g != "" && p.Groups[g] != on[n] {
				return nil, fmt.Errorf("compile: the array given for %q is on %v, its group %q "+
					"wants %v: use To", n.Name, on[n], g, p.Groups[g])
			}
			continue
		}
		for k, e := range n.In {
			if n.Mutates(k) && on[e.Node] != on[n] {
				return nil, fmt.Errorf("compile: %s %q changes %q, which is on %v, and runs on "+
					"%v: want both in one group", n.Op.Name, n.Name, e.Node.Name, on[e.Node], on[n])
			}
		}
	}
	for _, e := range outs {
		sp.Outputs = append(sp.Outputs, on[e.Node])
	}
	return sp, nil
}

// assignDevices writes down where every operator runs, as an attribute, so that passes that make
// new nodes hand the device on with the attributes.
func assignDevices(u *Unit, s *Stage) error {
	if u.opt.Spread == nil {
		return nil
	}
	u.Facts.Place = &graph.Placement{Default: u.opt.Device, Groups: u.opt.Spread.Groups,
		Var: u.lies}
	return u.rewrite(s, graph.AssignDevices)
}

// copyBetweenDevices puts copies where devices meet. The outputs lie where their arrays are,
// gradients beside their arguments.
func copyBetweenDevices(u *Unit, s *Stage) error {
	if u.opt.Spread == nil {
		return nil
	}
	p := &graph.Placement{Default: u.opt.Device, Outputs: slices.Clone(u.opt.Spread.Outputs),
		Var: u.lies}
	for _, g := range u.Grads {
		p.Outputs = append(p.Outputs, u.opt.variable(g.Arg))
	}
	u.Facts.Place = p
	return u.rewrite(s, graph.CopyBetweenDevices)
}

// lies returns the device of the array of a variable: of a gradient array for the variable that
// stands for its content, of a slot for a variable that a stage has made, else of the argument.
func (u *Unit) lies(v *op.Node) (device.Device, bool) {
	for _, g := range u.Grads {
		if g.Old == v {
			return u.opt.variable(g.Arg), true
		}
	}
	if s := u.slot(v.Name); s != nil {
		return s.Device, true
	}
	return u.opt.variable(v.Name), true
}

// deviceOf returns where a node runs; the attributes of operators name their devices.
func (u *Unit) deviceOf(n *op.Node) device.Device {
	if u.opt.Spread == nil {
		return u.opt.Device
	}
	if n.IsVar() {
		d, _ := u.lies(n)
		return d
	}
	if d, err := device.Parse(graph.Group(n)); err == nil {
		return d
	}
	return u.opt.Device
}

// copies prepares a copy between devices. It has no kernel in the registry, because a kernel knows
// one device and a copy two.
func (u *Unit) copies(n *op.Node, a *op.Args) *ready {
	from, to := u.deviceOf(n.In[0].Node), u.deviceOf(n)
	bytes := a.In[0].Bytes
	k := &op.Prepared{In: a.In, Out: a.Out, Threads: 1, Run: func(c *op.Call) error {
		return device.Copy(to, c.Out[0].Data, from, c.In[0].Data, bytes)
	}}
	return &ready{k, a, k.In, k.Out}
}

// laneOf returns the queue on which a node runs: copies between a processor and another device have
// queues of their own, which work beside the kernels. A copy to the processor is on the queue of
// the other device, which knows when the value is there.
func (u *Unit) laneOf(n *op.Node) Lane {
	lane := Lane{Device: u.deviceOf(n), Queue: device.QueueCompute}
	if k := u.draft.lanes[n]; k > 0 {
		lane.Queue = device.QueueBeside + device.QueueKind(k-1)
	}
	if u.opt.Spread == nil || n.Op != prim.CrossDeviceCopy.Op {
		return lane
	}
	from := u.deviceOf(n.In[0].Node)
	switch host := lane.Device.Kind == device.KindCPU; {
	case host && from.Kind != device.KindCPU:
		return Lane{Device: from, Queue: device.QueueOut}
	case !host && from != lane.Device:
		lane.Queue = device.QueueIn
	}
	return lane
}
