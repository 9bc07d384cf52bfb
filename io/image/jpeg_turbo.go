//go:build cgo && !nojpeg

package image

// #cgo LDFLAGS: -lturbojpeg
// #include <turbojpeg.h>
import "C"

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"
)

// decoder is a decoder of the library with its tables and buffers.
type decoder struct{ handle C.tjhandle }

// decoders are those that no goroutine uses. The collector of garbage takes decoders that have not
// been used for a while.
var decoders decoderPool

type decoderPool struct{ pool sync.Pool }

func (p *decoderPool) take() (*decoder, error) {
	if d, ok := p.pool.Get().(*decoder); ok {
		return d, nil
	}
	d := &decoder{C.tjInitDecompress()}
	if d.handle == nil {
		return nil, errors.New(C.GoString(C.tjGetErrorStr2(nil)))
	}
	runtime.AddCleanup(d, func(h C.tjhandle) { C.tjDestroy(h) }, d.handle)
	return d, nil
}

// decodeJPEG decodes a JPEG with libjpeg-turbo, several times as fast as the standard library and
// to the same bits as MXNet. An error means that the library does not support the file: it is
// damaged or has printer colors.
func decodeJPEG(out *Image, data []byte) error {
	d, err := decoders.take()
	if err != nil {
		return err
	}
	h := d.handle
	format := map[int]C.int{1: C.TJPF_GRAY, 3: C.TJPF_RGB, 4: C.TJPF_RGBA}[out.Channels]
	if C.tjDecompress2(h, (*C.uchar)(unsafe.SliceData(data)), C.ulong(len(data)),
		(*C.uchar)(unsafe.SliceData(out.Pix)),
		C.int(out.Width), 0, C.int(out.Height), format, 0) != 0 {
		return errors.New(C.GoString(C.tjGetErrorStr2(h))) // the decoder is not used again
	}
	decoders.pool.Put(d)
	return nil
}
