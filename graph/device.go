package graph

import (
	"maps"

	"gomx/device"
	"gomx/op"
	"gomx/op/prim"
)

// GroupAttr names the attribute that places nodes on devices: the name of a group, and in graphs
// that assign-devices has gone over the name of the device itself, so that the passes between keep
// to the borders of devices.
const GroupAttr = "__ctx_group__"

// Group returns the group that the attributes of n put it in, empty for none.
func Group(n *op.Node) string { return n.Attrs[GroupAttr] }

// Placement says on which devices a graph runs.
type Placement struct {
	// Default is the device of the nodes that get no other device from the rules of Assign.
	Default device.Device
	// Groups are the devices of groups by name. A group that is no key is read as the name of a
	// device; if it is none, it has no effect.
	Groups map[string]device.Device
	// Var returns the device of a variable's array, if it is given; nil: it is given for no
	// variable.
	Var func(v *op.Node) (d device.Device, given bool)
	// Outputs are the wanted devices of the first outputs, by output number; the other outputs stay
	// on the devices that compute them.
	Outputs []device.Device
}

// of returns the device of a node's group.
func (p *Placement) of(n *op.Node) (device.Device, bool) {
	g := Group(n)
	if g == "" {
		return device.Device{}, false
	}
	if d, ok := p.Groups[g]; ok {
		return d, true
	}
	d, err := device.Parse(g)
	return d, err == nil
}

// Assign decides where the nodes of the graph that computes outs run, as MXNet does. A node runs on
// the device of its group; an operator without one where its first input lies that has a place, one
// without such inputs where it is read. A variable without group lies on the default device, but
// for those that an operator changes: they lie where it runs.
func (p *Placement) Assign(outs []op.Entry) map[*op.Node]device.Device {
	order := op.Topo(outs)
	mutated, on := mutatedNodes(order), map[*op.Node]device.Device{}
	for _, n := range order {
		d, ok := p.of(n)
		if v, given := p.given(n); given {
			d, ok = v, true
		}
		if !ok && n.IsVar() {
			d, ok = p.Default, !mutated[n]
		}
		for k := 0; k < len(n.In) && !ok; k++ {
			d, ok = on[n.In[k].Node]
		}
		if ok {
			on[n] = d
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		d, ok := on[order[i]]
		if !ok {
			d = p.Default
			on[order[i]] = d
		}
		for _, e := range order[i].In {
			if _, known := on[e.Node]; !known {
				on[e.Node] = d
			}
		}
	}
	return on
}

func (p *Placement) given(n *op.Node) (device.Device, bool) {
	if p.Var == nil || !n.IsVar() {
		return device.Device{}, false
	}
	return p.Var(n)
}

// AssignDevices writes down for every operator where it runs, as its group.
func AssignDevices(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	if f.Place == nil {
		return outs, 0
	}
	on := f.Place.Assign(outs)
	r, order := newRewriter(outs, f)
	for _, n := range order {
		if n.IsVar() {
			r.keep(n, nil)
			continue
		}
		r.replace(n, inGroup(r.copied(n, r.now(n.In)), on[n].String()))
	}
	return r.now(outs), 0
}

// inGroup returns a copy of n in another group.
func inGroup(n *op.Node, group string) *op.Node {
	m := *n
	m.Attrs = map[string]string{}
	maps.Copy(m.Attrs, n.Attrs)
	m.Attrs[GroupAttr] = group
	return &m
}

// CopyBetweenDevices adds a copy wherever an operator reads a value that lies on another device,
// one copy for each device that reads the value, and wherever an output is wanted on another device
// than the one that computes it.
func CopyBetweenDevices(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	if f.Place == nil {
		return outs, 0
	}
	on := f.Place.Assign(outs)
	r, order := newRewriter(outs, f)
	c := &courier{rewriter: r, made: map[arrival]op.Entry{}}
	for _, n := range order {
		in := r.now(n.In)
		for k, e := range n.In {
			if on[e.Node] != on[n] && !ignores(n, k) && !n.Mutates(k) {
				in[k] = c.bring(in[k], on[n])
			}
		}
		if m := r.copied(n, in); n.IsVar() || Group(m) == on[n].String() {
			r.replace(n, m)
		} else {
			r.replace(n, inGroup(m, on[n].String()))
		}
	}
	list := r.now(outs)
	for i := range min(len(list), len(f.Place.Outputs)) {
		if want := f.Place.Outputs[i]; on[outs[i].Node] != want {
			list[i] = c.copy(list[i], want)
		}
	}
	return list, r.changes
}

// replace puts m into the place of n.
func (r *rewriter) replace(n, m *op.Node) {
	r.nodes[n] = m
	for i := range n.NumOutputs() {
		r.become(n.Entry(i), m.Entry(i))
	}
}

// courier brings values to other devices.
type courier struct {
	*rewriter
	made map[arrival]op.Entry // copies made
}

// arrival is a value on a device.
type arrival struct {
	entry op.Entry      // the entry that is copied
	on    device.Device // the device of the copy
}

// bring returns a copy of e on device d; all readers on that device share one copy.
func (c *courier) bring(e op.Entry, d device.Device) op.Entry {
	key := arrival{e, d}
	if _, ok := c.made[key]; !ok {
		c.made[key] = c.copy(e, d)
	}
	return c.made[key]
}

// copy makes a copy of e on device d.
func (c *courier) copy(e op.Entry, d device.Device) op.Entry {
	n := prim.CrossDeviceCopy.Node(op.NoParams{}, e)
	n.Name, n.Attrs, n.Site = e.Node.Name+"_copy", map[string]string{GroupAttr: d.String()},
		e.Node.Site
	c.changes++
	c.facts.note(Change{Node: e.Node.Name, Before: e.String(), After: e.String() + " on " +
		d.String()})
	c.facts.copy(n.Entry(0), e)
	return n.Entry(0)
}
