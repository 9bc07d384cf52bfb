//go:build cuda

package attach

import (
	"fmt"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
)

// manyCasts is how many arrays a launch of fill.cu converts: the parameter of a kernel has at most
// 4096 bytes. castSpan is the number of elements of a part.
const manyCasts, castSpan = 120, 4096

// castsArgs is the parameter of the kernels in fill.cu that convert many arrays.
type castsArgs struct {
	count, parts int
	first        [manyCasts + 1]int
	one          [manyCasts]oneCast
}

// oneCast is an array of castsArgs.
type oneCast struct {
	out, in unsafe.Pointer
	n       int
}

// CUDACasts prepares conversions of all inputs, which have one element type, to the type of the
// outputs at their places: float32 to a type of 16 bits, or back. A launch converts up to manyCasts
// arrays.
func CUDACasts(a *op.Args) (*op.Prepared, error) {
	from, to := a.In[0].DType, a.Out[0].DType
	for i := range a.In {
		if a.In[i].DType != from {
			return nil, op.ErrUnsupported
		}
	}
	if !narrowFloat(from) || !narrowFloat(to) || (from == dtype.Float32) == (to == dtype.Float32) {
		return nil, op.ErrUnsupported
	}
	f := cuda.Func("fill", fmt.Sprintf("casts_%d_%d", cuda.Code(from), cuda.Code(to)),
		dtype.Unknown)
	var list []castsArgs
	for i := 0; i < len(a.Out); i += manyCasts {
		list = append(list, castsOf(a.Out[i:min(i+manyCasts, len(a.Out))]))
	}
	return OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		for k := range list {
			args := list[k]
			for i := range args.count {
				one := &args.one[i]
				one.out, one.in = c.Out[k*manyCasts+i].Data, c.In[k*manyCasts+i].Data
				if one.out == nil { // nothing reads it
					one.n = 0
				}
			}
			if err := cuda.LaunchWith(q, f, cuda.Grid{X: min(args.parts, 1<<16), Y: 1,
				Threads: 256}, &args); err != nil {
				return err
			}
		}
		return nil
	})
}

// castsOf describes a launch but for the addresses.
func castsOf(out []op.Desc) (k castsArgs) {
	k.count = len(out)
	for i, d := range out {
		k.one[i].n, k.first[i] = d.Shape.Size(), k.parts
		k.parts += (k.one[i].n + castSpan - 1) / castSpan
	}
	k.first[k.count] = k.parts
	return k
}
