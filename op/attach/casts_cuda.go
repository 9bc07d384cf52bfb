//go:build cuda

package attach

import (
	"fmt"
	"math"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
)

// manyCasts is how many arrays a launch of fill.cu converts: the parameter of a kernel has at most
// 4096 bytes. castSpan is the number of elements of a part.
const manyCasts, castSpan = 100, 4096

// castsArgs is the parameter of the kernels in fill.cu that convert many arrays.
type castsArgs struct {
	count, parts int
	first        [manyCasts + 1]int
	one          [manyCasts]oneCast
}

// oneCast is an array of castsArgs. With rows it is one of matrices of the input that are transposed.
type oneCast struct {
	out, in    unsafe.Pointer
	n          int
	rows, cols int32
}

// CUDACasts prepares conversions of all inputs, which have one element type, to the type of the
// outputs at their places: float32 to a type of 16 bits, or back. Inputs and outputs may have their
// channels last. A launch converts up to manyCasts arrays.
func CUDACasts(a *op.Args) (*op.Prepared, error) {
	from, to := a.In[0].DType, a.Out[0].DType
	for i := range a.In {
		if a.In[i].DType != from || a.In[i].Shape.Size() > math.MaxInt32-castSpan {
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
		end := min(i+manyCasts, len(a.Out))
		list = append(list, castsOf(a.In[i:end], a.Out[i:end]))
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
func castsOf(in, out []op.Desc) (k castsArgs) {
	k.count = len(out)
	for i, d := range out {
		one := &k.one[i]
		one.n, k.first[i] = d.Shape.Size(), k.parts
		if IsLast(in[i]) != IsLast(d) {
			rows, cols := turnedFrom(in[i])
			one.rows, one.cols = int32(rows), int32(cols)
		}
		k.parts += (one.n + castSpan - 1) / castSpan
	}
	k.first[k.count] = k.parts
	return k
}
