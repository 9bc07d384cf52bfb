package linalg

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
)

// operand is the shape of an operand and the meaning of its last axes: indices in a list of
// extents. The axes before them form the batch and are the same for all operands.
type operand struct {
	arg   string
	shape *dtype.Shape
	dims  []int
}

// match merges the shapes of operands and sets their extents, -1 for unknown ones. derive, if not
// nil, computes extents from others. An operand without axes gets one axis of extent 1.
func match(list []operand, extents []int, derive func() error) error {
	batch, err := batchAxes(list)
	if err != nil {
		return err
	}
	for range 2 { // the second round infers the first operands from the last
		if derive != nil {
			if err := derive(); err != nil {
				return err
			}
		}
		if batch == nil {
			return nil
		}
		for _, o := range list {
			if err := o.fit(batch, extents); err != nil {
				return err
			}
		}
	}
	return nil
}

// batchAxes returns the axes of the batch, nil if no operand determines them.
func batchAxes(list []operand) (dtype.Shape, error) {
	for _, o := range list {
		if *o.shape == nil || len(o.dims) == 0 { // an axis of extent 1 may mean no axis
			continue
		}
		n := len(*o.shape) - len(o.dims)
		if n < 0 {
			return nil, op.Errorf(o.arg, "shape %v, want at least %d axes", *o.shape, len(o.dims))
		}
		return unknown(n), nil
	}
	return nil, nil
}

func unknown(n int) dtype.Shape {
	s := make(dtype.Shape, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// fit merges the known extents into the operand's shape and back.
func (o operand) fit(batch dtype.Shape, extents []int) error {
	want := batch.Clone()
	for _, d := range o.dims {
		want = append(want, extents[d])
	}
	if len(want) == 0 {
		return op.Require(o.arg, o.shape, dtype.Shape{1})
	}
	if err := op.Require(o.arg, o.shape, want); err != nil {
		return err
	}
	copy(batch, *o.shape)
	for i, d := range o.dims {
		extents[d] = (*o.shape)[len(batch)+i]
	}
	return nil
}

// squares infers one shape of square matrices for all operands.
func squares[P any](_ P, in, out []dtype.Shape) error {
	var list []operand
	for i := range in {
		list = append(list, operand{"A", &in[i], []int{0, 0}})
	}
	for i := range out {
		list = append(list, operand{"output", &out[i], []int{0, 0}})
	}
	return match(list, []int{-1}, nil)
}

// realType infers one type, float32 or float64, for all operands.
func realType[P any](p P, in, out []dtype.Type) error {
	if err := op.SameType(p, in, out); err != nil {
		return err
	}
	for _, t := range slices.Concat(in, out) {
		if t != dtype.Unknown && t != dtype.Float32 && t != dtype.Float64 {
			return op.Errorf("", "element type %v, want float32 or float64", t)
		}
	}
	return nil
}

// inputs lists inputs by name.
func inputs[P any](names ...string) func(P) []op.Input {
	list := make([]op.Input, len(names))
	for i, n := range names {
		list[i].Name = n
	}
	return func(P) []op.Input { return list }
}

// outputs lists outputs by name.
func outputs[P any](names ...string) func(P) []string {
	return func(P) []string { return names }
}
