package ndarray

import (
	"fmt"
	"math"
)

// ClipGlobalNorm scales arrays in place so that the Euclidean norm of all their elements together
// is at most max, and returns the norm that it found. It waits for the values. Like MXNet's
// clip_global_norm it multiplies by max/(norm+1e-8) if this factor is below one. A norm that is not
// finite is an error, and the arrays stay as they are.
func ClipGlobalNorm(arrays []*Array, max float64) (norm float64, err error) {
	if len(arrays) == 0 {
		return 0, fmt.Errorf("ndarray: ClipGlobalNorm: no arrays")
	}
	if !(max > 0) {
		return 0, fmt.Errorf("ndarray: ClipGlobalNorm: max is %v, want a positive number", max)
	}
	squares := make([]*Array, len(arrays))
	for i, a := range arrays {
		squares[i] = a.Detach().Square().Sum() // push all before waiting for the first
	}
	total := 0.0
	for i, s := range squares {
		v, err := s.Float64s()
		s.Close()
		if err != nil {
			return 0, fmt.Errorf("ndarray: ClipGlobalNorm: array %d: %w", i, err)
		}
		total += v[0]
	}
	if norm = math.Sqrt(total); math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, fmt.Errorf("ndarray: ClipGlobalNorm: the norm is %v, want a finite number",
			norm)
	}
	if scale := max / (norm + 1e-8); scale < 1 {
		for _, a := range arrays {
			a.MulScalarInPlace(scale)
		}
	}
	return norm, nil
}
