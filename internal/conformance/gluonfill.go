package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
)

// fillRef is an array that is computed: Fill is a text as README.md describes it, or the values.
type fillRef struct {
	Shape []int
	Fill  json.RawMessage
	Grad  bool // the gradient of the input is compared
}

// array computes the array.
func (r *fillRef) array() (*Array, error) {
	shape := append(dtype.Shape{}, r.Shape...)
	var text string
	if err := json.Unmarshal(r.Fill, &text); err == nil {
		return fillText(text, shape)
	}
	var nested any
	if err := json.Unmarshal(r.Fill, &nested); err != nil {
		return nil, fmt.Errorf("fill %s: %w", r.Fill, err)
	}
	a := NewArray(dtype.Float32, shape)
	list := Elements[float32](a)
	n, err := flatten(list, 0, nested)
	if err == nil && n != len(list) {
		err = fmt.Errorf("%d values, want %d", n, len(list))
	}
	return a, err
}

// upload computes the array and puts it on a device.
func (r *fillRef) upload(dev device.Device) (*nd.Array, error) {
	a, err := r.array()
	if err != nil {
		return nil, err
	}
	return a.upload(dev)
}

// flatten writes nested lists of numbers one after the other, from place n on.
func flatten(dst []float32, n int, v any) (int, error) {
	switch v := v.(type) {
	case float64:
		if n >= len(dst) {
			return 0, fmt.Errorf("more than %d values", len(dst))
		}
		dst[n] = float32(v)
		return n + 1, nil
	case []any:
		for _, x := range v {
			var err error
			if n, err = flatten(dst, n, x); err != nil {
				return 0, err
			}
		}
		return n, nil
	}
	return 0, fmt.Errorf("found %v among values, want a number", v)
}

// elementFills are the fills that compute each element from a number in [-1, 1).
var elementFills = map[string]func(u float64) float64{
	"unit": func(u float64) float64 { return u },
	"wide": func(u float64) float64 { return 3 * u },
	"pos":  func(u float64) float64 { return math.Abs(u) + 0.1 },
	"prob": func(u float64) float64 { return (u+1)*0.45 + 0.05 },
	"sign": func(u float64) float64 { return choose(u < 0, -1, 1) },
	"coin": func(u float64) float64 { return choose(u < 0, 0, 1) },
}

func choose(first bool, a, b float64) float64 {
	if first {
		return a
	}
	return b
}

// fillText computes an array from a fill's text: KIND:NAME or int:K:NAME.
func fillText(text string, shape dtype.Shape) (*Array, error) {
	kind, name, ok := strings.Cut(text, ":")
	if !ok {
		return nil, fmt.Errorf("fill %q, want KIND:NAME", text)
	}
	if kind == "int" {
		number, name, _ := strings.Cut(name, ":")
		k, err := strconv.Atoi(number)
		if err != nil || k <= 0 {
			return nil, fmt.Errorf("fill %q, want int:K:NAME", text)
		}
		return FillInt(name, k, shape), nil
	}
	s := newStream(name + ".data")
	a := NewArray(dtype.Float32, shape)
	list := Elements[float32](a)
	switch f := elementFills[kind]; {
	case f != nil:
		for i := range list {
			list[i] = float32(f(s.next()))
		}
	case kind == "dist" || kind == "logdist":
		fillDistributions(list, shape, s, kind == "logdist")
	default:
		return nil, fmt.Errorf("unknown fill %q", text)
	}
	return a, nil
}

// fillDistributions writes rows that sum to one, or their logarithms.
func fillDistributions(list []float32, shape dtype.Shape, s *stream, logs bool) {
	if len(list) == 0 {
		return
	}
	row := make([]float64, shape[len(shape)-1])
	for i := 0; i < len(list); i += len(row) {
		sum := 0.0
		for j := range row {
			row[j] = math.Abs(s.next()) + 0.1
			sum += row[j]
		}
		for j, v := range row {
			if v /= sum; logs {
				v = math.Log(v)
			}
			list[i+j] = float32(v)
		}
	}
}
