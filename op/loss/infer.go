package loss

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
)

// dataLabel lists the inputs of losses that compare data with a label.
func dataLabel[P any](P) []op.Input {
	return []op.Input{{Name: "data"}, {Name: "label", Role: op.Label}}
}

// same makes two shapes equal; arg is to blame when they contradict.
func same(arg string, a, b *dtype.Shape) error {
	if err := op.Require(arg, b, *a); err != nil {
		return err
	}
	*a = b.Clone()
	return nil
}

// floatType infers one element type, a floating-point one, for all operands.
func floatType[P any](p P, in, out []dtype.Type) error {
	if err := op.SameType(p, in, out); err != nil {
		return err
	}
	for _, t := range slices.Concat(in, out) {
		if t != dtype.Unknown && !t.IsFloat() {
			return op.Errorf("", "element type %v, want a floating-point type", t)
		}
	}
	return nil
}
