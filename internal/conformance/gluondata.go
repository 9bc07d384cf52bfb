package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"gomx/gluon/data"
	nd "gomx/ndarray"
)

// dataFolder holds the cases of gluon.data.
const dataFolder = "gluon/data/"

// runner is a case of one kind.
type runner interface{ run(env Env) error }

// newDataCase returns an empty case of a kind; nil: the kind is unknown.
func newDataCase(kind string) runner {
	switch kind {
	case "sampler", "dataloader", "dataset", "batchify":
		return new(dataCase)
	case "augmenter", "augmenter_list", "image_function":
		return new(pictureCase)
	case "transform":
		return new(transformCase)
	case "detection_iterator":
		return new(detectionCase)
	}
	return nil
}

// dataCase is a sampler, a data set or a loader, and the samples or batches that it gives.
type dataCase struct {
	ID, Kind, File, Class, Function string
	Length, Interval, Modulus, Take int
	Rollover                        bool
	Predicate                       string
	Data                            []int  // samples of a FilterSampler
	BatchSize                       int    `json:"batch_size"`
	LastBatch                       string `json:"last_batch"`
	Len                             int    // in MXNet
	LenBefore                       []int  `json:"len_before_epoch"`
	Epochs                          json.RawMessage
	NumShards                       int `json:"num_shards"`
	Shards                          [][]int
	Taken                           []int
	Arrays, Inputs, Outputs         []Ref
}

// DataCases reads the cases of gluon.data and of mx.image.
func DataCases(g *Golden) ([]Case, error) {
	const name = dataFolder + "data.json"
	var raw index[json.RawMessage]
	if err := g.JSON(name, &raw); err != nil {
		return nil, err
	}
	var list []Case
	for i, text := range raw.Cases {
		var kind struct{ Kind string }
		if err := json.Unmarshal(text, &kind); err != nil {
			return nil, fmt.Errorf("conformance: %s: case %d: %w", name, i, err)
		}
		c := newDataCase(kind.Kind)
		if c == nil {
			continue
		}
		if err := decodeStrictly(text, c); err != nil {
			return nil, fmt.Errorf("conformance: %s: case %d %s: %w", name, i, nameOf(text), err)
		}
		list = append(list, Case{ID: "data/" + nameOf(text), Run: c.run})
	}
	return list, nil
}

func (c *dataCase) run(env Env) error {
	switch c.Kind {
	case "dataloader":
		return c.loader(env)
	case "dataset":
		return c.dataset()
	case "batchify":
		return c.batchify(env)
	}
	if c.Class == "BatchSampler" {
		return c.batchSampler()
	}
	s, err := c.sampler()
	if err != nil {
		return err
	}
	var epochs [][]int
	if err := json.Unmarshal(c.Epochs, &epochs); err != nil {
		return err
	}
	for i, want := range epochs {
		if got := slices.Collect(s.Indices(i)); !slices.Equal(got, want) || s.Len() != len(want) {
			return fmt.Errorf("epoch %d: %v and length %d, want %v", i, got, s.Len(), want)
		}
	}
	return nil
}

// sampler makes the sampler of the case.
func (c *dataCase) sampler() (data.Sampler, error) {
	switch c.Class {
	case "SequentialSampler":
		return data.SequentialSampler{N: c.Length}, nil
	case "IntervalSampler":
		return data.IntervalSampler{N: c.Length, Interval: c.Interval, Once: !c.Rollover}, nil
	case "FilterSampler":
		return data.NewFilterSampler(context.Background(), data.FromSlice(c.Data),
			func(x int) bool { return x%c.Modulus == 0 })
	}
	return nil, missing("sampler %s", c.Class)
}

// last returns the treatment of the last batch.
func (c *dataCase) last() (data.Last, error) {
	for _, l := range []data.Last{data.Keep, data.Discard, data.RollOver} {
		if l.String() == c.LastBatch {
			return l, nil
		}
	}
	return 0, missing("last_batch %s", c.LastBatch)
}

