package data

import (
	"context"
	"fmt"
	"math/rand/v2"

	nd "gomx/ndarray"
)

// Dataset is a list of samples of type S with random access. Its methods return new data sets that
// compute samples when they are asked for; they can be chained, because a data set keeps the first
// error, which Err, At and a loader return. The zero value is empty. Several goroutines may use a
// data set at once.
//
// MXNet: gluon.data.Dataset.
type Dataset[S any] struct {
	n     int
	at    Func[S]
	close func() error // releases files; nil: there are none
	err   error        // first error of the chain of calls that made the data set
}

// Func computes sample i. Several goroutines call it at once. r is the random stream of the sample:
// a loader begins it by its seed, the epoch and i, so random changes of a sample do not depend on
// the number of workers. A long computation should end early when ctx does.
type Func[S any] func(ctx context.Context, i int, r *rand.Rand) (S, error)

// New returns a data set of n samples.
func New[S any](n int, at Func[S]) Dataset[S] {
	if n < 0 || at == nil {
		return Fail[S](fmt.Errorf("data: New: %d samples and function %t, want 0 or more and a "+
			"function", n, at != nil))
	}
	return Dataset[S]{n: n, at: at}
}

// FromSlice returns a data set that shares a list of samples.
//
// MXNet: gluon.data.SimpleDataset.
func FromSlice[S any](samples []S) Dataset[S] {
	return Dataset[S]{n: len(samples), at: func(_ context.Context, i int, _ *rand.Rand) (S, error) {
		return samples[i], nil
	}}
}

// Arrays returns a data set whose sample i has row i of each array. It copies the arrays once.
//
// MXNet: gluon.data.ArrayDataset.
func Arrays(arrays ...*nd.Array) Dataset[Sample] {
	if len(arrays) == 0 {
		return Fail[Sample](fmt.Errorf("data: Arrays: no array, want at least one"))
	}
	whole := make([]Tensor, len(arrays))
	for i, a := range arrays {
		t, err := FromArray(context.Background(), a)
		switch {
		case err != nil:
			return Fail[Sample](fmt.Errorf("data: Arrays: array %d: %w", i, err))
		case len(t.Shape) == 0:
			return Fail[Sample](fmt.Errorf("data: Arrays: array %d is a scalar, want an axis "+
				"that counts samples", i))
		case t.Shape[0] != whole[0].Len() && i > 0:
			return Fail[Sample](fmt.Errorf("data: Arrays: array %d has %d rows, array 0 has %d",
				i, t.Shape[0], whole[0].Len()))
		}
		whole[i] = t
	}
	return Dataset[Sample]{n: whole[0].Len(),
		at: func(_ context.Context, i int, _ *rand.Rand) (Sample, error) {
			s := make(Sample, len(whole))
			for k, t := range whole {
				size := len(t.Bytes) / t.Shape[0]
				s[k] = Tensor{t.DType, t.Shape[1:], t.Bytes[i*size : (i+1)*size : (i+1)*size]}
			}
			return s, nil
		}}
}

// Zip returns a data set whose sample i has the parts of sample i of each data set.
//
// MXNet: gluon.data.ArrayDataset.
func Zip(sets ...Dataset[Sample]) Dataset[Sample] {
	if len(sets) == 0 {
		return Fail[Sample](fmt.Errorf("data: Zip: no data set, want at least one"))
	}
	z := Dataset[Sample]{n: sets[0].n, close: func() (err error) {
		for _, d := range sets {
			err = first(err, d.Close())
		}
		return err
	}}
	for i, d := range sets {
		if z.err = first(z.err, d.err); z.err == nil && d.n != z.n {
			z.err = fmt.Errorf("data: Zip: data set %d has %d samples, data set 0 has %d", i, d.n,
				z.n)
		}
	}
	z.at = func(ctx context.Context, i int, r *rand.Rand) (all Sample, err error) {
		for _, d := range sets {
			s, err := d.at(ctx, i, r)
			if err != nil {
				return nil, err
			}
			all = append(all, s...)
		}
		return all, nil
	}
	return z
}

// Fail returns an empty data set with an error, for functions that make data sets of files.
func Fail[S any](err error) Dataset[S] { return Dataset[S]{err: err} }

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// Len returns the number of samples.
func (d Dataset[S]) Len() int { return d.n }

// Err returns the first error of the calls that made the data set.
func (d Dataset[S]) Err() error { return d.err }

// Close closes the files of the data set and of the data sets that it was made of.
func (d Dataset[S]) Close() error {
	if d.close == nil {
		return nil
	}
	return d.close()
}

// At returns sample i. The random stream is as in the first epoch of a loader without a seed.
func (d Dataset[S]) At(ctx context.Context, i int) (S, error) {
	var s stream
	return d.sample(ctx, i, s.of(0, 0, i))
}

