package image

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Interp is a method of interpolation.
type Interp uint8

// The methods, each with its number in MXNet and OpenCV: see InterpOf.
const (
	Linear  Interp = iota // between 2×2 pixels; 1
	Nearest               // 0
	Cubic                 // between 4×4 pixels, a = -0.75; 2
	Area                  // the mean of the covered pixels in a smaller picture; 3
	Lanczos               // between 8×8 pixels; 4
	Auto                  // Cubic to enlarge, Area to shrink, Linear otherwise; 9
	Random                // one of the first five; 10
)

var interpNames = [...]string{Linear: "linear", Nearest: "nearest", Cubic: "cubic", Area: "area",
	Lanczos: "lanczos", Auto: "auto", Random: "random"}

// String returns the name of i.
func (i Interp) String() string {
	if int(i) >= len(interpNames) {
		return fmt.Sprintf("Interp(%d)", i)
	}
	return interpNames[i]
}

// InterpOf returns the method with a number of MXNet's inter_method.
func InterpOf(code int) (Interp, error) {
	for i, c := range [...]int{Linear: 1, Nearest: 0, Cubic: 2, Area: 3, Lanczos: 4, Auto: 9,
		Random: 10} {
		if c == code {
			return Interp(i), nil
		}
	}
	return 0, fmt.Errorf("image: interpolation method %d, want 0, 1, 2, 3, 4, 9 or 10", code)
}

// choose returns the method for a change of size from w×h to width×height. Random needs a
// generator.
func (i Interp) choose(w, h, width, height int, r *rand.Rand) Interp {
	switch {
	case i == Random && r != nil:
		return Interp(r.IntN(5))
	case i != Auto && i != Random:
		return i
	case width > w && height > h:
		return Cubic
	case width < w && height < h:
		return Area
	}
	return Linear
}

// taps returns the number of pixels on an axis that one sample is computed from.
func (i Interp) taps() int {
	switch i {
	case Cubic:
		return 4
	case Lanczos:
		return 8
	}
	return 2
}

// weights computes the weights of the taps for a sample at distance x, 0 ≤ x < 1, after its middle
// pixel.
func (i Interp) weights(dst []float32, x float32) {
	switch i {
	case Cubic:
		const a = -0.75
		dst[0] = ((a*(x+1)-5*a)*(x+1)+8*a)*(x+1) - 4*a
		dst[1] = ((a+2)*x-(a+3))*x*x + 1
		dst[2] = ((a+2)*(1-x)-(a+3))*(1-x)*(1-x) + 1
		dst[3] = 1 - dst[0] - dst[1] - dst[2]
	case Lanczos:
		lanczos(dst, float64(x))
	default:
		dst[0], dst[1] = 1-x, x
	}
}

// lanczos computes sinc(d)·sinc(d/4) for the eight distances d, and scales the sum to 1.
func lanczos(dst []float32, x float64) {
	sinc := func(d float64) float64 {
		if math.Abs(d) < 1e-7 {
			return 1
		}
		return math.Sin(math.Pi*d) / (math.Pi * d)
	}
	sum := float32(0)
	for k := range dst {
		d := x + 3 - float64(k)
		dst[k] = float32(sinc(d) * sinc(d/4))
		sum += dst[k]
	}
	for k := range dst {
		dst[k] /= sum
	}
}
