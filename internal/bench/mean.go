package bench

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// ratio returns the factor by which ours is better than theirs.
func ratio(unit string, ours, theirs float64) float64 {
	if lowIsBetter(unit) {
		return theirs / ours
	}
	return ours / theirs
}

// means collects the ratios of a suite.
type means struct {
	best []float64            // ratios to the best peer
	by   map[string][]float64 // ratios to each peer
}

// add adds the ratios of one workload.
func (m *means) add(w *Workload, r *result) {
	if r.best == 0 {
		return
	}
	if m.by == nil {
		m.by = map[string][]float64{}
	}
	m.best = append(m.best, ratio(w.Unit, r.ours, r.best))
	for name, v := range r.by {
		m.by[name] = append(m.by[name], ratio(w.Unit, r.ours, v))
	}
}

// print writes the geometric means of the ratios: to each peer, and to the best peer of each line.
func (m *means) print(out io.Writer, suite string) {
	if len(m.best) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(m.by))
	for _, name := range names {
		fmt.Fprintf(out, "%s.geomean.%s\t-\t-\t%.3f\tratio\t%s\n", suite, name,
			geometric(m.by[name]), name)
	}
	of := names[0]
	if len(names) > 1 {
		of = "best"
	}
	fmt.Fprintf(out, "%s.geomean\t-\t-\t%.3f\tratio\t%s\n", suite, geometric(m.best), of)
}

// geometric returns the geometric mean.
func geometric(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(list)))
}
