package optest

import (
	"fmt"
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// Tolerance bounds the difference of values: |got - want| <= Abs + Rel·|want|.
type Tolerance struct{ Abs, Rel float64 }

// TypeTolerance returns the default tolerance of an element type; integers are exact.
func TypeTolerance(t dtype.Type) Tolerance {
	switch t {
	case dtype.Float64:
		return Tolerance{1e-10, 1e-8}
	case dtype.Float32:
		return Tolerance{1e-5, 1e-4}
	case dtype.Float16:
		return Tolerance{1e-2, 1e-2}
	case dtype.BFloat16:
		return Tolerance{5e-2, 5e-2}
	}
	return Tolerance{}
}

// Diff returns "" if got equals want in type, shape and, within tol, values; otherwise it describes
// the first difference. NaNs are equal, and infinities of the same sign. The zero tol means the
// default of the type.
func Diff(got, want op.Tensor, tol Tolerance) string {
	if got.DType != want.DType || !got.Shape.Equal(want.Shape) {
		return fmt.Sprintf("got %v %v, want %v %v", got.DType, got.Shape, want.DType, want.Shape)
	}
	if tol == (Tolerance{}) {
		tol = TypeTolerance(want.DType)
	}
	if loop.Exact(want.DType) && tol == (Tolerance{}) {
		g, w := loop.Ints(got), loop.Ints(want)
		for i := range w {
			if g[i] != w[i] {
				return fmt.Sprintf("element %d: got %v, want %v", i, g[i], w[i])
			}
		}
		return ""
	}
	g, w := loop.Floats(got), loop.Floats(want)
	for i := range w {
		if !near(g[i], w[i], tol) {
			return fmt.Sprintf("element %d: got %v, want %v (all: got %.6v, want %.6v)", i, g[i],
				w[i], head(g), head(w))
		}
	}
	return ""
}

func near(g, w float64, tol Tolerance) bool {
	if math.IsNaN(w) || math.IsInf(w, 0) {
		return math.IsNaN(g) && math.IsNaN(w) || g == w
	}
	return math.Abs(g-w) <= tol.Abs+tol.Rel*math.Abs(w)
}

func head(s []float64) []float64 { return s[:min(len(s), 24)] }
