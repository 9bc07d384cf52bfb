package exec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gomx/compile"
	"gomx/device"
	"gomx/graph"
	nd "gomx/ndarray"
	"gomx/op"
)

// spreadOver decides where variables and outputs lie, nil when everything is on one device.
func (c *Config) spreadOver(outs []op.Entry) (*compile.Spread, error) {
	if len(c.Group2Ctx) == 0 {
		return nil, nil
	}
	if err := c.checkGroups(outs); err != nil {
		return nil, err
	}
	return compile.SpreadOver(outs, graph.Placement{Default: c.Device, Groups: c.Group2Ctx,
		Var: func(v *op.Node) (device.Device, bool) {
			for _, given := range []map[string]*nd.Array{c.Args, c.Aux} {
				if a := given[v.Name]; a != nil {
					return a.Device(), true
				}
			}
			return device.Device{}, false
		}})
}

// checkGroups reports groups without a device and devices that do not exist.
func (c *Config) checkGroups(outs []op.Entry) error {
	groups := slices.Sorted(maps.Keys(c.Group2Ctx))
	for _, n := range op.Topo(outs) {
		if g := graph.Group(n); g != "" && !slices.Contains(groups, g) {
			return fmt.Errorf("exec: %q is in group %q, for which Group2Ctx has no device: it "+
				"has %s", n.Name, g, strings.Join(groups, ", "))
		}
	}
	for _, g := range groups {
		if _, err := device.PoolOf(c.Group2Ctx[g]); err != nil {
			return fmt.Errorf("exec: group %q: %w", g, err)
		}
	}
	return nil
}

// deviceOf returns where the array of a variable lies.
func (ex *Executor) deviceOf(name string) device.Device {
	if ex.spread != nil {
		if d, ok := ex.spread.Vars[name]; ok {
			return d
		}
	}
	return ex.config.Device
}

// outputOn returns where output i lies.
func (ex *Executor) outputOn(i int) device.Device {
	if ex.spread != nil {
		return ex.spread.Outputs[i]
	}
	return ex.config.Device
}
