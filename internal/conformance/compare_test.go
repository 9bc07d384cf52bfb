package conformance

import (
	"math"
	"testing"
)

// TestInfinitiesAreCompared: no tolerance makes up for an infinity that is missing or has the other
// sign.
func TestInfinitiesAreCompared(t *testing.T) {
	inf, tol := math.Inf(1), Tolerance{1, 1}
	for _, c := range []struct {
		got, want float64
		holds     bool
	}{{inf, inf, true}, {-inf, inf, false}, {5, inf, false}, {5, -inf, false}, {inf, 5, false},
		{math.NaN(), inf, false}, {math.NaN(), math.NaN(), true}} {
		if got := tol.holds(c.got, c.want); got != c.holds {
			t.Errorf("%v for %v: %v, want %v", c.got, c.want, got, c.holds)
		}
	}
}
