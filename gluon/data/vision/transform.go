package vision

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"unsafe"

	"gomx/dtype"
	"gomx/gluon/data"
	"gomx/io/image"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/loop"
)

// Transform makes a new tensor of a tensor, mostly of a picture. It does not change the tensor that
// it gets, but the result may share its memory. Several goroutines call it at once. Random changes
// depend only on r.
type Transform interface {
	Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error)
}

// First returns a function for Dataset.Map that applies transforms, one after the other, to the
// first part of samples.
//
// MXNet: Dataset.transform_first.
func First(list ...Transform) func(data.Sample, *rand.Rand) (data.Sample, error) {
	return data.First(Compose(list).Apply)
}

// Compose applies transforms one after the other.
type Compose []Transform

// HybridCompose is Compose: transforms are compiled code already.
type HybridCompose = Compose

// Apply implements Transform.
func (c Compose) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	for _, one := range c {
		var err error
		if t, err = one.Apply(t, r); err != nil {
			return t, err
		}
	}
	return t, nil
}

// RandomApply applies a transform with probability P.
type RandomApply struct {
	Transform Transform
	P         float64 // 0: 0.5
}

// HybridRandomApply is RandomApply.
type HybridRandomApply = RandomApply

// Apply implements Transform.
func (a RandomApply) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	if r.Float64() >= half(a.P) {
		return t, nil
	}
	return a.Transform.Apply(t, r)
}

// half returns a probability, or one half in place of 0.
func half(p float64) float64 {
	if p == 0 {
		return 0.5
	}
	return p
}

// Cast converts the elements to a type.
type Cast struct{ DType dtype.Type } // zero: float32

// Apply implements Transform.
func (c Cast) Apply(t data.Tensor, _ *rand.Rand) (data.Tensor, error) {
	switch {
	case t.DType == c.DType:
		return t, nil
	case t.DType == dtype.Uint8 && c.DType == dtype.Float32:
		out := make([]float32, len(t.Bytes))
		for i, v := range t.Bytes {
			out[i] = float32(v)
		}
		return data.Values(out, t.Shape...), nil
	case !c.DType.Valid() || !t.DType.Valid():
		return t, fmt.Errorf("vision: Cast of %v to %v, want element types", t.DType, c.DType)
	}
	out := data.Tensor{DType: c.DType, Shape: t.Shape, Bytes: room(t.Shape.Size() * c.DType.Size())}
	loop.Store(tensorOf(out), 0, loop.Floats(tensorOf(t)))
	return out, nil
}

// room returns n bytes that are aligned for every element type.
func room(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// tensorOf views a tensor as a tensor of package op, or a copy of it if its address does not suit
// the elements.
func tensorOf(t data.Tensor) op.Tensor {
	b := t.Bytes
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(t.DType.Size()) != 0 {
		b = room(len(b))
		copy(b, t.Bytes)
	}
	return op.Tensor{Desc: op.Plain(t.DType, t.Shape), Data: unsafe.Pointer(unsafe.SliceData(b))}
}

// eachPicture makes a tensor of the results of f for the picture of t, or for all pictures of a
// batch. The pictures share memory with t: f does not change them.
func eachPicture(name string, t data.Tensor,
	f func(m image.Picture) (image.Picture, error)) (data.Tensor, error) {
	s := t.Shape
	if len(s) == 4 {
		return eachOfBatch(t, func(one data.Tensor) (data.Tensor, error) {
			return eachPicture(name, one, f)
		})
	}
	if len(s) != 3 || s.Size() == 0 {
		return t, fmt.Errorf("vision: %s: a tensor of shape %v, want a picture of shape (height, "+
			"width, channels)", name, s)
	}
	var m image.Picture
	switch t.DType {
	case dtype.Uint8:
		m = &image.Image{Pix: t.Bytes, Height: s[0], Width: s[1], Channels: s[2]}
	case dtype.Float32:
		v, err := data.Elements[float32](t)
		if err != nil {
			return t, err
		}
		m = &image.Floats{Pix: v, Height: s[0], Width: s[1], Channels: s[2]}
	default:
		return t, fmt.Errorf("vision: %s: a picture of %v, want uint8 or float32", name, t.DType)
	}
	m, err := f(m)
	if err != nil {
		return t, fmt.Errorf("vision: %s: %w", name, err)
	}
	return pictureTensor(m), nil
}

// pictureTensor returns a tensor that shares memory with a picture.
func pictureTensor(m image.Picture) data.Tensor {
	h, w, c := m.Bounds()
	if bytes, ok := m.(*image.Image); ok {
		return data.Values(bytes.Pix, h, w, c)
	}
	return data.Values(m.Float().Pix, h, w, c)
}

// eachOfBatch stacks the results of f for the parts along the first axis.
func eachOfBatch(t data.Tensor, f func(one data.Tensor) (data.Tensor, error)) (data.Tensor, error) {
	n := t.Shape[0]
	if n == 0 {
		return t, fmt.Errorf("vision: a batch of shape %v, want at least one picture", t.Shape)
	}
	var out data.Tensor
	per := len(t.Bytes) / n
	for i := range n {
		one, err := f(data.Tensor{DType: t.DType, Shape: t.Shape[1:],
			Bytes: t.Bytes[i*per : (i+1)*per]})
		if err != nil {
			return t, err
		}
		if i == 0 {
			out = data.Tensor{DType: one.DType, Shape: append(nd.Shape{n}, one.Shape...),
				Bytes: room(n * len(one.Bytes))}
		}
		if !slices.Equal(one.Shape, out.Shape[1:]) {
			return t, fmt.Errorf("vision: picture %d of a batch becomes %v, the first %v", i,
				one.Shape, out.Shape[1:])
		}
		copy(out.Bytes[i*len(one.Bytes):], one.Bytes)
	}
	return out, nil
}
