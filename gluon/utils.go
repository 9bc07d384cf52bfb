package gluon

import (
	"context"
	"fmt"
	"math"

	"gomx/device"
	nd "gomx/ndarray"
	"gomx/op"
)

// SplitAndLoad cuts a batch along an axis into one part for each device, and copies the parts
// there. Where the extent is not a multiple of the number of devices, the first parts have one
// element more if uneven is true; otherwise that is an error.
//
// MXNet: gluon.utils.split_and_load.
func SplitAndLoad(x *nd.Array, devices []device.Device, axis int, uneven bool) (parts []*nd.Array,
	err error) {
	defer op.Recover(&err)
	shape, n := x.Shape(), len(devices)
	switch {
	case n == 0:
		return nil, fmt.Errorf("gluon: SplitAndLoad: no device")
	case axis < 0 || axis >= len(shape):
		return nil, fmt.Errorf("gluon: SplitAndLoad: axis %d of an array of shape %v", axis, shape)
	case shape[axis] < n:
		return nil, fmt.Errorf("gluon: SplitAndLoad: %d elements along axis %d for %d devices",
			shape[axis], axis, n)
	case shape[axis]%n != 0 && !uneven:
		return nil, fmt.Errorf("gluon: SplitAndLoad: shape %v cannot be cut into %d equal parts "+
			"along axis %d: choose another batch size, or allow uneven parts", shape, n, axis)
	}
	size, more, at := shape[axis]/n, shape[axis]%n, 0
	for i, dev := range devices {
		end := at + size
		if i < more {
			end++
		}
		parts = append(parts, x.SliceAxis(axis, at, end).To(dev))
		at = end
	}
	return parts, nil
}

// ClipGlobalNorm multiplies arrays by one factor so that the Euclidean norm of all of them together
// is at most limit. It returns the norm before; it waits for the arrays. A norm that is not finite
// is an error, and the arrays stay as they are.
//
// MXNet: gluon.utils.clip_global_norm.
func ClipGlobalNorm(ctx context.Context, arrays []*nd.Array, limit float64) (norm float64, err error) {
	defer op.Recover(&err)
	if len(arrays) == 0 {
		return 0, nil
	}
	sums := make([]*nd.Array, len(arrays))
	for i, a := range arrays {
		sums[i] = nd.Sum(a.Square(), nd.ReduceParams{})
	}
	sum := 0.0
	for _, s := range sums {
		var v [1]float32
		if err := s.CopyTo(ctx, v[:]); err != nil {
			return 0, err
		}
		sum += float64(v[0])
	}
	norm = math.Sqrt(sum)
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, fmt.Errorf("gluon: ClipGlobalNorm: the norm is %v", norm)
	}
	if factor := limit / (norm + 1e-8); factor < 1 {
		for _, a := range arrays {
			a.MulScalarInPlace(factor)
		}
	}
	return norm, nil
}
