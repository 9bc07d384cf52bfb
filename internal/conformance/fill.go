package conformance

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"gomx/dtype"
)

// stream is the sequence u_i of the fill formula: splitmix64 seeded by the name's hash.
type stream struct{ state uint64 }

func newStream(name string) *stream {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &stream{h.Sum64()}
}

func (s *stream) bits() uint64 {
	s.state += 0x9E3779B97F4A7C15
	x := s.state
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// next returns the next number in [-1, 1).
func (s *stream) next() float64 { return float64(s.bits()>>11)*0x1p-52 - 1 }

// Fill computes a parameter or an input of the golden models from its name.
func Fill(name string, shape dtype.Shape) *Array {
	value := fillRule(name, shape)
	a, s := NewArray(dtype.Float32, shape.Clone()), newStream(name)
	for i := range Elements[float32](a) {
		Elements[float32](a)[i] = float32(value(s.next()))
	}
	return a
}

// fillRule returns the function from the stream to the values of a name.
func fillRule(name string, shape dtype.Shape) func(u float64) float64 {
	switch {
	case strings.HasSuffix(name, "weight") && len(shape) >= 2:
		hw := 1
		for _, d := range shape[2:] {
			hw *= d
		}
		s := math.Sqrt(6 / float64(shape[1]*hw+shape[0]*hw))
		return func(u float64) float64 { return s * u }
	case strings.HasSuffix(name, "gamma"):
		return func(u float64) float64 { return 1 + 0.1*u }
	case strings.HasSuffix(name, "moving_var"), strings.HasSuffix(name, "running_var"):
		return func(u float64) float64 { return 1 + 0.1*math.Abs(u) }
	case strings.HasSuffix(name, "data"):
		return func(u float64) float64 { return u }
	}
	return func(u float64) float64 { return 0.1 * u }
}

// FillInt computes integers 0..k-1, stored as float32.
func FillInt(name string, k int, shape dtype.Shape) *Array {
	a, s := NewArray(dtype.Float32, shape.Clone()), newStream(name)
	for i := range Elements[float32](a) {
		v := math.Floor((s.next() + 1) * 0.5 * float64(k))
		Elements[float32](a)[i] = float32(min(v, float64(k-1)))
	}
	return a
}

// FillInput computes an input as an index describes it: "param" (the formula by its name), "int:k",
// "unit" or "unit:<other name>".
func FillInput(spell, name string, shape dtype.Shape) (*Array, error) {
	kind, arg, _ := strings.Cut(spell, ":")
	switch kind {
	case "param", "unit":
		if arg != "" {
			name = arg
		}
		return Fill(name, shape), nil
	case "int":
		k, err := strconv.Atoi(arg)
		if err == nil && k > 0 {
			return FillInt(name, k, shape), nil
		}
	}
	return nil, fmt.Errorf("unknown fill %q of %s, want param, int:k or unit:name", spell, name)
}
