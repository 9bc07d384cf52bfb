package ndarray_test

import (
	"math"
	"strings"
	"testing"

	nd "gomx/ndarray"
)

// ramp returns 0, 1, … n-1.
func ramp(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(i)
	}
	return s
}

// The wanted texts are NumPy's.
func TestString(t *testing.T) {
	inf := float32(math.Inf(1))
	wide := nd.FromSlice(ramp(3000), 30, 100)
	for _, c := range []struct {
		name string
		a    *nd.Array
		want string
	}{
		{"fractions", nd.FromSlice([]float32{1.5, 2.25, -3}), "[ 1.5   2.25 -3.  ]"},
		{"small", nd.FromSlice([]float32{0.1, 1e-5, 1}), "[1.e-01 1.e-05 1.e+00]"},
		{"large", nd.FromSlice([]float32{1e10, 1}), "[1.e+10 1.e+00]"},
		{"special", nd.FromSlice([]float32{float32(math.NaN()), 1, inf, -inf}),
			"[ nan   1.  inf -inf]"},
		{"three axes", nd.FromSlice(ramp(12), 2, 3, 2),
			"[[[ 0.  1.]\n  [ 2.  3.]\n  [ 4.  5.]]\n\n [[ 6.  7.]\n  [ 8.  9.]\n  [10. 11.]]]"},
		{"in part", wide, "[[0.000e+00 1.000e+00 2.000e+00 ... 9.700e+01 9.800e+01 9.900e+01]\n" +
			" [1.000e+02 1.010e+02 1.020e+02 ... 1.970e+02 1.980e+02 1.990e+02]\n" +
			" [2.000e+02 2.010e+02 2.020e+02 ... 2.970e+02 2.980e+02 2.990e+02]\n ...\n" +
			" [2.700e+03 2.701e+03 2.702e+03 ... 2.797e+03 2.798e+03 2.799e+03]\n" +
			" [2.800e+03 2.801e+03 2.802e+03 ... 2.897e+03 2.898e+03 2.899e+03]\n" +
			" [2.900e+03 2.901e+03 2.902e+03 ... 2.997e+03 2.998e+03 2.999e+03]]"},
		{"integers", nd.FromSlice([]int32{1, -2, 300, 4}, 2, 2), "[[  1  -2]\n [300   4]]"},
		{"third", nd.FromSlice([]float32{0.1, 0.2, 1. / 3}), "[0.1        0.2        0.33333334]"},
		{"third in float64", nd.FromSlice([]float64{0.1, 0.2, 1. / 3}),
			"[0.1        0.2        0.33333333]"},
		{"exponents", nd.FromSlice([]float32{1000.5, 0.001}), "[1.0005e+03 1.0000e-03]"},
		{"empty", nd.FromSlice([]float32{}, 0, 3), "[]"},
		{"lines", nd.FromSlice(ramp(30)),
			"[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n 18. 19. " +
				"20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]"},
		{"booleans", nd.FromSlice([]bool{true, false}), "[ True False]"},
		{"long", nd.FromSlice([]float32{123456.789, 0.5}), "[1.2345679e+05 5.0000000e-01]"},
		{"hundredth", nd.FromSlice([]float32{0.01, 0.0123456789}), "[0.01       0.01234568]"},
		{"scalar", nd.FromSlice([]float64{3.5}).Reshape(), "3.5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, _ := strings.Cut(c.a.String(), "\n<Array")
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestStringNamesShapeTypeAndDevice(t *testing.T) {
	for _, c := range []struct {
		a    *nd.Array
		want string
	}{
		{nd.FromSlice(ramp(6), 2, 3), "<Array 2x3 cpu(0)>"},
		{nd.FromSlice([]int64{1}), "<Array 1 int64 cpu(0)>"},
		{nd.FromSlice([]float64{1}).Reshape(), "<Array scalar float64 cpu(0)>"},
	} {
		if got := c.a.String(); !strings.HasSuffix(got, "\n"+c.want) {
			t.Errorf("got %q, want it to end with %q", got, c.want)
		}
	}
}
