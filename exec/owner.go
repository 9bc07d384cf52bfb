package exec

import (
	"fmt"
	"maps"
	"slices"

	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// engineFor chooses the engine of an executor: the one engine to which the arrays it is given, the
// executor whose memory it shares and the loss scale belong, or the default engine when there are
// none of these. It returns an error when their engines differ.
func (c *Config) engineFor() (*engine.Engine, error) {
	var eng *engine.Engine
	var first string
	if c.Shared != nil {
		eng, first = c.Shared.eng, "the executor that shares its memory"
	}
	for _, group := range []struct {
		what   string
		arrays map[string]*nd.Array
	}{{"argument", c.Args}, {"gradient of", c.Grads}, {"auxiliary state", c.Aux}} {
		for _, name := range slices.Sorted(maps.Keys(group.arrays)) {
			what := fmt.Sprintf("%s %q", group.what, name)
			a := group.arrays[name]
			switch {
			case a == nil:
				return nil, fmt.Errorf("exec: %s is nil, want an array", what)
			case eng == nil:
				eng, first = a.Engine(), what
			case a.Engine() != eng:
				return nil, fmt.Errorf("exec: %s belongs to another engine than %s", what, first)
			}
		}
	}
	if c.LossScale != nil {
		switch scale := c.LossScale.factor.Engine(); {
		case eng == nil:
			eng = scale
		case scale != eng:
			return nil, fmt.Errorf("exec: the loss scale belongs to another engine than %s", first)
		}
	}
	if eng == nil {
		eng = engine.Default()
	}
	return eng, nil
}

// zeros makes an array of a storage type on the executor's engine.
func (ex *Executor) zeros(s op.Storage, like nd.Shape, opts ...nd.Option) *nd.Array {
	return nd.ZerosOf(s, like, append(opts, nd.Using(ex.eng))...)
}

// admit checks an array that replaces one of the executor's.
func (ex *Executor) admit(what string, a, old *nd.Array) error {
	switch {
	case a == nil:
		return fmt.Errorf("exec: %s is nil, want an array", what)
	case !a.Shape().Equal(old.Shape()) || a.DType() != old.DType() || a.Device() != old.Device():
		return fmt.Errorf("exec: %s is %v %v on %v, want %v %v on %v", what,
			a.DType(), a.Shape(), a.Device(), old.DType(), old.Shape(), old.Device())
	case a.Engine() != ex.eng:
		return fmt.Errorf("exec: %s belongs to another engine than the executor", what)
	}
	return nil
}
