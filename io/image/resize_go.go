//go:build !cgo

package image

// linear is interpolate for two taps.
func (m *Image) linear(out *Image, ax, ay *axis) { m.weigh(out, ax, ay) }
