package runs

import "math"

// Bins is the number of bins of a Histogram of numbers that are not all equal.
const Bins = 64

// Histogram counts numbers in bins of equal width between the least and the greatest of them. Only
// finite numbers are counted; Other counts the rest.
type Histogram struct {
	Step    int64    `json:"step"`
	Time    int64    `json:"time"` // nanoseconds since 1970
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`
	Sum     float64  `json:"sum"`
	Squares float64  `json:"squares"` // sum of the squares
	Count   uint64   `json:"count"`   // finite numbers
	Other   uint64   `json:"other"`   // NaN and infinities
	Counts  []uint64 `json:"counts"`
}

// count fills h with values. It keeps the memory of h.Counts.
func (h *Histogram) count(values []float32) {
	counts := h.Counts[:0]
	*h = Histogram{Min: math.Inf(1), Max: math.Inf(-1)}
	for _, v := range values {
		x := float64(v)
		if x-x != 0 {
			h.Other++
			continue
		}
		h.Min, h.Max = min(h.Min, x), max(h.Max, x)
		h.Sum += x
		h.Squares += x * x
		h.Count++
	}
	if h.Count == 0 {
		h.Min, h.Max = 0, 0
		h.Counts = counts
		return
	}
	bins := Bins
	if h.Min == h.Max {
		bins = 1
	}
	for range bins {
		counts = append(counts, 0)
	}
	h.Counts = counts
	scale := float64(bins) / (h.Max - h.Min)
	if bins == 1 {
		scale = 0
	}
	for _, v := range values {
		if x := float64(v); x-x == 0 {
			counts[min(bins-1, int((x-h.Min)*scale))]++
		}
	}
}

// limit returns the upper end of bin i.
func (h *Histogram) limit(i int) float64 {
	if i == len(h.Counts)-1 {
		return h.Max
	}
	return h.Min + (h.Max-h.Min)*float64(i+1)/float64(len(h.Counts))
}
