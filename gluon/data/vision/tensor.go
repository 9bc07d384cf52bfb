package vision

import (
	"fmt"
	"math/rand/v2"

	"gomx/dtype"
	"gomx/gluon/data"
	"gomx/io/image"
)

// ToTensor makes of a picture (height, width, channels) with values from 0 to 255 a tensor of
// float32 (channels, height, width) with values from 0 to 1.
type ToTensor struct{}

// parts has i/255 for all bytes i.
var parts = func() (list [256]float32) {
	for i := range list {
		list[i] = float32(i) / 255
	}
	return list
}()

// Apply implements Transform.
func (ToTensor) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	s := t.Shape
	switch {
	case len(s) == 4:
		return eachOfBatch(t, func(one data.Tensor) (data.Tensor, error) {
			return ToTensor{}.Apply(one, r)
		})
	case len(s) != 3:
		return t, fmt.Errorf("vision: ToTensor: a tensor of shape %v, want a picture of shape "+
			"(height, width, channels)", s)
	}
	plane, c := s[0]*s[1], s[2]
	out := make([]float32, plane*c)
	if t.DType == dtype.Uint8 {
		for k := range c {
			dst := out[k*plane : (k+1)*plane]
			for i, at := 0, k; i < plane; i, at = i+1, at+c {
				dst[i] = parts[t.Bytes[at]]
			}
		}
		return data.Values(out, c, s[0], s[1]), nil
	}
	t, err := Cast{dtype.Float32}.Apply(t, r)
	if err != nil {
		return t, err
	}
	v, err := data.Elements[float32](t)
	if err != nil {
		return t, err
	}
	for k := range c {
		for i := range plane {
			out[k*plane+i] = v[i*c+k] / 255
		}
	}
	return data.Values(out, c, s[0], s[1]), nil
}

// Normalize computes (v - Mean) / Std of tensors of float32 of shape (channels, height, width).
type Normalize struct {
	Mean []float64 // for each channel, or one number for all; nil: 0
	Std  []float64 // likewise; nil: 1
}

// Apply implements Transform.
func (n Normalize) Apply(t data.Tensor, _ *rand.Rand) (data.Tensor, error) {
	v, channels, plane, err := planesOf("Normalize", t)
	if err != nil {
		return t, err
	}
	for _, list := range [][]float64{n.Mean, n.Std} {
		if len(list) > 1 && len(list) != channels {
			return t, fmt.Errorf("vision: Normalize: %d numbers for a tensor of shape %v, want "+
				"one for each channel, or one for all", len(list), t.Shape)
		}
	}
	out := make([]float32, len(v))
	for i := 0; i < len(v); i += plane {
		mean, std := at(n.Mean, i/plane%channels, 0), at(n.Std, i/plane%channels, 1)
		dst := out[i : i+plane]
		for j, x := range v[i : i+plane] {
			dst[j] = (x - mean) / std
		}
	}
	return data.Values(out, t.Shape...), nil
}

// at returns the number for a channel.
func at(list []float64, channel int, none float32) float32 {
	switch len(list) {
	case 0:
		return none
	case 1:
		return float32(list[0])
	}
	return float32(list[channel])
}

// planesOf returns the elements of a tensor of float32 of shape (channels, height, width), or with
// an axis of pictures before, and the number of elements in a plane.
func planesOf(name string, t data.Tensor) (v []float32, channels, plane int, err error) {
	s := t.Shape
	if n := len(s); n != 3 && n != 4 || t.DType != dtype.Float32 || s.Size() == 0 {
		return nil, 0, 0, fmt.Errorf("vision: %s: a tensor of %v and shape %v, want float32 and "+
			"(channels, height, width), as ToTensor makes it", name, t.DType, s)
	}
	v, err = data.Elements[float32](t)
	n := len(s)
	return v, s[n-3], s[n-2] * s[n-1], err
}

// Rotate turns tensors of float32 of shape (channels, height, width) around their center,
// counterclockwise. Pixels outside are 0.
type Rotate struct {
	Degrees float64
	Zoom    image.Zoom
}

// Apply implements Transform.
func (a Rotate) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	v, channels, _, err := planesOf("Rotate", t)
	if err != nil {
		return t, err
	}
	if len(t.Shape) == 4 {
		return eachOfBatch(t, func(one data.Tensor) (data.Tensor, error) { return a.Apply(one, r) })
	}
	out := image.RotatePlanes(v, channels, t.Shape[1], t.Shape[2], a.Degrees, a.Zoom)
	return data.Values(out, t.Shape...), nil
}

// RandomRotation is Rotate by a random angle. The pictures of a batch get different angles.
type RandomRotation struct {
	Low, High float64 // degrees
	Zoom      image.Zoom
	P         float64 // probability of a rotation; 0: 1
}

// Apply implements Transform.
func (a RandomRotation) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	if !(a.Low < a.High) || !(a.P >= 0 && a.P <= 1) {
		return t, fmt.Errorf("vision: RandomRotation: from %v to %v degrees with probability %v, "+
			"want ascending and 0 to 1", a.Low, a.High, a.P)
	}
	if a.P != 0 && r.Float64() > a.P {
		return t, nil
	}
	turn := func(one data.Tensor) (data.Tensor, error) {
		return Rotate{a.Low + r.Float64()*(a.High-a.Low), a.Zoom}.Apply(one, r)
	}
	if len(t.Shape) == 4 {
		return eachOfBatch(t, turn)
	}
	return turn(t)
}
