package conformance

import (
	"fmt"
	"math"

	"gomx/dtype"
)

// Tolerance bounds a difference: |got-want| <= Abs + Rel*|want|.
type Tolerance struct{ Abs, Rel float64 }

// holds reports whether got is close enough to want; equal infinities and two NaNs count as close.
func (t Tolerance) holds(got, want float64) bool {
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return true
	}
	if math.IsInf(want, 0) {
		return false
	}
	return math.Abs(got-want) <= t.Abs+t.Rel*math.Abs(want)
}

// String formats t as in the comparison.
func (t Tolerance) String() string {
	if t == (Tolerance{}) {
		return "exact"
	}
	return fmt.Sprintf("%.1g+%.1g*|want|", t.Abs, t.Rel)
}

// looseFamilies are the families whose sums are long or whose algorithms differ.
var looseFamilies = map[string]bool{"conv": true, "deconv": true, "mkldnn_only": true, "rnn": true,
	"linalg": true, "norm": true,
	"deformable": true, "linalg2": true, "norm2": true, "mkldnn_bnrelu": true}

// exactOps are the operators whose results are indices or copies.
var exactOps = map[string]bool{"argmax": true, "argmin": true, "argmax_channel": true,
	"argsort": true, "topk": true, "sort": true}

// opTolerance returns the tolerance of an operator's results of one element type.
func opTolerance(family, name string, t dtype.Type) Tolerance {
	switch {
	case !t.IsFloat():
		return Tolerance{}
	case t == dtype.Float16:
		return Tolerance{1e-2, 1e-2}
	case t == dtype.Float64:
		return Tolerance{1e-6, 1e-5} // MXNet computes parts of many operators in float32
	case exactOps[name]:
		return Tolerance{}
	case looseFamilies[family], name == "CTCLoss":
		return Tolerance{1e-4, 1e-3}
	}
	return Tolerance{1e-5, 1e-4}
}

// roundedTolerance returns the tolerance of rounded integers: a value on a border may be rounded up
// or down. ok is false for all other results.
func roundedTolerance(family, name string, t dtype.Type) (tol Tolerance, ok bool) {
	quantized := family == "quant" || family == "mkldnn_quant"
	switch {
	case name == "_image_resize" && t == dtype.Uint8:
		return Tolerance{Abs: 1}, true
	case !quantized:
		return Tolerance{}, false
	case t.IsFloat():
		return Tolerance{1e-6, 1e-4}, true
	case name == "_contrib_quantized_conv":
		return Tolerance{}, true
	case name == "_contrib_quantized_elemwise_add":
		return Tolerance{1, 1e-5}, true
	}
	return Tolerance{Abs: 1}, true
}

// compare returns an error that names the worst element of got that is too far from want.
func compare(what string, got, want *Array, tol Tolerance) error {
	if got.DType != want.DType {
		return fmt.Errorf("%s: dtype %v, want %v", what, got.DType, want.DType)
	}
	if !got.Shape.Equal(want.Shape) {
		return fmt.Errorf("%s: shape %v, want %v", what, got.Shape, want.Shape)
	}
	x, y := got.Float64s(), want.Float64s()
	bad, worst := 0, -1
	for i := range x {
		if tol.holds(x[i], y[i]) {
			continue
		}
		bad++
		if d := math.Abs(x[i] - y[i]); worst < 0 || math.IsNaN(d) ||
			d > math.Abs(x[worst]-y[worst]) {
			worst = i
		}
	}
	if bad == 0 {
		return nil
	}
	return fmt.Errorf("%s: element %v is %g, want %g (%d of %d differ, tolerance %v)",
		what, position(want.Shape, worst), x[worst], y[worst], bad, len(x), tol)
}

// near compares two numbers.
func near(what string, got, want float64, tol Tolerance) error {
	if tol.holds(got, want) {
		return nil
	}
	return fmt.Errorf("%s: %g, want %g (tolerance %v)", what, got, want, tol)
}

// position converts the number of an element to its indices.
func position(s dtype.Shape, i int) []int {
	at := make([]int, len(s))
	for k := len(s) - 1; k >= 0; k-- {
		at[k], i = i%s[k], i/s[k]
	}
	return at
}
