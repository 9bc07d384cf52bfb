package module

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gomx/device"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// replica holds the module's arrays on a device other than the first: copies of the parameters,
// which every update refreshes, and the device's own auxiliary states, which settleAux averages
// before they are read.
type replica struct{ args, aux map[string]*nd.Array }

// sums adds up the gradients of the devices.
type sums struct {
	name string
	// has no optimizer: the sum of the pushed arrays replaces the value
	kv          kvstore.Store
	compression compress.Method
	known       map[string]bool
}

// reduceWith chooses the store that adds up the gradients of the devices.
func (m *Module) reduceWith(ctx context.Context, name string, c compress.Method) error {
	if len(m.config.places()) == 1 {
		return nil
	}
	if m.sums != nil && name == m.sums.name && c == m.sums.compression {
		return nil
	}
	kv, err := kvstore.Open(ctx, name)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if err := kv.SetCompression(c); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if m.sums != nil {
		if err := m.sums.kv.Close(); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	m.sums = &sums{name, kv, c, map[string]bool{}}
	return nil
}

// reduce replaces the gradients of the first device by the sums over all devices. It adds them in
// the order of the devices, by pairs, so that results repeat.
func (m *Module) reduce() error {
	if len(m.current.parts) == 1 {
		return nil
	}
	if m.sums == nil {
		if err := m.reduceWith(context.Background(), "device", compress.Method{}); err != nil {
			return err
		}
	}
	s := m.sums
	for i, name := range m.params {
		list := m.current.gradsOf(name)
		if list == nil {
			continue
		}
		if !s.known[name] {
			if err := s.kv.Init(context.Background(), name, list[0]); err != nil {
				return fmt.Errorf("module: %w", err)
			}
			s.known[name] = true
		}
		if err := s.kv.PushPull(name, -i, list, list[:1]); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	return nil
}

// spread copies a parameter from the first device to the others.
func (m *Module) spread(name string) {
	for _, r := range m.replicas {
		m.args[name].CopyInto(r.args[name])
	}
}

// spreadAll copies all parameters and auxiliary states from the first device to the others.
func (m *Module) spreadAll() {
	for _, r := range m.replicas {
		for _, part := range []struct{ from, to map[string]*nd.Array }{{m.args, r.args},
			{m.aux, r.aux}} {
			for _, name := range slices.Sorted(maps.Keys(part.from)) {
				part.from[name].CopyInto(part.to[name])
			}
		}
	}
	m.drifted = false
}

// settleAux gives all devices the averages of the auxiliary states that they have made of their
// parts of the batches. Integers, which count, keep the first device's values.
func (m *Module) settleAux() {
	if !m.drifted {
		return
	}
	m.drifted = false
	for _, name := range slices.Sorted(maps.Keys(m.aux)) {
		a := m.aux[name]
		if a.DType().IsFloat() {
			list := []*nd.Array{a}
			for _, r := range m.replicas {
				list = append(list, r.aux[name].To(a.Device()))
			}
			mean := nd.AddN(list)
			mean.MulScalarInPlace(1 / float64(len(list)))
			mean.CopyInto(a)
			mean.Close()
			closeAll(list[1:])
		}
		for _, r := range m.replicas {
			a.CopyInto(r.aux[name])
		}
	}
}

// copies returns the arrays of a parameter on all devices.
func (m *Module) copies(name string) []*nd.Array {
	list := []*nd.Array{m.args[name]}
	for _, r := range m.replicas {
		list = append(list, r.args[name])
	}
	return list
}

// Monitor makes a monitor look at the values inside the network in runs that follow; nil ends that.
// With several devices it sees the values of each, in no particular order.
func (m *Module) Monitor(mon *sym.Monitor) {
	m.monitor = mon
	for _, g := range m.execs {
		for _, ex := range g.parts {
			ex.SetMonitor(mon)
		}
	}
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
