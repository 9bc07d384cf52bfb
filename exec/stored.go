package exec

import (
	"fmt"
	"slices"

	"gomx/compile"
	"gomx/device"
	"gomx/graph"
	"gomx/op"
)

// stored has the storage types of the variables and of the gradients that are not dense, by the
// names of the variables.
type stored struct {
	vars, grads map[string]op.Storage
	composed    bool // a gradient is made of other sparse values
}

// storage finds the storage types of a graph: of variables by the configuration, of gradients by
// inference.
func (c *Config) storage(n *Net) error {
	s := &c.stored
	*s = stored{vars: map[string]op.Storage{}, grads: map[string]op.Storage{}}
	var wrt []op.Entry
	for _, list := range [][]*op.Node{n.Args, n.Aux} {
		for _, v := range list {
			t, err := c.storageOf(v)
			if err != nil {
				return err
			}
			if t != op.Dense {
				s.vars[v.Name] = t
			}
		}
	}
	for _, v := range n.Args {
		if g := c.Grads[v.Name]; g != nil {
			if g.Storage() != op.Dense {
				s.grads[v.Name] = g.Storage()
			}
		} else if c.req(v.Name) != op.ReqNull {
			wrt = append(wrt, v.Entry(0))
		}
	}
	if len(wrt) == 0 || len(s.vars) == 0 && !mayStore(n.Outputs) {
		return nil
	}
	grads, composed, err := graph.StoredGradients(n.Outputs, wrt, s.of)
	if err != nil {
		return err
	}
	s.composed = composed
	for i, t := range grads {
		if t != op.Dense {
			s.grads[wrt[i].Node.Name] = t
		}
	}
	return nil
}

// planned reports whether the graph can be compiled although arrays are sparse: operators of a Func
// gather rows of row_sparse variables, all other values are dense, and the gradients are written.
func (c *Config) planned(n *Net) bool {
	if c.stored.composed || len(c.stored.vars) > 0 && c.lent == nil ||
		!Gathered(n.Outputs, c.stored.of) {
		return false
	}
	for name := range c.stored.grads {
		if c.req(name) != op.ReqWrite {
			return false
		}
	}
	return c.Device.Kind == device.KindCPU && len(c.Group2Ctx) == 0
}

// Gathered reports whether all sparse values of a graph are row_sparse variables, and only
// operators that have a kernel for them and gather their rows read them. Such a graph can be
// compiled: the gradients of these operators do not read the variables. Vars gives the storage
// types of variables.
func Gathered(outs []op.Entry, vars func(v *op.Node) op.Storage) bool {
	known := graph.Stored(outs, vars)
	for e, t := range known {
		if !e.Node.IsVar() || t != op.RowSparse || slices.Contains(outs, e) {
			return false
		}
	}
	for _, n := range op.Topo(outs) {
		in := make([]op.Storage, len(n.In))
		for k, e := range n.In {
			if in[k] = known[e]; in[k] != op.Dense && !slices.Contains(n.Op.Gathers, k) {
				return false
			}
		}
		if op.AllDense(in) {
			continue
		}
		if _, ok := n.Op.OutStorage(n.Params, in); !ok {
			return false
		}
	}
	return true
}

// of returns the storage type of a variable.
func (s *stored) of(v *op.Node) op.Storage { return s.vars[v.Name] }

// storageOf returns the storage type of a variable: of its given array, or as the configuration or
// its attribute says.
func (c *Config) storageOf(v *op.Node) (op.Storage, error) {
	if a := c.Args[v.Name]; a != nil {
		return a.Storage(), nil
	}
	if a := c.Aux[v.Name]; a != nil {
		return a.Storage(), nil
	}
	if s, ok := c.Stored[v.Name]; ok {
		return s, nil
	}
	return compile.DeclaredStorage(v)
}

// mayStore reports whether a graph of dense variables may have sparse values or gradients: an
// operator says so of itself.
func mayStore(outs []op.Entry) bool {
	for _, n := range op.Topo(outs) {
		if n.IsVar() {
			continue
		}
		in := make([]op.Storage, len(n.In))
		out, _ := n.Op.OutStorage(n.Params, in)
		heads := make([]op.Storage, len(out))
		if !op.AllDense(out) || !op.AllDense(n.Op.GradStorage(n.Params, in, heads)) {
			return true
		}
	}
	return false
}

// sparse describes the first sparse array of the graph, empty if all are dense.
func (s *stored) sparse(n *Net) string {
	for _, v := range n.Args {
		if t, ok := s.vars[v.Name]; ok {
			return fmt.Sprintf("argument %q is %v", v.Name, t)
		}
		if t, ok := s.grads[v.Name]; ok {
			return fmt.Sprintf("the gradient of %q is %v", v.Name, t)
		}
	}
	for _, v := range n.Aux {
		if t, ok := s.vars[v.Name]; ok {
			return fmt.Sprintf("auxiliary state %q is %v", v.Name, t)
		}
	}
	known := graph.Stored(n.Outputs, s.of)
	for _, n := range op.Topo(n.Outputs) {
		for i := range n.NumOutputs() {
			if t := known[n.Entry(i)]; t != op.Dense {
				return fmt.Sprintf("the value %v is %v", n.Entry(i), t)
			}
		}
	}
	return ""
}
