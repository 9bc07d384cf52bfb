package oracle

import (
	"maps"
	"slices"
)

// Shrink returns a smaller call for which differs is still true: without the additions of the
// imperative call or the gradient, with fewer attributes. Shapes are kept, because attributes
// depend on them.
func (c *Call) Shrink(differs func(*Call) bool) *Call {
	for {
		smaller := c.smaller(differs)
		if smaller == nil {
			return c
		}
		c = smaller
	}
}

// smaller returns the first of the next smaller calls that differs, or nil.
func (c *Call) smaller(differs func(*Call) bool) *Call {
	for _, change := range c.changes() {
		s := c.clone()
		if change(s) && differs(s) {
			return s
		}
	}
	return nil
}

func (c *Call) clone() *Call {
	s := *c
	s.Attrs = maps.Clone(c.Attrs)
	s.In, s.Same, s.Views, s.Req = slices.Clone(c.In), slices.Clone(c.Same), slices.Clone(c.Views),
		slices.Clone(c.Req)
	s.Out, s.Heads, s.Grads = slices.Clone(c.Out), slices.Clone(c.Heads), slices.Clone(c.Grads)
	return &s
}

// changes lists ways to make a call smaller; each reports whether there was something to change.
func (c *Call) changes() []func(*Call) bool {
	list := []func(*Call) bool{
		func(s *Call) bool { had := s.Out != nil; s.Out = nil; return had },
		func(s *Call) bool { had := s.Heads != nil; s.dropBackward(); return had },
		func(s *Call) bool {
			had := s.Train && s.Heads == nil
			s.Train = s.Train && !had
			return had
		},
	}
	for i := range c.In {
		list = append(list,
			func(s *Call) bool { had := s.Views[i]; s.Views[i] = false; return had },
			func(s *Call) bool { had := s.Same[i] >= 0; s.Same[i] = -1; return had },
			func(s *Call) bool { had := s.Req[i] == "add"; s.Req[i] = "write"; return had })
	}
	for _, p := range c.Op.Params() {
		if _, ok := c.Attrs[p.Name]; ok && !p.Required {
			list = append(list, func(s *Call) bool { delete(s.Attrs, p.Name); return s.fits() })
		}
	}
	return list
}

// fits reports whether the operator takes as many inputs under the attributes as the call has.
func (c *Call) fits() bool {
	params, err := c.params()
	return err != nil || len(c.Op.Inputs(params)) == len(c.In)
}

func (c *Call) dropBackward() {
	c.Heads, c.Grads, c.Tape = nil, nil, false
	for i := range c.Req {
		c.Req[i] = "null"
	}
}
