package prim

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
)

// inferReshape infers the output from the input, and one unknown extent of the input from a
// known output.
func inferReshape(p ReshapeParams, in, out []dtype.Shape) error {
	if in[0] == nil {
		return nil
	}
	want, err := reshapeTarget(p, in[0])
	if err != nil {
		return err
	}
	if want != nil {
		if in[0].Known() && want.Known() && in[0].Size() != want.Size() {
			return op.Errorf("shape", "%v makes %v of data of shape %v, want as many elements",
				dtype.Shape(p.Shape), want, in[0])
		}
		if err := op.Require("output", &out[0], want); err != nil {
			return err
		}
	}
	completeExtent(in[0], out[0])
	return nil
}

// completeExtent computes the one unknown extent of s from another shape of the same size.
func completeExtent(s, same dtype.Shape) {
	if !same.Known() {
		return
	}
	at, n := -1, 1
	for i, d := range s {
		switch {
		case d != -1:
			n *= d
		case at != -1:
			return
		default:
			at = i
		}
	}
	if at != -1 && n > 0 && same.Size()%n == 0 {
		s[at] = same.Size() / n
	}
}

// reshapeTarget works out the new shape of data of shape s; extents that depend on unknown ones
// are unknown, and so is the whole shape (nil) when neither form of the parameters is given and
// nothing can be said.
func reshapeTarget(p ReshapeParams, s dtype.Shape) (dtype.Shape, error) {
	if len(p.Shape) == 0 && len(p.TargetShape) > 0 {
		return legacyTarget(p, s)
	}
	if len(p.Shape) == 0 {
		return nil, op.Errorf("shape", "missing, it has no default")
	}
	codes := slices.Clone(p.Shape)
	if p.Reverse {
		s = s.Clone()
		slices.Reverse(s)
		slices.Reverse(codes)
		reverseSplits(codes)
	}
	out, err := expandCodes(codes, s)
	if err != nil {
		return nil, err
	}
	completeExtent(out, s)
	if p.Reverse {
		slices.Reverse(out)
	}
	return out, nil
}

// reverseSplits puts each -4 back before its two numbers, which reversing moved it behind.
func reverseSplits(codes []int) {
	for i := 2; i < len(codes); i++ {
		if codes[i] == -4 {
			codes[i-2], codes[i-1], codes[i] = -4, codes[i-2], codes[i-1]
		}
	}
}

// expandCodes replaces the special numbers but -1, which inference replaces.
func expandCodes(codes []int, s dtype.Shape) (dtype.Shape, error) {
	out, at, inferred := dtype.Shape{}, 0, 0
	take := func() (int, error) {
		if at >= len(s) {
			return 0, op.Errorf("shape", "%v wants more axes than the %d of data of shape %v",
				dtype.Shape(codes), len(s), s)
		}
		at++
		return s[at-1], nil
	}
	for i := 0; i < len(codes); i++ {
		switch c := codes[i]; {
		case c > 0:
			out = append(out, c)
			at++
		case c == 0:
			d, err := take()
			if err != nil {
				return nil, err
			}
			out = append(out, d)
		case c == -1:
			if inferred++; inferred > 1 {
				return nil, op.Errorf("shape", "%v has more than one -1", dtype.Shape(codes))
			}
			out = append(out, -1)
			at++
		case c == -2:
			out = append(out, s[min(at, len(s)):]...)
			at = len(s)
		case c == -3:
			a, err := take()
			if err != nil {
				return nil, err
			}
			b, err := take()
			if err != nil {
				return nil, err
			}
			out = append(out, dtype.Shape{a, b}.Size())
		case c == -4 && i+2 < len(codes):
			d, err := take()
			if err != nil {
				return nil, err
			}
			a, b, err := split(d, codes[i+1], codes[i+2])
			if err != nil {
				return nil, err
			}
			out, i = append(out, a, b), i+2
		default:
			return nil, op.Errorf("shape", "%v: %d is no extent and no special number in its place",
				dtype.Shape(codes), c)
		}
	}
	return out, nil
}

// split divides extent d into a and b, of which one may be -1.
func split(d, a, b int) (int, int, error) {
	switch {
	case a == -1 && b == -1 || a < -1 || b < -1 || a == 0 || b == 0:
		return 0, 0, op.Errorf("shape", "-4 splits into %d and %d, want at most one -1 and no "+
			"other special number", a, b)
	case d == -1:
	case a == -1 && d%b == 0:
		a = d / b
	case b == -1 && d%a == 0:
		b = d / a
	case a*b != d:
		return 0, 0, op.Errorf("shape", "-4 splits extent %d into %d and %d", d, a, b)
	}
	return a, b, nil
}

// legacyTarget is the shape by the parameters of old symbol files: at most one zero, computed
// from the size.
func legacyTarget(p ReshapeParams, s dtype.Shape) (dtype.Shape, error) {
	out := dtype.Shape(p.TargetShape).Clone()
	first := 0
	if p.KeepHighest {
		if len(s) == 0 {
			return nil, op.Errorf("keep_highest", "data of shape %v has no first axis", s)
		}
		out[0], first = s[0], 1
	}
	zeros := 0
	for i := first; i < len(out); i++ {
		if out[i] == 0 || out[i] == -1 {
			out[i] = -1
			zeros++
		}
	}
	if zeros > 1 {
		return nil, op.Errorf("target_shape", "%v has more than one extent to compute",
			dtype.Shape(p.TargetShape))
	}
	completeExtent(out, s)
	return out, nil
}