func (c *dataCase) batchSampler() error {
	last, err := c.last()
	if err != nil {
		return err
	}
	var epochs [][][]int
	if err := json.Unmarshal(c.Epochs, &epochs); err != nil {
		return err
	}
	b := data.BatchSampler{Sampler: data.SequentialSampler{N: c.Length}, Size: c.BatchSize,
		Last: last}
	for i, want := range epochs {
		got := slices.Collect(b.Batches(i))
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) || b.Len(i) != c.LenBefore[i] {
			return fmt.Errorf("epoch %d: %v and length %d, want %v and %d", i, got, b.Len(i), want,
				c.LenBefore[i])
		}
	}
	return nil
}

func (c *dataCase) loader(env Env) error {
	last, err := c.last()
	if err != nil {
		return err
	}
	arrays, err := env.upload(dataFolder+c.File, c.Arrays)
	if err != nil {
		return err
	}
	var epochs [][][]Ref
	if err := json.Unmarshal(c.Epochs, &epochs); err != nil {
		return err
	}
	l := data.NewLoader(data.Arrays(arrays...), c.BatchSize, data.LastBatch(last),
		data.On(env.Device))
	for i, want := range epochs {
		if n := l.Len(); n != c.Length {
			return fmt.Errorf("epoch %d has length %d, want %d", i, n, c.Length)
		}
		n := 0
		for b, err := range l.Batches(context.Background()) {
			if err != nil {
				return err
			}
			if n == len(want) {
				return fmt.Errorf("epoch %d: more than %d batches", i, n)
			}
			if err := c.compare(env.Golden, []*nd.Array{b.Data, b.Label}, want[n]); err != nil {
				return fmt.Errorf("epoch %d, batch %d: %w", i, n, err)
			}
			n++
		}
		if n != len(want) {
			return fmt.Errorf("epoch %d: %d batches, want %d", i, n, len(want))
		}
	}
	return nil
}

// compare compares the parts of a batch.
func (c *dataCase) compare(g *Golden, got []*nd.Array, want []Ref) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d parts, want %d", len(got), len(want))
	}
	for k, r := range want {
		if got[k] == nil {
			return errors.New("a part without an array")
		}
		if err := compareND(g, fmt.Sprintf("part %d", k), got[k], dataFolder+c.File,
			r); err != nil {
			return err
		}
	}
	return nil
}

func (c *dataCase) dataset() error {
	var list []int
	for i := range c.Length {
		list = append(list, i)
	}
	all := data.FromSlice(list)
	for i, want := range c.Shards {
		if err := sameSamples(all.Shard(i, c.NumShards), want); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return sameSamples(all.Take(c.Take), c.Taken)
}

// sameSamples compares a data set with a list.
func sameSamples(d data.Dataset[int], want []int) error {
	double := d.Map(func(x int, _ *rand.Rand) (int, error) { return 2 * x, nil })
	for i, w := range want {
		x, err := d.At(context.Background(), i)
		if y, err2 := double.At(context.Background(), i); err != nil || err2 != nil || x != w ||
			y != 2*w {
			return fmt.Errorf("sample %d: %d, doubled %d, want %d (%w)", i, x, y, w,
				errors.Join(err, err2))
		}
	}
	if d.Len() != len(want) {
		return fmt.Errorf("%d samples, want %d", d.Len(), len(want))
	}
	return nil
}

// batchify stacks the rows of the inputs.
func (c *dataCase) batchify(env Env) error {
	if c.Function != "default_batchify_fn" {
		return missing("function %s", c.Function)
	}
	in, err := env.upload(dataFolder+c.File, c.Inputs)
	if err != nil {
		return err
	}
	l := data.NewLoader(data.Arrays(in...), c.Inputs[0].Shape[0], data.On(env.Device))
	for b, err := range l.Batches(context.Background()) {
		if err != nil {
			return err
		}
		if err := c.compare(env.Golden, []*nd.Array{b.Data, b.Label}, c.Outputs); err != nil {
			return err
		}
	}
	return nil
}
