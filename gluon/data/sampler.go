package data

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
)

// Sampler chooses samples of a data set, and their order. A loader asks it anew in each epoch. The
// choice depends on the epoch alone, so that a run can continue in the middle of an epoch. A
// sampler of a program should have a method String that names its parameters: the state of a loader
// has the text, and another loader accepts the state only if its sampler has the same text.
//
// MXNet: gluon.data.Sampler.
type Sampler interface {
	// Len returns the number of samples of an epoch.
	Len() int
	// Indices yields the numbers of the samples of an epoch.
	Indices(epoch int) iter.Seq[int]
}

// SequentialSampler chooses N samples in order, from Start on.
type SequentialSampler struct{ N, Start int }

// Len returns N.
func (s SequentialSampler) Len() int { return s.N }

// Indices yields Start, Start+1 and so on.
func (s SequentialSampler) Indices(int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range s.N {
			if !yield(s.Start + i) {
				return
			}
		}
	}
}

// String names the range.
func (s SequentialSampler) String() string {
	return fmt.Sprintf("samples %d to %d in order", s.Start, s.Start+s.N)
}

// RandomSampler chooses the samples 0 to N-1, each once, in an order that depends on Seed and the
// epoch. It is the order of io.NDArrayIter with the same seed.
type RandomSampler struct {
	N    int
	Seed uint64
}

// Len returns N.
func (s RandomSampler) Len() int { return s.N }

// Indices yields a permutation.
func (s RandomSampler) Indices(epoch int) iter.Seq[int] {
	return func(yield func(int) bool) {
		list := make([]int, s.N)
		for i := range list {
			list[i] = i
		}
		r := rand.New(rand.NewPCG(s.Seed, uint64(epoch)))
		r.Shuffle(s.N, func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, i := range list {
			if !yield(i) {
				return
			}
		}
	}
}

// String names the seed.
func (s RandomSampler) String() string {
	return fmt.Sprintf("%d samples in random order, seed %d", s.N, s.Seed)
}

// IntervalSampler chooses every Interval-th of N samples. Then it begins again with the second
// sample, and so on until all are chosen, unless Once is true.
//
// MXNet: gluon.contrib.data.IntervalSampler; Once is rollover=False. MXNet's length is always N.
type IntervalSampler struct {
	N, Interval int
	Once        bool
}

// Len returns N, or the number of samples of one round with Once.
func (s IntervalSampler) Len() int {
	if s.Once && s.Interval > 0 {
		return (s.N + s.Interval - 1) / s.Interval
	}
	return s.N
}

// Indices yields 0, Interval, 2·Interval and so on, then 1, Interval+1 and so on.
func (s IntervalSampler) Indices(int) iter.Seq[int] {
	return func(yield func(int) bool) {
		rounds, step := max(1, s.Interval), max(1, s.Interval)
		if s.Once {
			rounds = 1
		}
		for first := range rounds {
			for i := first; i < s.N; i += step {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// String names the interval.
func (s IntervalSampler) String() string {
	return fmt.Sprintf("%d samples in steps of %d, once: %t", s.N, s.Interval, s.Once)
}

// FilterSampler chooses the samples that a function accepted when the sampler was made.
type FilterSampler struct {
	list []int
	of   int // samples of the data set
}

// NewFilterSampler computes every sample of a data set once and chooses the samples for which keep
// is true, in order.
func NewFilterSampler[S any](ctx context.Context, d Dataset[S], keep func(S) bool) (*FilterSampler,
	error) {
	f := &FilterSampler{of: d.n}
	i := 0
	for s, err := range d.all(ctx) {
		if err != nil {
			return nil, err
		}
		if keep(s) {
			f.list = append(f.list, i)
		}
		i++
	}
	return f, nil
}

// Len returns the number of chosen samples.
func (s *FilterSampler) Len() int { return len(s.list) }

// Indices yields the chosen samples.
func (s *FilterSampler) Indices(int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, i := range s.list {
			if !yield(i) {
				return
			}
		}
	}
}

// String counts the chosen samples.
func (s *FilterSampler) String() string {
	return fmt.Sprintf("%d of %d samples by a filter", len(s.list), s.of)
}
