package symbol

import (
	"fmt"
	"strings"

	"gomx/device"
	nd "gomx/ndarray"
	"gomx/op"
)

// Eval computes the outputs of s for given arguments and auxiliary states, all of them by name, on
// a device: it binds s for inference and runs it once. It returns at once; the call that waits for
// the outputs returns the errors of the computation. To compute the same graph again and again,
// bind it once with SimpleBind.
func (s *Symbol) Eval(on device.Device, values map[string]*nd.Array) ([]*nd.Array, error) {
	if s.err != nil {
		return nil, s.err
	}
	c := BindConfig{Device: on, DefaultReq: op.ReqNull, Args: map[string]*nd.Array{},
		Aux: map[string]*nd.Array{}}
	args, aux := s.variables()
	known := map[string]bool{}
	var missing []string
	for _, part := range []struct {
		vars []*op.Node
		into map[string]*nd.Array
	}{{args, c.Args}, {aux, c.Aux}} {
		for _, v := range part.vars {
			known[v.Name] = true
			if part.into[v.Name] = values[v.Name]; values[v.Name] == nil {
				missing = append(missing, v.Name)
			}
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("symbol: Eval without a value for %s", strings.Join(missing, ", "))
	}
	for _, name := range sortedKeys(values) {
		if !known[name] {
			return nil, fmt.Errorf("symbol: Eval with a value for %q, which is not a variable "+
				"of the graph: it has %s", name, strings.Join(sortedKeys(known), ", "))
		}
	}
	ex, err := s.SimpleBind(c)
	if err != nil {
		return nil, err
	}
	defer ex.Close()
	return ex.Outputs(), ex.Forward(false)
}
