package optimizer

import (
	nd "gomx/ndarray"
)

// Begin lets the updates up to End start together at End, as one operation on devices that can join
// them. Parameters of these updates must be different.
func (u *Updater) Begin() { u.joining = true }

// End starts the updates since Begin.
func (u *Updater) End() {
	u.joining = false
	u.bulk.Push()
}

// factor is the factor of gradients as arrays of one element, one for each element type, device and
// engine, for operators that read it on the device.
type factor struct {
	value  float64
	arrays []*nd.Array
}

// of returns the array for the device and the element type of a weight.
func (f *factor) of(value float64, w *nd.Array) *nd.Array {
	if value != f.value {
		for _, a := range f.arrays {
			a.Fill(value)
		}
		f.value = value
	}
	for _, a := range f.arrays {
		if a.Device() == w.Device() && a.DType() == w.DType() && a.Engine() == w.Engine() {
			return a
		}
	}
	a := nd.Full(value, nd.Shape{1}, nd.As(w.DType()), nd.On(w.Device()), nd.Using(w.Engine()))
	f.arrays = append(f.arrays, a)
	return a
}