// sample returns sample i. The error names it.
func (d Dataset[S]) sample(ctx context.Context, i int, r *rand.Rand) (s S, err error) {
	switch {
	case d.err != nil:
		return s, d.err
	case i < 0 || i >= d.n:
		return s, fmt.Errorf("data: sample %d of a data set of %d", i, d.n)
	}
	if s, err = d.at(ctx, i, r); err != nil {
		err = fmt.Errorf("data: sample %d: %w", i, err)
	}
	return s, err
}

// Map returns the samples that f makes of the samples of d. It calls f each time that a sample is
// asked for. r is the random stream of the sample.
//
// MXNet: Dataset.transform.
func (d Dataset[S]) Map(f func(s S, r *rand.Rand) (S, error)) Dataset[S] { return Convert(d, f) }

// Convert is Map for functions that return samples of another type.
func Convert[S, T any](d Dataset[S], f func(s S, r *rand.Rand) (T, error)) Dataset[T] {
	if f == nil {
		d.err = first(d.err, fmt.Errorf("data: Map without a function"))
	}
	return Dataset[T]{n: d.n, close: d.close, err: d.err,
		at: func(ctx context.Context, i int, r *rand.Rand) (t T, err error) {
			s, err := d.at(ctx, i, r)
			if err != nil {
				return t, err
			}
			return f(s, r)
		}}
}

// First makes a function of samples of a function of their first part, for Map.
//
// MXNet: Dataset.transform_first.
func First(f func(t Tensor, r *rand.Rand) (Tensor, error)) func(Sample, *rand.Rand) (Sample,
	error) {
	return func(s Sample, r *rand.Rand) (Sample, error) {
		if len(s) == 0 {
			return nil, fmt.Errorf("a sample without parts, want at least one")
		}
		t, err := f(s[0], r)
		if err != nil {
			return nil, err
		}
		return append(Sample{t}, s[1:]...), nil
	}
}

// Load computes all samples now and keeps them. Random changes are then the same in all epochs.
//
// MXNet: Dataset.transform with lazy=False.
func (d Dataset[S]) Load(ctx context.Context) Dataset[S] {
	list := make([]S, 0, d.n)
	for s, err := range d.all(ctx) {
		if err != nil {
			return Dataset[S]{close: d.close, err: err}
		}
		list = append(list, s)
	}
	loaded := FromSlice(list)
	loaded.close = d.close
	return loaded
}

// all yields all samples; after an error it ends.
func (d Dataset[S]) all(ctx context.Context) func(yield func(S, error) bool) {
	return func(yield func(S, error) bool) {
		var random stream
		for i := range d.n {
			s, err := d.sample(ctx, i, random.of(0, 0, i))
			if err = first(ctx.Err(), err); !yield(s, err) || err != nil {
				return
			}
		}
		if d.err != nil {
			var none S
			yield(none, d.err)
		}
	}
}

// Filter returns the samples for which keep is true. It computes every sample once, now.
//
// MXNet: Dataset.filter.
func (d Dataset[S]) Filter(ctx context.Context, keep func(S) bool) Dataset[S] {
	s, err := NewFilterSampler(ctx, d, keep)
	if err != nil {
		return Dataset[S]{close: d.close, err: err}
	}
	return d.Sample(s)
}

// Shard returns part number part of parts. A part is a range of samples; the first parts have one
// sample more where the number of samples is not a multiple of parts.
//
// MXNet: Dataset.shard.
func (d Dataset[S]) Shard(part, parts int) Dataset[S] {
	if parts < 1 || part < 0 || part >= parts {
		d.err = first(d.err, fmt.Errorf("data: Shard: part %d of %d, want a part below their "+
			"number", part, parts))
		return d
	}
	size, more := d.n/parts, d.n%parts
	start, n := size*part+min(part, more), size
	if part < more {
		n++
	}
	return d.Sample(SequentialSampler{N: n, Start: start})
}

// Take returns the first n samples, or all if there are fewer.
//
// MXNet: Dataset.take.
func (d Dataset[S]) Take(n int) Dataset[S] {
	return d.Sample(SequentialSampler{N: max(0, min(n, d.n))})
}

// Sample returns the samples that a sampler chooses in its first epoch, in its order.
//
// MXNet: Dataset.sample.
func (d Dataset[S]) Sample(s Sampler) Dataset[S] {
	if d.err != nil {
		return d
	}
	var list []int
	for i := range s.Indices(0) {
		if i < 0 || i >= d.n {
			return Dataset[S]{close: d.close, err: fmt.Errorf("data: Sample: %v chooses sample %d "+
				"of %d", s, i, d.n)}
		}
		list = append(list, i)
	}
	inner := d.at
	d.n = len(list)
	d.at = func(ctx context.Context, i int, r *rand.Rand) (S, error) {
		return inner(ctx, list[i],
			r)
	}
	return d
}
