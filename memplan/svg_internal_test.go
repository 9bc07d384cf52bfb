package memplan

import (
	"slices"
	"testing"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   []float64
	}{
		{0, 0, 4, []float64{0}},
		{3, 7, 4, []float64{3, 4, 5, 6, 7}},
		{3, 7, 2, []float64{4, 6}},
		{3, 24, 2, []float64{20}},
		{0, 50, 2, []float64{0, 50}},
		// The step is lost in rounding: the ticks end at 2n+1.
		{1 << 60, 1 << 60, 1, []float64{1 << 60, 1 << 60, 1 << 60}},
	} {
		if got := ticks(c.lo, c.hi, c.n, decimalStep); !slices.Equal(got, c.want) {
			t.Errorf("%d ticks from %v to %v: got %v, want %v", c.n, c.lo, c.hi, got, c.want)
		}
	}
}

func TestRoundSteps(t *testing.T) {
	for v, want := range map[float64][2]float64{0: {1, 1}, 1: {1, 1}, 1.5: {2, 2}, 2: {2, 2},
		2.5: {5, 4}, 5: {5, 8}, 6: {10, 8}, 10: {10, 16}, 11: {20, 16}, 51: {100, 64}} {
		if got := [2]float64{decimalStep(v), binaryStep(v)}; got != want {
			t.Errorf("%v: got %v, want %v", v, got, want)
		}
	}
}
