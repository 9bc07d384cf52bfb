//go:build cuda

package attach

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
)

// Any is an operand as kernels see it that learn its element type at run time. Its memory is nil
// where nobody wants the operand.
type Any struct {
	Data unsafe.Pointer
	Type int
}

// AnyOf describes an operand.
func AnyOf(t op.Tensor) Any { return Any{t.Data, cuda.Code(t.DType)} }

// At describes the operand from a number of bytes on.
func (a Any) At(bytes int) Any {
	a.Data = unsafe.Add(a.Data, bytes)
	return a
}

// AnyFunc returns a kernel of a family that serves all element types.
func AnyFunc(family, name string) *cuda.Function { return cuda.Func(family, name, dtype.Unknown) }

// CUDAEach prepares a kernel that treats n things one by one. fixed is its parameter, but for the
// operands, which fill sets at every run.
func CUDAEach[A any](f *cuda.Function, n int, fixed A, fill func(k A, c *op.Call) A) (*op.Prepared,
	error) {
	return OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		k := fill(fixed, c)
		return cuda.LaunchWith(q, f, q.Each(n), &k)
	})
}

// CUDABlocks prepares a kernel that gives each of lanes lanes of n elements a block of threads.
func CUDABlocks[A any](f *cuda.Function, lanes, n int, fixed A,
	fill func(k A, c *op.Call) A) (*op.Prepared, error) {
	grid := LaneGrid(lanes, n)
	return OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		k := fill(fixed, c)
		return cuda.LaunchWith(q, f, grid, &k)
	})
}

// B2I is a condition as a kernel reads it.
func B2I(b bool) int {
	if b {
		return 1
	}
	return 0
}

// CUDAScratch hands out parts of scratch memory, each at an address that any element may have. A
// nil base only counts.
type CUDAScratch struct {
	Base unsafe.Pointer
	Used int
}

// Take returns the next n bytes.
func (s *CUDAScratch) Take(n int) unsafe.Pointer {
	at := s.Used
	s.Used += (n + 255) &^ 255
	if s.Base == nil {
		return nil
	}
	return unsafe.Add(s.Base, at)
}
