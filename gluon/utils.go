package gluon

import (
	"fmt"

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
