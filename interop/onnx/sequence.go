package onnx

import (
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// sequenceRows are operators of lists of tensors. A list is a value of the import alone: its length
// and the places of its elements are known, and the graph has the elements.
var sequenceRows = map[string]row{
	"SequenceEmpty": {0, func(c *call) []*sym.Symbol { return listed(c, nil) }},
	"SequenceConstruct": {1, func(c *call) []*sym.Symbol {
		if slices.ContainsFunc(c.in, func(v *value) bool { return v == nil || v.sequence }) {
			return c.fail("inputs that are no tensors")
		}
		return listed(c, c.in)
	}},
	"SequenceAt": {2, sequenceAt}, "SequenceInsert": {2, sequenceInsert},
	"SequenceErase": {1, sequenceErase}, "SequenceLength": {1, sequenceLength},
	"SequenceMap": {1, sequenceMap}, "SplitToSequence": {1, splitToSequence},
	"ConcatFromSequence": {1, concatFromSequence},
}

// takesSequences reports whether an operator has inputs that may be sequences.
func takesSequences(name string) bool {
	return slices.Contains([]string{"SequenceConstruct", "SequenceAt", "SequenceInsert",
		"SequenceErase", "SequenceLength", "SequenceMap", "ConcatFromSequence", "Loop"}, name)
}

// listed makes a sequence the output of a node.
func listed(c *call, list []*value) []*sym.Symbol {
	c.direct = append(c.direct, &value{sequence: true, list: slices.Clone(list)})
	return nil
}

// sequence returns the elements of input i.
func sequence(c *call, i int) []*value {
	if !c.has(i) || !c.in[i].sequence {
		c.fail("input %d is no sequence", i)
		return nil
	}
	return c.in[i].list
}

// position reads a place in a sequence of n elements at an input; without it, it is otherwise.
// Negative places count from the end, and most is the greatest one.
func position(c *call, i, n, most, otherwise int) int {
	at := []int{otherwise}
	if c.has(i) {
		at = c.ints(i)
	}
	if c.err != nil {
		return 0
	}
	if len(at) != 1 || at[0] < -n || at[0] > most {
		c.fail("position %v of a sequence of %d elements", at, n)
		return 0
	}
	if at[0] < 0 {
		return at[0] + n
	}
	return at[0]
}

func sequenceAt(c *call) []*sym.Symbol {
	list := sequence(c, 0)
	at := position(c, 1, len(list), len(list)-1, 0)
	if c.err != nil {
		return nil
	}
	c.direct = []*value{list[at]}
	return nil
}

// sequenceInsert inserts before a place, at the end without one.
func sequenceInsert(c *call) []*sym.Symbol {
	list := sequence(c, 0)
	at := position(c, 2, len(list), len(list), len(list))
	if c.err == nil && c.in[1].sequence {
		return c.fail("input 1 is a sequence, want a tensor")
	}
	if c.err != nil {
		return nil
	}
	return listed(c, slices.Insert(slices.Clone(list), at, c.in[1]))
}

// sequenceErase takes an element out, the last one without a place.
func sequenceErase(c *call) []*sym.Symbol {
	list := sequence(c, 0)
	at := position(c, 1, len(list), len(list)-1, len(list)-1)
	if c.err != nil {
		return nil
	}
	return listed(c, slices.Delete(slices.Clone(list), at, at+1))
}

func sequenceLength(c *call) []*sym.Symbol {
	c.integers([]int{len(sequence(c, 0))}, dtype.Shape{})
	return nil
}

// sequenceMap imports its graph for each element of a sequence. Further inputs are tensors, or
// sequences whose elements belong to those of the first one.
func sequenceMap(c *call) []*sym.Symbol {
	first := sequence(c, 0)
	b, ok := bodyOf(c, "body", len(c.in))
	if !ok {
		return nil
	}
	columns := make([][]*value, len(b.g.GetOutput()))
	for k := range first {
		in := slices.Clone(c.in)
		for i, v := range in {
			switch {
			case v == nil:
				return c.fail("input %d is missing", i)
			case v.sequence && len(v.list) != len(first):
				return c.fail("sequences of %d and %d elements", len(first), len(v.list))
			case v.sequence:
				in[i] = v.list[k]
			}
		}
		outs, err := b.run(in)
		if err != nil {
			return c.fail("%w", err)
		}
		for i, v := range outs {
			columns[i] = append(columns[i], v)
		}
	}
	for _, column := range columns {
		listed(c, column)
	}
	return nil
}

// splitToSequence cuts an axis into parts of one extent, of a list of extents, or of one element
// whose axis may disappear.
func splitToSequence(c *call) []*sym.Symbol {
	v := c.in[0]
	a := c.axis(c.num("axis", 0), v.rank())
	sizes, drop := c.ints(1), false
	if c.err != nil {
		return nil
	}
	n := v.shape[a]
	if !c.has(1) {
		drop = c.num("keepdims", 1) == 0
		sizes = []int{1}
	}
	if !c.has(1) || c.in[1].rank() == 0 {
		size := sizes[0]
		if size < 1 {
			return c.fail("parts of %d elements, want at least 1", size)
		}
		sizes = nil
		for at := 0; at < n; at += min(size, n-at) {
			sizes = append(sizes, min(size, n-at))
		}
	}
	var list []*value
	at := 0
	for _, size := range sizes {
		if size < 0 || size > n-at {
			return c.fail("parts of %v for the extent %d", sizes, n)
		}
		s, shape := cut(c.x(0), a, at, at+size), v.shape.Clone()
		if shape[a] = size; drop {
			shape = slices.Delete(shape, a, a+1)
			s = c.reshape(s, shape)
		}
		values, err := c.valuesOf(out(s))
		if err != nil {
			return c.fail("%w", err)
		}
		values[0].shape = shape
		list, at = append(list, values[0]), at+size
	}
	if at != n {
		return c.fail("parts of %v for the extent %d", sizes, n)
	}
	return listed(c, list)
}

// concatFromSequence joins all elements along an axis, which may be a new one.
func concatFromSequence(c *call) []*sym.Symbol {
	list := sequence(c, 0)
	if c.err == nil && len(list) == 0 {
		return c.fail("an empty sequence, want at least one element")
	}
	if c.err != nil {
		return nil
	}
	if c.num("new_axis", 0) == 0 {
		return concat(derived(c, list))
	}
	a := c.axis(c.num("axis", 0), list[0].rank()+1)
	if c.err != nil {
		return nil
	}
	v, err := stacked(c, list, a)
	if err != nil {
		return c.fail("%w", err)
	}
	c.direct = []*value{v}
	return nil
}
