package vision

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
)

// featureMap returns the shape of a feature map with unknown extents.
func featureMap() dtype.Shape { return dtype.Shape{-1, -1, -1, -1} }

// times multiplies an extent, which may be unknown.
func times(n, by int) int {
	if n == -1 {
		return -1
	}
	return n * by
}

// over divides an extent, which may be unknown, and reports whether the remainder is zero.
func over(n, by int) (int, bool) {
	if n == -1 {
		return -1, true
	}
	return n / by, n%by == 0
}

// twoSizes checks a parameter (height, width) for two positive numbers.
func twoSizes(arg string, list []int) error {
	if len(list) != 2 || slices.Min(list) < 1 {
		return op.Errorf(arg, "%v, want a positive height and width", dtype.Shape(list))
	}
	return nil
}

// indexOutput is op.FloatType for operators whose last output is indices.
func indexOutput[P any](p P, in, out []dtype.Type) error {
	last := len(out) - 1
	if err := index(&out[last]); err != nil {
		return err
	}
	return op.FloatType(p, in, out[:last])
}

// indexInput is op.FloatType for gradients whose second input holds indices.
func indexInput[P any](p P, in, out []dtype.Type) error {
	if err := index(&in[1]); err != nil {
		return err
	}
	rest := slices.Delete(slices.Clone(in), 1, 2)
	err := op.FloatType(p, rest, out)
	in[0] = rest[0]
	copy(in[2:], rest[1:])
	return err
}

// index merges t with the type of indices.
func index(t *dtype.Type) error {
	if *t != dtype.Unknown && *t != dtype.Int64 {
		return op.Errorf("", "element type %v of indices, want int64", *t)
	}
	*t = dtype.Int64
	return nil
}
