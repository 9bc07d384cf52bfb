package compile_test

import (
	"slices"
	"testing"
	"unsafe"

	"gomx/op"
	"gomx/op/prim"
)

// TestCopiesMoveBytes runs the copies of a program on two memories of the processor.
func TestCopiesMoveBytes(t *testing.T) {
	e := twoDevices(t)
	p := e.compile(t)
	found := 0
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Node.Op != prim.CrossDeviceCopy.Op {
			continue
		}
		found++
		n := s.Call.In[0].Bytes / 4
		from, to := make([]float32, n), make([]float32, n+1)
		for j := range from {
			from[j] = float32(j + 1)
		}
		c := op.Call{In: slices.Clone(s.Call.In), Out: slices.Clone(s.Call.Out)}
		c.In[0].Data, c.Out[0].Data = unsafe.Pointer(&from[0]), unsafe.Pointer(&to[0])
		if err := s.Kernel.Run(&c); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(to[:n], from) || to[n] != 0 || s.Kernel.Threads != 1 {
			t.Errorf("%s: got %v by %d threads, want %v by 1", s.Node.Name, to, s.Kernel.Threads,
				from)
		}
	}
	if found == 0 {
		t.Error("the program copies nothing between its devices")
	}
}
