package nn

import (
	"gomx/dtype"
	"gomx/op"
)

// unknown returns a shape of n axes whose extents are unknown.
func unknown(n int) dtype.Shape {
	s := make(dtype.Shape, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// extent returns extent i of s, -1 when s is unknown or has no such axis; negative i counts from
// the end.
func extent(s dtype.Shape, i int) int {
	if i < 0 {
		i += len(s)
	}
	if i < 0 || i >= len(s) {
		return -1
	}
	return s[i]
}

// axisOf resolves a possibly negative axis of an array with rank axes.
func axisOf(arg string, axis, rank int) (int, error) {
	a := axis
	if a < 0 {
		a += rank
	}
	if a < 0 || a >= rank {
		return 0, op.Errorf(arg, "axis %d of an array with %d axes", axis, rank)
	}
	return a, nil
}

// vector makes *s a vector of n elements, n = -1 meaning any number, and returns its length.
func vector(arg string, s *dtype.Shape, n int) (int, error) {
	if err := op.Require(arg, s, dtype.Shape{n}); err != nil {
		return -1, err
	}
	return (*s)[0], nil
}

// inferFunc is the type of a Spec's Infer.
type inferFunc[P any] func(p P, in, out []dtype.Shape) error

// backward infers the shapes of a backward operator from the shapes of the forward one. Its inputs
// are the gradient of output 0, then the forward inputs listed in reads; its outputs are the
// gradients of the first forward inputs. n tells how many inputs the forward operator has.
func backward[P any](fwd inferFunc[P], n func(p P) int, reads ...int) inferFunc[P] {
	return func(p P, in, out []dtype.Shape) error {
		fin, fout := make([]dtype.Shape, n(p)), []dtype.Shape{in[0]}
		for i, r := range reads {
			fin[r] = in[1+i]
		}
		for i := range min(len(out), len(fin)) {
			if err := op.Require("gradient", &fin[i], out[i]); err != nil {
				return err
			}
		}
		if err := fwd(p, fin, fout); err != nil {
			return err
		}
		in[0] = fout[0]
		for i, r := range reads {
			in[1+i] = fin[r].Clone()
		}
		for i := range min(len(out), len(fin)) {
			out[i] = fin[i].Clone()
		}
		return nil
	}
}

// inputs makes the list of a backward operator's inputs from their names.
func inputs[P any](names ...string) func(P) []op.Input {
	list := make([]op.Input, len(names))
	for i, n := range names {
		list[i].Name = n
	}
	return func(P) []op.Input { return list }
}

// minAxes infers one shape with at least n axes for all operands.
func minAxes[P any](n int) inferFunc[P] {
	return func(p P, in, out []dtype.Shape) error {
		if err := op.SameShape(p, in, out); err != nil {
			return err
		}
		if in[0] != nil && len(in[0]) < n {
			return op.Errorf("data", "shape %v, want at least %d axes", in[0], n)
		}
		return nil
	}
}
