package quantize

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPercentileAgainstSorting compares with the sorted magnitudes, for numbers that come in
// batches of growing magnitude.
func TestPercentileAgainstSorting(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s, all := &stats{counted: true}, []float64{}
		for batch := range 4 {
			x := make([]float32, 500)
			for i := range x {
				x[i] = float32(rng.NormFloat64() * float64(1+batch))
				all = append(all, math.Abs(float64(x[i])))
			}
			s.add(x)
		}
		slices.Sort(all)
		n := 0.0
		for _, v := range s.hist {
			n += v
		}
		if int(n) != len(all) {
			t.Errorf("seed %d: %v numbers in the histogram, want %d", seed, n, len(all))
		}
		width := 2 * s.limit / float64(len(s.hist))
		for _, p := range []float64{50, 90, 99, 100} {
			want := all[int(math.Ceil(p/100*float64(len(all))))-1]
			if got := s.percentile(p); math.Abs(got-want) > 1.01*width {
				t.Errorf("seed %d: percentile %v is %v, want %v to within %v", seed, p, got, want,
					width)
			}
		}
	}
}

// TestRanges settles the ranges of simple numbers.
func TestRanges(t *testing.T) {
	outlier := make([]float32, 10001)
	for i := range outlier {
		outlier[i] = float32(i%100) / 100
	}
	outlier[0] = 50
	for _, c := range []struct {
		name      string
		x         []float32
		mode      Mode
		positive  bool
		low, high float64
		slack     float64
	}{
		{"naive", []float32{-2, 1, 3}, Naive, false, -2, 3, 0},
		{"naive above zero", []float32{1, 3}, Naive, false, 0, 3, 0},
		{"naive rectified", []float32{0, 3}, Naive, true, 0, 3, 0},
		{"nothing but zeros", []float32{0, 0}, Entropy, true, 0, 1, 0},
		{"no number", nil, Naive, true, 0, 1, 0},
		{"outlier naive", outlier, Naive, true, 0, 50, 0},
		{"outlier percentile", outlier, Percentile, true, 0, 0.99, 0.02},
	} {
		s := &site{positive: c.positive, stats: &stats{counted: c.mode != Naive}}
		s.stats.add(c.x)
		if s.stats.hist == nil && c.mode != Naive {
			s.stats.grow(1)
		}
		if err := s.settle(Config{Mode: c.mode, Percentile: 99.9}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if math.Abs(s.low-c.low) > c.slack || math.Abs(s.high-c.high) > c.slack {
			t.Errorf("%s: range %v to %v, want %v to %v", c.name, s.low, s.high, c.low, c.high)
		}
	}
}
