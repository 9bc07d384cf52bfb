package optest

import (
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/op"
)

// inferRounds is the number of times that random parts of the shapes are left out, per case.
const inferRounds = 40

func shapesOf(ts []op.Tensor) []dtype.Shape {
	s := make([]dtype.Shape, len(ts))
	for i, t := range ts {
		s[i] = t.Shape.Clone()
	}
	return s
}

// checkShapes leaves out parts of the true shapes and checks that inference does not fail, does not
// contradict the true shapes, and is stable.
func checkShapes(t *testing.T, o *op.Op, params any, in, out []op.Tensor) {
	t.Helper()
	truth := append(shapesOf(in), shapesOf(out)...)
	rng := rand.New(rand.NewPCG(1, uint64(len(truth))))
	for round := range inferRounds {
		given := make([]dtype.Shape, len(truth))
		if round > 0 { // the first round leaves out everything
			for i := range given {
				given[i] = forget(rng, truth[i])
			}
		}
		got := make([]dtype.Shape, len(truth))
		for i := range given {
			got[i] = given[i].Clone()
		}
		if err := inferStable(o, params, got, len(in)); err != nil {
			t.Errorf("inference from shapes %v fails: %v", given, err)
			return
		}
		for i := range got {
			if m, ok := got[i].Merge(truth[i]); !ok || !m.Equal(truth[i]) {
				t.Errorf("inference from shapes %v: operand %d got %v, want a part of %v", given, i,
					got[i], truth[i])
				return
			}
			if m, ok := got[i].Merge(given[i]); !ok || !m.Equal(got[i]) {
				t.Errorf("inference from shapes %v: operand %d became %v and lost what was known",
					given, i, got[i])
				return
			}
		}
	}
}

// checkGarbage checks that inference returns an error for wrong shapes, and does not panic.
func checkGarbage(t *testing.T, o *op.Op, params any, inputs, outputs int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, uint64(inputs)))
	for range 4 * inferRounds {
		s := make([]dtype.Shape, inputs+outputs)
		for i := range s {
			if rng.IntN(4) == 0 {
				continue
			}
			s[i] = make(dtype.Shape, rng.IntN(5))
			for a := range s[i] {
				s[i][a] = rng.IntN(5) - 1
			}
		}
		given := make([]dtype.Shape, len(s))
		for i := range s {
			given[i] = s[i].Clone()
		}
		if r := panics(func() { _ = o.InferShape(params, s[:inputs], s[inputs:]) }); r != nil {
			t.Errorf("inference from shapes %v panics: %v", given, r)
			return
		}
	}
}

func panics(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

// inferStable calls inference until nothing changes.
func inferStable(o *op.Op, params any, s []dtype.Shape, inputs int) error {
	for {
		before := make([]dtype.Shape, len(s))
		for i := range s {
			before[i] = s[i].Clone()
		}
		if err := o.InferShape(params, s[:inputs], s[inputs:]); err != nil {
			return err
		}
		same := true
		for i := range s {
			same = same && s[i].Equal(before[i])
		}
		if same {
			return nil
		}
	}
}

// forget returns s with its rank or some of its extents unknown.
func forget(rng *rand.Rand, s dtype.Shape) dtype.Shape {
	switch rng.IntN(3) {
	case 0:
		return nil
	case 1:
		return s.Clone()
	}
	s = s.Clone()
	for i := range s {
		if rng.IntN(2) == 0 {
			s[i] = -1
		}
	}
	return s
}

// checkTypes is checkShapes for element types.
func checkTypes(t *testing.T, o *op.Op, params any, in, out []op.Tensor) {
	t.Helper()
	var truth []dtype.Type
	for _, v := range append(append([]op.Tensor{}, in...), out...) {
		truth = append(truth, v.DType)
	}
	for mask := range 1 << min(len(truth), 6) {
		given := make([]dtype.Type, len(truth))
		for i, v := range truth {
			if given[i] = dtype.Unknown; mask>>i&1 == 1 {
				given[i] = v
			}
		}
		got := append([]dtype.Type{}, given...)
		for range 3 {
			if err := o.InferType(params, got[:len(in)], got[len(in):]); err != nil {
				t.Errorf("inference from types %v fails: %v", given, err)
				return
			}
		}
		for i := range got {
			if got[i] != truth[i] && (got[i] != dtype.Unknown || given[i] != dtype.Unknown) {
				if mask == 0 { // without any type, an operator may have a default
					continue
				}
				t.Errorf("inference from types %v: operand %d got %v, want %v", given, i, got[i],
					truth[i])
				return
			}
		}
	}
}
