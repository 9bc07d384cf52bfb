package ndarray_test

import (
	"errors"
	"slices"
	"testing"

	"gomx/engine"
	nd "gomx/ndarray"
)

// Build lets a function write an array of the processor in place, and others by a copy; pending
// operations end before, and poisoned values are replaced.
func TestBuild(t *testing.T) {
	fill := func(b []byte) error {
		for i := range b {
			b[i] = 0
		}
		b[3] = 0x40 // 2.0 in the first element
		return nil
	}
	poisoned := nd.Empty(nd.Shape{2})
	poisoned.Engine().Push(&engine.Task{Name: "poison", Uses: []engine.Use{{Var: poisoned.Var(),
		Access: engine.Overwrite}}, Fn: func(*engine.Run) error { return errors.New("poison") }})
	sparse := nd.ZerosOf(nd.RowSparse, nd.Shape{2, 1})
	for name, a := range map[string]*nd.Array{"dense": nd.Full(7, nd.Shape{2}), "poisoned": poisoned,
		"row_sparse": sparse} {
		if err := nd.Build(a, fill); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v, err := a.Float32s()
		if err != nil || !slices.Equal(v, []float32{2, 0}) {
			t.Errorf("%s: values %v, %v, want 2 and 0", name, v, err)
		}
	}
	failed := errors.New("failed")
	if err := nd.Build(nd.Zeros(nd.Shape{1}), func([]byte) error { return failed }); err != failed {
		t.Errorf("error %v, want the function's", err)
	}
}
