package module

import (
	"fmt"

	"gomx/device"
	"gomx/dtype"
	dataio "gomx/io"
	sym "gomx/symbol"
)

// replicas holds the executors of a network on its devices: a group for every bucket and every
// shape of batches that has been seen.
//
// Invariant: current is one of groups, and is nil until Bind.
type replicas struct {
	devices  []device.Device
	groups   map[string]*group // by the shapes of their inputs
	current  *group
	scales   []*sym.LossScale // of gradients, one per device; empty: they are not scaled
	monitor  *sym.Monitor
	training bool // gradients are computed
	guard    bool // operators check their results
	stream   stream
}

// stream is where a module is in the random stream of its networks. It is one for all executors,
// and training does not depend on how often the network has been run for inference in between: a
// run that is taken up again finds its place by the number of its steps alone.
type stream struct {
	steps uint64 // runs in training so far
	looks uint64 // runs in inference since the last one in training
}

// next counts a run and returns the number of runs that come before it in the stream.
func (s *stream) next(train bool) uint64 {
	if train {
		s.steps, s.looks = s.steps+1, 0
		return s.steps - 1
	}
	s.looks++
	return s.steps + s.looks - 1
}

// deviceSeeds is how far the random streams of devices are apart: an odd number without a pattern
// in its bits.
const deviceSeeds = 0x9e3779b97f4a7c15

// bind makes the executors of a network, one per device. The shapes in c are the shapes of whole
// batches; on adds to a copy of c the arrays and the other settings of device k.
func (r *replicas) bind(s *sym.Symbol, c sym.BindConfig, fed []feed,
	on func(k int, c *sym.BindConfig)) (*group, error) {
	shapes, err := partShapes(c.Shapes, fed, len(r.devices))
	if err != nil {
		return nil, err
	}
	var parts []*sym.Executor
	for k, d := range r.devices {
		part := c
		part.Device, part.Shapes = d, shapes
		part.Seed += uint64(k) * deviceSeeds // dropout masks differ between the devices
		if r.scales != nil {
			part.LossScale = r.scales[k]
		}
		on(k, &part)
		ex, err := s.SimpleBind(part)
		if err != nil {
			return nil, err
		}
		parts = append(parts, ex)
	}
	return newGroup(parts, fed), nil
}

// begin replaces all executors by a group.
func (r *replicas) begin(g *group, fed []feed) {
	r.current, r.groups = g, map[string]*group{g.key(fed): g}
}

// fits makes current executors of a network for the shapes of a batch.
func (r *replicas) fits(n *network, b *dataio.Batch) error {
	if r.current.suits(n.fed, b) {
		return nil
	}
	shapes, key := map[string]dtype.Shape{}, ""
	for _, f := range n.fed {
		a := f.of(b)
		if a == nil {
			continue // the label's shape follows from the data's
		}
		shapes[f.name] = a.Shape()
		key += f.name + a.Shape().String()
	}
	if g := r.groups[key]; g != nil {
		r.current = g
		return nil
	}
	g, err := r.current.reshape(shapes, n.fed)
	if err != nil {
		return err
	}
	for _, name := range n.params {
		p := n.first().args[name]
		if a := g.first().Args[name]; a != p {
			return fmt.Errorf("module: batch of another shape: parameter %q would change from "+
				"shape %v to %v", name, p.Shape(), a.Shape())
		}
	}
	r.groups[key], r.current = g, g
	return nil
}

// feed gives the arrays of a batch to the current executors.
func (r *replicas) feed(fed []feed, b *dataio.Batch) error {
	for _, f := range fed {
		a := f.of(b)
		if a == nil {
			if f.label {
				continue
			}
			return fmt.Errorf("module: the batch has %d data arrays, none for %q", len(b.Data),
				f.name)
		}
		if err := r.current.feed(f, a); err != nil {
			return err
		}
	}
	return nil
}

// watch makes a monitor look at the values inside the network; nil ends that.
func (r *replicas) watch(mon *sym.Monitor) {
	r.monitor = mon
	for _, g := range r.groups {
		for _, ex := range g.parts {
			ex.SetMonitor(mon)
		}
	}
}

// batchSize returns the number of samples in the first input, 0 if it has no batch.
func (r *replicas) batchSize(fed []feed) int {
	if len(fed) == 0 {
		return 0
	}
	f := fed[0]
	s := r.current.shape(f)
	if f.axis < 0 || f.axis >= len(s) {
		return 0
	}
	return s[f.axis]
}

// places returns the devices of a module.
func (c *config) places() []device.Device {
	if len(c.devices) == 0 {
		return []device.Device{device.CPU()}
	}
	return c.devices
}

// checkPlaces reports devices that cannot share the work.
func (c *config) checkPlaces() error {
	list := c.places()
	for i, d := range list {
		for _, e := range list[:i] {
			if d == e {
				return fmt.Errorf("module: On names %v twice", d)
			}
		}
	}
	if len(list) > 1 && c.groups != nil {
		return fmt.Errorf("module: Group2Ctx with %d devices in On, want one", len(list))
	}
	return nil
}
