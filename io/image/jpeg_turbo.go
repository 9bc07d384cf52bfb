//go:build cgo && !nojpeg

package image

// #cgo LDFLAGS: -lturbojpeg
// #include <turbojpeg.h>
import "C"

import (
	"errors"
	"unsafe"
)

// decodeJPEG decodes a JPEG with libjpeg-turbo, several times as fast as the standard library and
// to the same bits as MXNet. An error means that the library does not support the file: it is
// damaged or has printer colors.
func decodeJPEG(out *Image, data []byte) error {
	h := C.tjInitDecompress()
	if h == nil {
		return errors.New(C.GoString(C.tjGetErrorStr2(nil)))
	}
	defer C.tjDestroy(h)
	format := map[int]C.int{1: C.TJPF_GRAY, 3: C.TJPF_RGB, 4: C.TJPF_RGBA}[out.Channels]
	if C.tjDecompress2(h, (*C.uchar)(unsafe.SliceData(data)), C.ulong(len(data)),
		(*C.uchar)(unsafe.SliceData(out.Pix)),
		C.int(out.Width), 0, C.int(out.Height), format, 0) != 0 {
		return errors.New(C.GoString(C.tjGetErrorStr2(h)))
	}
	return nil
}
