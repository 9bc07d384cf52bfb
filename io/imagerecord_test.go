package io_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	stdimage "image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	dataio "gomx/io"
	"gomx/io/image"
	nd "gomx/ndarray"
)

// picture is a PNG of one color.
func picture(t testing.TB, width, height int, v uint8) []byte {
	t.Helper()
	m := stdimage.NewNRGBA(stdimage.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetNRGBA(x, y, color.NRGBA{v, 2 * v, uint8(x), 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pictureFile writes n pictures, with label i and number 100+i, and returns the path of the .rec
// file. The .idx and .lst files are beside it.
func pictureFile(t testing.TB, n int) string {
	t.Helper()
	var rec, idx, lst bytes.Buffer
	w := dataio.NewRecordWriter(&rec)
	for i := range n {
		fmt.Fprintf(&idx, "%d\t%d\n", i, w.Offset())
		fmt.Fprintf(&lst, "%d\t%d\t%d\tx/%d.png\n", 100+i, 7*i, -i, i)
		h := dataio.RecordHeader{Label: []float32{float32(i)}, ID: uint64(100 + i)}
		if err := w.Write(dataio.PackRecord(h, picture(t, 12+i%3, 10, uint8(i)))); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "pics.rec")
	for name, b := range map[string][]byte{path: rec.Bytes(), strings.TrimSuffix(path, "rec") +
		"idx": idx.Bytes(), strings.TrimSuffix(path, "rec") + "lst": lst.Bytes()} {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// openPictures opens a file and closes it at the end of the test.
func openPictures(t testing.TB, c dataio.ImageRecordConfig) *dataio.ImageRecords {
	t.Helper()
	it, err := dataio.ImageRecordIter(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := it.Close(); err != nil {
			t.Error(err)
		}
	})
	return it
}

// epochOf returns the samples and labels of an epoch.
func epochOf(t testing.TB, it dataio.Iter) (data [][]float32, labels []float32) {
	t.Helper()
	for b, err := range dataio.Epoch(context.Background(), it) {
		if err != nil {
			t.Fatal(err)
		}
		x, err1 := b.Data[0].AsType(dtype.Float32).Float32s()
		l, err2 := b.Label[0].Float32s()
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		size := len(x) / it.BatchSize()
		for i := range it.BatchSize() - b.Pad {
			data, labels = append(data, x[i*size:(i+1)*size]), append(labels, l[i])
		}
	}
	return data, labels
}

func TestImageRecordIter(t *testing.T) {
	path := pictureFile(t, 10)
	base := dataio.ImageRecordConfig{Path: path, DataShape: nd.Shape{3, 8, 12}, BatchSize: 4,
		LastBatch: dataio.Pad}
	data, labels := epochOf(t, openPictures(t, base))
	if len(data) != 10 {
		t.Fatalf("%d samples, want 10", len(data))
	}
	for i, x := range data {
		left := float32((i % 3) / 2) // where the middle begins
		if labels[i] != float32(i) || x[0] != float32(i) || x[96] != float32(2*i) ||
			x[192] != left || x[192+11] != left+11 {
			t.Errorf("sample %d: label %v, red %v, green %v, blue %v to %v", i, labels[i], x[0],
				x[96], x[192], x[203])
		}
	}

	with := func(change func(c *dataio.ImageRecordConfig)) dataio.ImageRecordConfig {
		c := base
		change(&c)
		return c
	}
	t.Run("index", func(t *testing.T) {
		got, _ := epochOf(t, openPictures(t,
			with(func(c *dataio.ImageRecordConfig) {
				c.Index = strings.TrimSuffix(path, "rec") + "idx"
			})))
		if !slices.EqualFunc(got, data, slices.Equal) {
			t.Error("samples found by an index differ")
		}
	})
	t.Run("list", func(t *testing.T) {
		it := openPictures(t, with(func(c *dataio.ImageRecordConfig) {
			c.List, c.LabelWidth = strings.TrimSuffix(path, "rec")+"lst", 2
		}))
		b, err := it.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if l, err := b.Label[0].Float32s(); err != nil ||
			!slices.Equal(l, []float32{0, 0, 7, -1, 14, -2, 21, -3}) {
			t.Errorf("labels %v, %v", l, err)
		}
	})
	t.Run("mirror", func(t *testing.T) {
		got, _ := epochOf(t, openPictures(t,
			with(func(c *dataio.ImageRecordConfig) { c.Mirror = true })))
		if got[0][192] != 11 || got[0][203] != 0 {
			t.Errorf("blue from %v to %v, want 11 to 0", got[0][192], got[0][203])
		}
	})
	t.Run("normalize", func(t *testing.T) {
		got, _ := epochOf(t, openPictures(t, with(func(c *dataio.ImageRecordConfig) {
			c.Normalize = dataio.Normalize{Mean: [4]float32{1, 2, 3}, Std: [4]float32{2, 4, 8},
				Scale: 0.5}
		})))
		if x := got[5]; x[0] != (5-1)*0.25 || x[96] != (10-2)*0.125 || x[192+11] != (12-3)*0.0625 {
			t.Errorf("got %v, %v, %v", x[0], x[96], x[203])
		}
	})
	t.Run("mean picture", func(t *testing.T) {
		got, _ := epochOf(t, openPictures(t,
			with(func(c *dataio.ImageRecordConfig) { c.MeanImage = nd.Full(3, c.DataShape) })))
		if got[5][0] != 2 {
			t.Errorf("got %v, want 2", got[5][0])
		}
	})
	t.Run("bytes", func(t *testing.T) {
		got, _ := epochOf(t, openPictures(t,
			with(func(c *dataio.ImageRecordConfig) { c.DType = dtype.Uint8 })))
		if !slices.EqualFunc(got, data, slices.Equal) {
			t.Error("samples as bytes differ")
		}
		got, _ = epochOf(t, openPictures(t, with(func(c *dataio.ImageRecordConfig) {
			c.DType, c.Mean = dtype.Int8, [4]float32{7.4}
		})))
		if got[5][0] != -2 {
			t.Errorf("got %v, want -2", got[5][0])
		}
	})
}

// TestImageRecordsRepeat augments at random and wants the same epoch with any number of threads,
// behind a Prefetcher, and when it is begun again.
func TestImageRecordsRepeat(t *testing.T) {
	c := dataio.ImageRecordConfig{Path: pictureFile(t, 23), DataShape: nd.Shape{3, 8, 8},
		BatchSize: 5, Shuffle: true, Seed: 3, Threads: 1,
		Augment: image.Augment{RandCrop: true, Brightness: 0.3, MaxRotateAngle: 20},
		Normalize: dataio.Normalize{RandMirror: true, MaxRandomContrast: 0.2,
			MaxRandomIllumination: 3}}
	it := openPictures(t, c)
	first, labels := epochOf(t, it)
	second, _ := epochOf(t, it)
	if slices.EqualFunc(first, second, slices.Equal) {
		t.Error("the second epoch is the first")
	}
	if slices.IsSorted(labels) {
		t.Error("the order is that of the file")
	}
	it.SetEpoch(0)
	if again, _ := epochOf(t, it); !slices.EqualFunc(first, again, slices.Equal) {
		t.Error("the first epoch does not repeat")
	}
	c.Threads = 4
	p, err := dataio.Prefetch(openPictures(t, c), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if again, _ := epochOf(t, p); !slices.EqualFunc(first, again, slices.Equal) {
		t.Error("four threads behind a Prefetcher give other samples")
	}
}

// TestImageRecordsShard gives each of two workers a half.
func TestImageRecordsShard(t *testing.T) {
	c := dataio.ImageRecordConfig{Path: pictureFile(t, 12), DataShape: nd.Shape{1, 8, 8},
		BatchSize: 3}
	var all []float32
	for part := range 2 {
		it := openPictures(t, c)
		if err := it.Shard(part, 2); err != nil {
			t.Fatal(err)
		}
		_, labels := epochOf(t, it)
		if len(labels) != 6 {
			t.Errorf("part %d has %d samples, want 6", part, len(labels))
		}
		all = append(all, labels...)
	}
	if slices.Sort(all); all[0] != 0 || all[11] != 11 || len(slices.Compact(all)) != 12 {
		t.Errorf("the parts have %v", all)
	}
}

func TestImageRecordMistakes(t *testing.T) {
	good := pictureFile(t, 3)
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	file := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "bad.rec")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := func() string {
		var b bytes.Buffer
		if err := dataio.NewRecordWriter(&b).Write(
			dataio.PackRecord(dataio.RecordHeader{Label: []float32{0}},
				[]byte("no picture"))); err != nil {
			t.Fatal(err)
		}
		return file(b.Bytes())
	}
	list := filepath.Join(t.TempDir(), "x.lst")
	if err := os.WriteFile(list, []byte("100\t1\tx.png\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	shape := nd.Shape{3, 8, 8}
	for name, c := range map[string]struct {
		cfg  dataio.ImageRecordConfig
		want string
	}{
		"no file": {dataio.ImageRecordConfig{Path: "/nowhere.rec", DataShape: shape},
			"/nowhere.rec"},
		"shape": {dataio.ImageRecordConfig{Path: good, DataShape: nd.Shape{2, 8, 8}}, "2"},
		"element type": {dataio.ImageRecordConfig{Path: good, DataShape: shape,
			DType: dtype.Float64}, "float64"},
		"settings": {dataio.ImageRecordConfig{Path: good, DataShape: shape,
			Augment: image.Augment{Resize: -1}}, "negative"},
		"mean picture": {dataio.ImageRecordConfig{Path: good, DataShape: shape,
			Normalize: dataio.Normalize{MeanImage: nd.Ones(nd.Shape{3, 8, 9})}}, "mean"},
		"empty": {dataio.ImageRecordConfig{Path: file(nil), DataShape: shape}, "no records"},
		"no records": {dataio.ImageRecordConfig{Path: file([]byte("no records at all")),
			DataShape: shape}, "magic"},
		"truncated": {dataio.ImageRecordConfig{Path: file(data[:len(data)-9]),
			DataShape: shape}, "record 2"},
		"no picture": {dataio.ImageRecordConfig{Path: text(), DataShape: shape}, "record 0"},
		"label": {dataio.ImageRecordConfig{Path: good, DataShape: shape, LabelWidth: 2},
			"label of 1 numbers, want 2"},
		"not in list": {dataio.ImageRecordConfig{Path: good, List: list, DataShape: shape,
			BatchSize: 3}, "picture 101"},
		"no index": {dataio.ImageRecordConfig{Path: good, Index: "/nowhere.idx",
			DataShape: shape}, "/nowhere.idx"},
		"picture's size": {dataio.ImageRecordConfig{Path: good, DataShape: shape,
			Augment: image.Augment{MaxCropSize: 30}}, "want at least MaxCropSize 30"},
	} {
		it, err := dataio.ImageRecordIter(c.cfg)
		if err == nil {
			_, err = it.Next(t.Context())
			if err := it.Close(); err != nil {
				t.Error(err)
			}
		}
		if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

func ExampleImageRecordIter() {
	var rec bytes.Buffer
	w := dataio.NewRecordWriter(&rec)
	for i := range 5 {
		var b bytes.Buffer
		if err := png.Encode(&b, stdimage.NewGray(stdimage.Rect(0, 0, 40, 30))); err != nil {
			panic(err)
		}
		if err := w.Write(dataio.PackRecord(dataio.RecordHeader{Label: []float32{float32(i)}},
			b.Bytes())); err != nil {
			panic(err)
		}
	}
	dir, err := os.MkdirTemp("", "pictures-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "pics.rec")
	if err := os.WriteFile(path, rec.Bytes(), 0o644); err != nil {
		panic(err)
	}

	train, err := dataio.ImageRecordIter(dataio.ImageRecordConfig{
		Path: path, DataShape: nd.Shape{3, 24, 24}, BatchSize: 2, Shuffle: true, Seed: 1,
		Augment: image.Augment{Resize: 26, RandCrop: true},
		Normalize: dataio.Normalize{Mean: [4]float32{123, 117, 104}, Std: [4]float32{58, 57, 57},
			RandMirror: true},
	})
	if err != nil {
		panic(err)
	}
	defer train.Close()
	for batch, err := range train.Epoch() {
		if err != nil {
			panic(err)
		}
		fmt.Println(batch.Data[0].Shape(), batch.Label[0].Shape(), batch.Pad)
	}
	// Output:
	// (2, 3, 24, 24) (2,) 0
	// (2, 3, 24, 24) (2,) 0
	// (2, 3, 24, 24) (2,) 1
}

// BenchmarkImageRecords reads pictures of 500×375 as a training on ImageNet does.
func BenchmarkImageRecords(b *testing.B) {
	var rec bytes.Buffer
	w := dataio.NewRecordWriter(&rec)
	m := stdimage.NewYCbCr(stdimage.Rect(0, 0, 500, 375), stdimage.YCbCrSubsampleRatio420)
	for i := range m.Y {
		m.Y[i] = uint8(i*i>>9 + i>>3)
	}
	var pic bytes.Buffer
	if err := jpeg.Encode(&pic, m, &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	for range 64 {
		if err := w.Write(dataio.PackRecord(dataio.RecordHeader{Label: []float32{1}},
			pic.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
	path := filepath.Join(b.TempDir(), "pics.rec")
	if err := os.WriteFile(path, rec.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	it := openPictures(b, dataio.ImageRecordConfig{Path: path, DataShape: nd.Shape{3, 224, 224},
		BatchSize: 32,
		Augment:   image.Augment{Resize: 256, RandCrop: true},
		Normalize: dataio.Normalize{RandMirror: true, Std: [4]float32{58, 57, 57}}})
	for b.Loop() {
		if _, err := it.Next(b.Context()); errors.Is(err, io.EOF) {
			if err := it.Reset(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N*32)/b.Elapsed().Seconds(), "images/s")
}
