package onnx

import (
	"fmt"
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// scan is an import of Scan: a step for each slice of some inputs along an axis.
type scan struct {
	c      *call
	body   body
	states []*value // first values
	data   []*value
	axes   []int // by data: the axis of the steps
	back   []int // by data: 1 if the last slice comes first
	// The same of the outputs with a slice for each step.
	outAxes, outBack []int
}

// scanNode becomes a Foreach. Before opset 9 there were a batch axis, and lengths as first input.
func scanNode(c *call) []*sym.Symbol {
	in := c.in
	if c.version < 9 {
		if c.has(0) {
			return c.fail("sequence_lens, want sequences of the same length")
		}
		in = in[min(1, len(in)):]
	}
	n := c.num("num_scan_inputs", 0)
	if n < 1 || n > len(in) || slices.Contains(in, nil) {
		return c.fail("%d scan inputs of %d inputs", n, len(in))
	}
	b, ok := bodyOf(c, "body", len(in))
	if !ok {
		return nil
	}
	m := len(in) - n
	outs := len(b.g.GetOutput()) - m
	if outs < 0 {
		return c.fail("body: %d outputs for %d states", len(b.g.GetOutput()), m)
	}
	s := scan{c: c, body: b, states: in[:m], data: in[m:]}
	if c.version < 9 {
		s.axes, s.outAxes, s.outBack = make([]int, n), make([]int, outs), make([]int, outs)
		s.back = c.perAxis("directions", n, 0)
		return s.batches(outs)
	}
	s.axes, s.back = c.perAxis("scan_input_axes", n, 0), c.perAxis("scan_input_directions", n, 0)
	s.outAxes = c.perAxis("scan_output_axes", outs, 0)
	s.outBack = c.perAxis("scan_output_directions", outs, 0)
	if c.err != nil {
		return nil
	}
	results, err := s.run()
	if err != nil {
		return c.fail("%w", err)
	}
	c.direct = results
	return nil
}

// batches scans every sample of a batch and stacks the results.
func (s scan) batches(outs int) []*sym.Symbol {
	c := s.c
	var size int
	for i, v := range append(slices.Clone(s.states), s.data...) {
		if v.rank() < 1 || i > 0 && v.shape[0] != size || v.shape[0] < 1 {
			return c.fail("input %d has shape %v, want a batch on its first axis", i, v.shape)
		}
		size = v.shape[0]
	}
	columns := make([][]*value, len(s.states)+outs)
	for k := range size {
		one := s
		one.states, one.data = samples(c, s.states, k), samples(c, s.data, k)
		results, err := one.run()
		if err != nil {
			return c.fail("%w", err)
		}
		for i, v := range results {
			columns[i] = append(columns[i], v)
		}
	}
	for _, column := range columns {
		v, err := stacked(c, column, 0)
		if err != nil {
			return c.fail("%w", err)
		}
		c.direct = append(c.direct, v)
	}
	return nil
}

// samples cuts sample k out of values.
func samples(c *call, list []*value, k int) []*value {
	var cuts []*value
	for _, v := range list {
		shape := v.shape[1:]
		s := c.reshape(cut(v.s, 0, k, k+1), shape)
		cuts = append(cuts, &value{name: v.name, s: s, shape: shape, typ: v.typ})
	}
	return cuts
}

// run makes a Foreach. The results are the last states, then the slices of all steps.
func (s scan) run() ([]*value, error) {
	c := s.c
	steps := -1
	var ins, rows []*value
	var data []*sym.Symbol
	for _, v := range s.states {
		ins = append(ins, standIn(c, v))
	}
	for i := range s.data {
		row, d, n := s.slices(i)
		if c.err != nil {
			return nil, c.err
		}
		if steps >= 0 && n != steps {
			return nil, fmt.Errorf("%d and %d steps of scan inputs, want the same number", steps, n)
		}
		steps = n
		ins, rows, data = append(ins, row), append(rows, row), append(data, d)
	}
	if steps < 1 {
		return nil, fmt.Errorf("a scan of %d steps, want at least 1", steps)
	}
	outs, err := s.body.run(ins)
	if err != nil {
		return nil, err
	}
	m := len(s.states)
	if !alike(outs[:m], s.states) {
		return nil, errChanges
	}
	var used []*value
	var usedData, first []*sym.Symbol
	for i, row := range rows {
		if reads(outs, row) {
			used, usedData = append(used, row), append(usedData, data[i])
		}
	}
	if len(used) == 0 {
		return nil, fmt.Errorf("body: it reads no slice of the scan inputs")
	}
	for _, v := range s.states {
		first = append(first, v.s)
	}
	stand := append(slices.Clone(used), ins[:m]...)
	list, last := sym.Foreach(func(row, states []*sym.Symbol) (slices, next []*sym.Symbol) {
		all := replaced(outs, stand, append(row[:len(row):len(row)], states...))
		return all[m:], all[:m]
	}, usedData, first)
	var results []*value
	for i, r := range append(last, list...) {
		v := &value{name: c.node.GetName(), s: r, shape: outs[i].shape, typ: outs[i].typ}
		if i >= m {
			turned(c, v, steps, s.outAxes[i-m], s.outBack[i-m] != 0)
		}
		results = append(results, v)
	}
	return results, settled(c, results)
}

// slices returns a stand-in for a slice of scan input i, the slices as rows, and their number.
func (s scan) slices(i int) (row *value, data *sym.Symbol, steps int) {
	c, v := s.c, s.data[i]
	a := c.axis(s.axes[i], v.rank())
	if c.err != nil {
		return nil, nil, 0
	}
	steps = v.shape[a]
	shape := slices.Delete(v.shape.Clone(), a, a+1)
	data = moveAxis(v.s, a, 0, v.rank())
	if s.back[i] != 0 {
		data = sym.Reverse(data, sym.ReverseParams{Axis: []int{0}})
	}
	if len(shape) == 0 {
		data = c.reshape(data, dtype.Shape{steps, 1})
	}
	return standIn(c, &value{name: v.name, shape: shape, typ: v.typ}), data, steps
}

// turned gives the slices of all steps their axis and direction.
func turned(c *call, v *value, steps, axis int, back bool) {
	rank := len(v.shape) + 1
	a := c.axis(axis, rank)
	v.s = c.reshape(v.s, slices.Insert(v.shape.Clone(), 0, steps))
	if back {
		v.s = sym.Reverse(v.s, sym.ReverseParams{Axis: []int{0}})
	}
	v.s = moveAxis(v.s, 0, a, rank)
	v.shape = slices.Insert(v.shape.Clone(), a, steps)
}

// moveAxis moves an axis to another place.
func moveAxis(s *sym.Symbol, from, to, rank int) *sym.Symbol {
	if from == to {
		return s
	}
	var axes []int
	for i := range rank {
		if i != from {
			axes = append(axes, i)
		}
	}
	return sym.Transpose(s, sym.TransposeParams{Axes: slices.Insert(axes, to, from)})
}
