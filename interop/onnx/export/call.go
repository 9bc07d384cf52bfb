package export

import (
	"fmt"
)

// call is one node of the symbol during its export.
type call struct {
	pen
	outs   []value // shapes and types of the outputs, without names
	failed string  // the reason why the node cannot be exported
}

// fail keeps the first reason.
func (c *call) fail(format string, args ...any) []value {
	if c.failed == "" {
		c.failed = fmt.Sprintf(format, args...)
	}
	return nil
}

// x returns input i.
func (c *call) x(i int) value { return c.ex.values[c.node.In[i]] }

// all returns all inputs.
func (c *call) all() []value {
	list := make([]value, len(c.node.In))
	for i := range list {
		list[i] = c.x(i)
	}
	return list
}

// out is the shape and the type of output i.
func (c *call) out(i int) value { return c.outs[i] }

// one lists one value.
func one(v value) []value { return []value{v} }
