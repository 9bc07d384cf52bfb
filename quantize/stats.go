package quantize

import (
	"math"
	"slices"

	nd "gomx/ndarray"
)

// The numbers of bins of histograms and of int8 and uint8 numbers, as in MXNet.
const (
	bins      = 8001
	int8Bins  = 255
	uint8Bins = 511
)

// stats collects numbers: their extremes, and a histogram that is symmetric about zero and grows
// with them.
type stats struct {
	low, high float64
	limit     float64 // the histogram goes from -limit to limit
	hist      []float64
	counted   bool // the histogram is wanted
	filled    bool // there were numbers
}

// add takes further numbers.
func (s *stats) add(x []float32) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		low, high = min(low, float64(v)), max(high, float64(v))
	}
	if !(low <= high) {
		return
	}
	if !s.filled {
		s.low, s.high, s.filled = low, high, true
	}
	s.low, s.high = min(s.low, low), max(s.high, high)
	if !s.counted {
		return
	}
	s.grow(max(-low, high))
	scale := float64(len(s.hist)) / (2 * s.limit)
	for _, v := range x {
		k := int((float64(v) + s.limit) * scale)
		s.hist[min(max(k, 0), len(s.hist)-1)]++
	}
}

// grow makes the histogram reach a limit; bins keep their width.
func (s *stats) grow(limit float64) {
	switch {
	case s.hist == nil:
		if limit == 0 {
			limit = 1
		}
		s.limit, s.hist = limit, make([]float64, bins)
	case limit > s.limit:
		width := 2 * s.limit / float64(len(s.hist))
		more := int((limit-s.limit)/width) + 1
		side := make([]float64, more)
		s.hist = slices.Concat(side, s.hist, side)
		s.limit += float64(more) * width
	}
}

// percentile returns the least magnitude that p percent of the numbers do not exceed, rounded up to
// the edge of a bin.
func (s *stats) percentile(p float64) float64 {
	total := 0.0
	for _, n := range s.hist {
		total += n
	}
	middle := len(s.hist) / 2
	width := 2 * s.limit / float64(len(s.hist))
	inside := s.hist[middle]
	for k := 1; k <= middle; k++ {
		if inside >= total*p/100 {
			return (float64(k) - 0.5) * width
		}
		inside += s.hist[middle-k] + s.hist[middle+k]
	}
	return s.limit
}

// entropy returns the magnitude at which the integers resemble the numbers most.
func (s *stats) entropy(positive bool) (float64, error) {
	hist, edges := make([]float32, len(s.hist)), make([]float32, len(s.hist)+1)
	for i, n := range s.hist {
		hist[i] = float32(n)
	}
	for i := range edges {
		edges[i] = float32(-s.limit + 2*s.limit*float64(i)/float64(len(s.hist)))
	}
	p := nd.CalibrateParams{Bins: int8Bins}
	if positive {
		p.Bins = uint8Bins
	}
	out := nd.ContribCalibrateEntropy(nd.FromSlice(hist, len(hist)),
		nd.FromSlice(edges, len(edges)), p)
	v, err := out[0].Float32s()
	if err != nil {
		return 0, err
	}
	return math.Abs(float64(v[0])), nil
}

// settle sets the range of a site from its numbers.
func (s *site) settle(c Config) error {
	t := s.stats
	s.low, s.high = t.low, t.high
	limit := math.Inf(1)
	switch c.Mode {
	case Percentile:
		limit = t.percentile(c.Percentile)
	case Entropy:
		var err error
		if limit, err = t.entropy(t.low >= 0); err != nil {
			return err
		}
	}
	s.low, s.high = max(s.low, -limit), min(s.high, limit)
	if s.positive || s.low > 0 {
		s.low = 0
	}
	s.high = max(s.high, 0)
	if s.high == s.low {
		s.high = s.low + 1
	}
	s.low, s.high = float64(float32(s.low)), float64(float32(s.high))
	return nil
}
