package quantize

import (
	"slices"

	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
)

// site is a group of entries that are quantized with one range: the arrays of a join along channels
// have one, all other entries a site each.
type site struct {
	entries  []op.Entry
	positive bool // no number can be negative
	low      float64
	high     float64
	stats    *stats
}

// signed reports whether the integers of the site are int8.
func (s *site) signed() bool { return !s.positive && s.low < 0 }

// sites finds the entries that quantized layers read, through operators that work on integers.
type sites struct {
	*network
	of   map[op.Entry]*site
	list []*site
	sums map[op.Entry]*op.Node // residual sums by the operand whose integers they read
}

// moves reports whether n only moves or selects numbers, so that a quantized operator stands for
// it.
func moves(n *op.Node) bool {
	switch n.Op {
	case nn.Pooling.Op:
		p := n.Params.(nn.PoolingParams)
		plain := p.Layout == "None" || p.Layout == "NCHW" || p.Layout == "NCDHW"
		return p.PoolType == "max" && plain && (len(p.Kernel) == 2 || len(p.Kernel) == 3)
	case prim.Flatten.Op:
		return true
	case prim.Concat.Op:
		return n.Params.(prim.ConcatParams).Dim.Value() == 1
	}
	return false
}

// sources lists the entries behind e that are quantized where e is wanted as integers.
func sources(e op.Entry) []op.Entry {
	if e.Node.IsVar() || !moves(e.Node) {
		return []op.Entry{e}
	}
	var list []op.Entry
	for _, in := range e.Node.In {
		list = append(list, sources(in)...)
	}
	return list
}

// want notes that e is wanted as integers.
func (s *sites) want(e op.Entry) *site {
	var joined *site
	for _, src := range sources(e) {
		own := s.of[src]
		if own == nil {
			own = &site{entries: []op.Entry{src}, positive: positive(src)}
			s.of[src] = own
			s.list = append(s.list, own)
		}
		switch {
		case joined == nil:
			joined = own
		case joined != own:
			joined.entries = append(joined.entries, own.entries...)
			joined.positive = joined.positive && own.positive
			for _, e := range own.entries {
				s.of[e] = joined
			}
			s.list = slices.DeleteFunc(s.list, func(x *site) bool { return x == own })
		}
	}
	return joined
}

// at returns the site of the integers that stand for e, nil if there is none.
func (s *sites) at(e op.Entry) *site { return s.of[sources(e)[0]] }

// positive reports whether no number of e can be negative.
func positive(e op.Entry) bool {
	n := e.Node
	switch {
	case n.IsVar():
		return false
	case n.Op == prim.Relu.Op || n.Op == prim.Sigmoid.Op:
		return true
	case n.Op == nn.Activation.Op:
		t := n.Params.(nn.ActivationParams).ActType
		return t == "relu" || t == "sigmoid" || t == "softrelu"
	case n.Op == nn.Pooling.Op || n.Op == prim.Flatten.Op || n.Op == prim.Reshape.Op:
		return positive(n.In[0])
	case n.Op == prim.Concat.Op || n.Op == prim.ElemwiseAdd.Op:
		return !slices.ContainsFunc(n.In, func(e op.Entry) bool { return !positive(e) })
	}
	return false
}

// adds reports whether n is a residual sum.
func adds(n *op.Node) bool { return n.Op == prim.ElemwiseAdd.Op }

// computed reports whether a quantized layer computes e, perhaps with a sum and a rectifier behind
// it.
func (s *sites) computed(e op.Entry, quantized map[*op.Node]bool) bool {
	n := e.Node
	switch {
	case n.IsVar():
		return false
	case quantized[n]:
		return true
	case n.Op == prim.Relu.Op, n.Op == nn.Activation.Op:
		return s.reads[n.In[0]] == 1 && s.computed(n.In[0], quantized)
	case adds(n):
		return slices.ContainsFunc(n.In, func(e op.Entry) bool {
			return s.reads[e] == 1 && s.computed(e, quantized)
		})
	}
	return false
}

// read finds the entries whose integers are read where some layers are quantized. Data that a
// convolution reads through a shift are not among them.
func (s *sites) read(quantized map[*op.Node]bool) map[op.Entry]bool {
	list := map[op.Entry]bool{}
	for _, l := range s.layers {
		e := l.node.In[0]
		if quantized[l.node] && !(s.at(e).signed() && l.node.Op == nn.Convolution.Op) {
			for _, src := range sources(e) {
				list[src] = true
			}
		}
	}
	for e, n := range s.sums {
		if s.computed(n.In[0], quantized) && s.computed(n.In[1], quantized) {
			list[e] = true
		}
	}
	return list
}
