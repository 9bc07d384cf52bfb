package graph

import (
	"testing"

	"gomx/op"
	_ "gomx/op/index"
	_ "gomx/op/linalg"
	_ "gomx/op/tensor"
	_ "gomx/op/vision"
)

// TestWideOperatorsExist looks for names that no operator has: such a name would let nothing compute in float32.
func TestWideOperatorsExist(t *testing.T) {
	for name := range wideOps() {
		if o := op.Lookup(name); o == nil || o.Name != name {
			t.Errorf("no operator is registered as %s", name)
		}
	}
}
