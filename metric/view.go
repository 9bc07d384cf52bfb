package metric

import (
	"context"
	"fmt"
	"unsafe"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// view is a copy of an array on the host, as float32.
type view struct {
	shape nd.Shape
	data  []float32
}

// reader copies arrays to the host, into buffers that it reuses.
type reader struct {
	labelView, predView view
	labelBuf, predBuf   []float32
}

func (r *reader) label(a *nd.Array) (*view, error) {
	return &r.labelView, fetch(a, &r.labelView, &r.labelBuf)
}
func (r *reader) pred(a *nd.Array) (*view, error) {
	return &r.predView, fetch(a, &r.predView, &r.predBuf)
}

func fetch(a *nd.Array, v *view, buf *[]float32) error {
	v.shape = a.Shape()
	if a.DType() != dtype.Float32 {
		data, err := a.Float32s()
		v.data = data
		return err
	}
	n := a.Size()
	if cap(*buf) < n {
		*buf = make([]float32, n)
	}
	v.data = (*buf)[:n]
	if n == 0 {
		return nil
	}
	return a.ReadBytes(context.Background(), unsafe.Slice((*byte)(unsafe.Pointer(&v.data[0])), 4*n))
}

// split returns the extents before, at and after an axis, which may count from the end.
func (v *view) split(axis int) (outer, size, inner int, err error) {
	if axis < 0 {
		axis += len(v.shape)
	}
	if axis < 0 || axis >= len(v.shape) {
		return 0, 0, 0, fmt.Errorf("prediction of shape %v has no axis %d", v.shape, axis)
	}
	outer, inner = 1, 1
	for i, d := range v.shape {
		switch {
		case i < axis:
			outer *= d
		case i > axis:
			inner *= d
		}
	}
	return outer, v.shape[axis], inner, nil
}

// rows views v as a matrix whose rows are the samples.
func (v *view) rows() (n, width int) {
	if len(v.shape) == 0 {
		return 1, 1
	}
	if v.shape[0] == 0 {
		return 0, 0
	}
	return v.shape[0], len(v.data) / v.shape[0]
}

// argmax returns the first index of the largest of size values that are stride apart.
func argmax(data []float32, size, stride int) int {
	best := 0
	for c := 1; c < size; c++ {
		if data[c*stride] > data[best*stride] {
			best = c
		}
	}
	return best
}

// sameCount returns an error unless label has want elements.
func sameCount(label, pred *view, want int) error {
	if len(label.data) != want {
		return fmt.Errorf("label of shape %v, prediction of shape %v: want %d labels", label.shape,
			pred.shape, want)
	}
	return nil
}
