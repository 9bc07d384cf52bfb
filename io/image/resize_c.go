//go:build cgo

package image

// #cgo CFLAGS: -O3 -std=gnu11 -Wall
// #include "resize.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// linear is interpolate for two taps.
func (m *Image) linear(out *Image, ax, ay *axis) {
	var pin runtime.Pinner
	defer pin.Unpin()
	rows := make([]int16, 2*(out.Width*m.Channels+1))
	C.gomx_linear((*C.uint8_t)(unsafe.SliceData(out.Pix)), (*C.uint8_t)(unsafe.SliceData(m.Pix)),
		C.int(m.Width), C.int(m.Height), C.int(m.Channels), axisOf(ax, &pin), axisOf(ay, &pin),
		(*C.int16_t)(unsafe.SliceData(rows)))
}

// axisOf returns an axis in memory that does not move.
func axisOf(a *axis, pin *runtime.Pinner) C.struct_gomx_axis {
	pin.Pin(unsafe.SliceData(a.first))
	pin.Pin(unsafe.SliceData(a.weight))
	return C.struct_gomx_axis{first: (*C.int32_t)(unsafe.SliceData(a.first)),
		weight: (*C.int32_t)(unsafe.SliceData(a.weight)), n: C.int(len(a.first))}
}
