package data_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/gluon/data"
	dataio "gomx/io"
	nd "gomx/ndarray"
)

var ctx = context.Background()

// list returns all samples of a data set.
func list[S any](t *testing.T, d data.Dataset[S]) (all []S) {
	t.Helper()
	for i := range d.Len() {
		s, err := d.At(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestDatasets(t *testing.T) {
	ten := data.FromSlice([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	square := func(x int, _ *rand.Rand) (int, error) { return x * x, nil }
	odd := func(x int) bool { return x%2 == 1 }
	for name, c := range map[string]struct {
		set  data.Dataset[int]
		want []int
	}{
		"take":          {ten.Take(3), []int{0, 1, 2}},
		"take too many": {ten.Take(30).Take(11).Shard(4, 5), []int{8, 9}},
		"take none":     {ten.Take(-1), nil},
		"first shard":   {ten.Shard(0, 3), []int{0, 1, 2, 3}},
		"last shard":    {ten.Shard(2, 3), []int{7, 8, 9}},
		"empty shard":   {ten.Take(1).Shard(1, 2), nil},
		"map":           {ten.Take(4).Map(square), []int{0, 1, 4, 9}},
		"filter of map": {ten.Map(square).Filter(ctx, odd), []int{1, 9, 25, 49, 81}},
		"map of filter": {ten.Filter(ctx, odd).Map(square).Take(2), []int{1, 9}},
		"sample": {ten.Sample(data.IntervalSampler{N: 10, Interval: 4}).Take(4),
			[]int{0, 4, 8, 1}},
		"load": {ten.Map(square).Load(ctx).Take(3), []int{0, 1, 4}},
		"sample twice": {ten.Sample(data.SequentialSampler{N: 4, Start: 5}).Shard(1, 2),
			[]int{7, 8}},
		"zero":           {data.Dataset[int]{}, nil},
		"zero, filtered": {data.Dataset[int]{}.Filter(ctx, odd).Take(2), nil},
	} {
		if got := list(t, c.set); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	texts := data.Convert(ten.Take(2), func(x int, _ *rand.Rand) (string, error) {
		return fmt.Sprint("n", x), nil
	})
	if got := list(t, texts); !slices.Equal(got, []string{"n0", "n1"}) {
		t.Errorf("got %v", got)
	}
}

func TestArrays(t *testing.T) {
	x := nd.Arange(0, 6, 1).Reshape(3, 2)
	y := nd.FromSlice([]int64{7, 8, 9})
	set := data.Zip(data.Arrays(x), data.Arrays(y, x))
	s := list(t, set)[1]
	if len(s) != 3 || !s[0].Shape.Equal(nd.Shape{2}) || len(s[1].Shape) != 0 {
		t.Fatalf("got %v", s)
	}
	v, err := data.Elements[float32](s[2])
	n, err2 := data.Elements[int64](s[1])
	if err = errors.Join(err, err2); err != nil || !slices.Equal(v, []float32{2, 3}) || n[0] != 8 {
		t.Errorf("got %v, %v, %v", v, n, err)
	}
	if _, err := data.Elements[float64](s[0]); err == nil || !strings.Contains(err.Error(),
		"float32, want float64") {
		t.Errorf("elements of another type: %v", err)
	}
	odd := data.Tensor{DType: s[0].DType, Shape: nd.Shape{1}, Bytes: append([]byte{0},
		s[2].Bytes[:4]...)[1:]}
	if v, err := data.Elements[float32](odd); err != nil || v[0] != 2 {
		t.Errorf("elements at an odd address: %v, %v", v, err)
	}
}

func TestRecordFile(t *testing.T) {
	dir := t.TempDir()
	var rec, idx bytes.Buffer
	w := dataio.NewRecordWriter(&rec)
	for _, key := range []int{7, 3, 5} {
		fmt.Fprintf(&idx, "%d\t%d\n", key, w.Offset())
		if err := w.Write([]byte(fmt.Sprint("record ", key))); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "a.rec")
	if err := errors.Join(os.WriteFile(path, rec.Bytes(), 0o644),
		os.WriteFile(filepath.Join(dir, "a.idx"), idx.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	d := data.RecordFile(path)
	if got := list(t, d); len(got) != 3 || string(got[1]) != "record 3" {
		t.Errorf("got %q", got)
	}
	last := d.Take(3).Shard(1, 2)
	if err := last.Close(); err != nil {
		t.Error(err)
	}
	if _, err := last.At(ctx, 0); err == nil || !strings.Contains(err.Error(), "sample 0:") {
		t.Errorf("a record of a closed file: %v", err)
	}
	missing := data.RecordFile(filepath.Join(dir, "b.rec")).Map(nil).Take(1)
	if err := missing.Err(); !errors.Is(err, os.ErrNotExist) || missing.Close() != nil {
		t.Errorf("a missing file: %v", err)
	}
}

func TestDatasetErrors(t *testing.T) {
	bad := errors.New("bad")
	set := data.FromSlice([]int{0, 1, 2}).Map(func(x int, _ *rand.Rand) (int, error) {
		if x == 1 {
			return 0, bad
		}
		return x, nil
	})
	all := func(int) bool { return true }
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for want, err := range map[string]error{
		"sample 1: bad":            set.Filter(ctx, all).Take(1).Err(),
		"data: sample 1: bad":      set.Load(ctx).Err(),
		"context canceled":         set.Load(ended).Err(),
		"Map without a function":   set.Map(nil).Err(),
		"part 3 of 3":              set.Shard(3, 3).Take(1).Err(),
		"sample 3 of 3":            set.Sample(data.SequentialSampler{N: 4}).Err(),
		"-1 samples":               data.New[int](-1, nil).Err(),
		"no array":                 data.Arrays().Err(),
		"no data set":              data.Zip().Err(),
		"array 0 is a scalar":      data.Arrays(nd.Ones(nd.Shape{})).Err(),
		"array 1 has 3 rows":       data.Arrays(nd.Ones(nd.Shape{2}), nd.Ones(nd.Shape{3})).Err(),
		"data set 1 has 2 samples": data.Zip(numbers(3), numbers(2)).Err(),
		"part 5 of 2":              data.Zip(numbers(3), numbers(3).Shard(5, 2)).Err(),
		"a sample without parts": data.FromSlice([]data.Sample{{}}).Map(data.First(nil)).Load(
			ctx).Err(),
		"sample 3 of a data set of 3": func() error { _, err := set.At(ctx, 3); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
