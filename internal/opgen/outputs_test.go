package main

import (
	"testing"

	"gomx/op"
)

// TestSeveralOutputs checks that the generated functions return all outputs of operators that
// always have several. Where their number depends on parameters, the functions return the first.
func TestSeveralOutputs(t *testing.T) {
	for _, o := range op.All() {
		if o.Hidden {
			continue
		}
		least := 2
		for _, p := range variants(o) {
			least = min(least, o.NumVisible(p))
		}
		if least > 1 && !o.Multi {
			t.Errorf("%s has several outputs, but its functions return one: set Multi", o.Name)
		}
	}
}
