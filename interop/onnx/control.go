package onnx

import sym "gomx/symbol"

// controlRows choose between graphs.
var controlRows = map[string]row{"If": {1, ifNode}}

// ifNode imports the branch that a known condition takes. Its nodes see the names around it.
func ifNode(c *call) []*sym.Symbol {
	hold := c.ints(0)
	if c.err != nil {
		return nil
	}
	if len(hold) != 1 {
		return c.fail("a condition of shape %v, want one value", c.in[0].shape)
	}
	name := "else_branch"
	if hold[0] != 0 {
		name = "then_branch"
	}
	g := c.attr[name].GetG()
	if g == nil {
		return c.fail("no graph in the attribute %q", name)
	}
	inner := newScope(c.scope)
	if err := c.im.initializers(g, inner); err != nil {
		return c.fail("%w", err)
	}
	if err := c.im.run(g, inner); err != nil {
		return c.fail("%s: %w", name, err)
	}
	for _, o := range g.GetOutput() {
		v := inner.find(o.GetName())
		if v == nil {
			return c.fail("%s: no node computes the output %q", name, o.GetName())
		}
		c.direct = append(c.direct, v)
	}
	return nil
}
