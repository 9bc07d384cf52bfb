package io_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	dataio "gomx/io"
	"gomx/io/image"
	nd "gomx/ndarray"
)

// objectFile writes n pictures with 1 to 3 objects and returns the path of the .rec file.
func objectFile(t testing.TB, n int) string {
	t.Helper()
	var rec, idx bytes.Buffer
	w := dataio.NewRecordWriter(&rec)
	for i := range n {
		fmt.Fprintf(&idx, "%d\t%d\n", i, w.Offset())
		label := []float32{2, 5}
		for k := range 1 + i%3 {
			label = append(label, float32(k), 0.1, 0.1*float32(k), 0.6, 0.5+0.1*float32(k))
		}
		if err := w.Write(dataio.PackRecord(dataio.RecordHeader{Label: label, ID: uint64(i)},
			picture(t, 12+i%3, 10, uint8(i)))); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "objects.rec")
	for name, b := range map[string][]byte{path: rec.Bytes(),
		strings.TrimSuffix(path, "rec") + "idx": idx.Bytes()} {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// imageIters opens every iterator with random augmentation.
func imageIters(pictures, objects string, threads int) map[string]func() (dataio.Iter, error) {
	size := image.Size{Width: 8, Height: 6}
	c := dataio.PictureConfig{Path: pictures, DataShape: nd.Shape{3, 6, 8}, BatchSize: 3,
		Shuffle: true, Seed: 5, Threads: threads, LastBatch: dataio.RollOver}
	return map[string]func() (dataio.Iter, error){
		"ImageIter": func() (dataio.Iter, error) {
			return dataio.ImageIter(dataio.ImageConfig{PictureConfig: c,
				Augmenter: image.CreateAugmenter(image.AugmentConfig{Size: size, RandCrop: true,
					RandMirror: true, Brightness: 0.2, PCANoise: 0.1, Interp: image.Random})})
		},
		"ImageDetIter": func() (dataio.Iter, error) {
			c := c
			c.Path = objects
			a, err := image.CreateDetAugmenter(image.DetAugmentConfig{RandCrop: 0.5, RandPad: 0.5,
				AugmentConfig: image.AugmentConfig{Size: size, RandMirror: true, Hue: 0.1}})
			if err != nil {
				return nil, err
			}
			return dataio.ImageDetIter(dataio.ImageDetConfig{PictureConfig: c, Augmenter: a})
		},
		"ImageDetRecordIter": func() (dataio.Iter, error) {
			return dataio.ImageDetRecordIter(dataio.ImageDetRecordConfig{Path: objects,
				DataShape: c.DataShape, BatchSize: 3, Shuffle: true, Seed: 5, Threads: threads,
				DetAugment: image.DetAugment{MirrorP: 0.5, PadP: 0.5, MaxPadScale: 2, CropP: 0.5,
					Contrast: image.DetShift{Most: 0.3, P: 0.5}}})
		},
	}
}

// TestImageItersRepeat compares runs with one and with three threads.
func TestImageItersRepeat(t *testing.T) {
	pictures, objects := pictureFile(t, 11), objectFile(t, 11)
	three := imageIters(pictures, objects, 3)
	for name, open := range imageIters(pictures, objects, 1) {
		one, err := open()
		if err != nil {
			t.Fatal(err)
		}
		many, err := three[name]()
		if err != nil {
			t.Fatal(err)
		}
		if a, b := seen(t, one, 10), seen(t, many, 10); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: three threads give other batches", name)
		}
	}
}

// TestImageIterSources reads the same pictures from records, a list file and a list.
func TestImageIterSources(t *testing.T) {
	root := photos(t)
	list, err := dataio.ListImages(root, true)
	if err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(t.TempDir(), "p")
	if err := dataio.PackImages(t.Context(), prefix, root, list,
		dataio.PackConfig{PassThrough: true}); err != nil {
		t.Fatal(err)
	}
	var lst bytes.Buffer
	if err := dataio.WriteImageList(&lst, list); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prefix+".lst", lst.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var want string
	for name, c := range map[string]dataio.PictureConfig{
		"records": {Path: prefix + ".rec"}, "index": {Path: prefix + ".rec", Index: prefix + ".idx"},
		"labels":    {Path: prefix + ".rec", List: prefix + ".lst"},
		"list file": {List: prefix + ".lst", Root: root}, "list": {Images: list, Root: root},
	} {
		c.DataShape, c.BatchSize = nd.Shape{3, 9, 9}, 3
		it, err := dataio.ImageIter(dataio.ImageConfig{PictureConfig: c})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		data, labels := epochOf(t, it)
		if got := fmt.Sprint(data, labels); want == "" {
			want = got
		} else if got != want {
			t.Errorf("%s: other samples", name)
		}
		if err := it.Close(); err != nil {
			t.Error(err)
		}
		if len(labels) != 4 || labels[2] != 1 || len(data[0]) != 3*81 {
			t.Errorf("%s: labels %v", name, labels)
		}
		c.Part, c.Parts = 1, 2
		half, err := dataio.ImageIter(dataio.ImageConfig{PictureConfig: c})
		if err != nil {
			t.Fatal(err)
		}
		if _, l := epochOf(t, half); fmt.Sprint(l) != fmt.Sprint(labels[2:]) {
			t.Errorf("%s: the second half has the labels %v, want %v", name, l, labels[2:])
		}
		half.Close()
	}
}

func TestImageDetIterShape(t *testing.T) {
	path := objectFile(t, 5)
	c := dataio.ImageDetConfig{PictureConfig: dataio.PictureConfig{Path: path,
		DataShape: nd.Shape{3, 6, 8}, BatchSize: 2}, MaxObjects: 4}
	it, err := dataio.ImageDetIter(c)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	if s := it.ProvideLabel()[0]; !s.Shape.Equal(nd.Shape{2, 4, 5}) || s.Name != "label" {
		t.Errorf("labels %v", s)
	}
	b, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v, err := b.Label[0].Float32s(); err != nil || v[4] != 0.5 || v[5] != -1 || v[19] != -1 {
		t.Errorf("labels %v, %v", v, err)
	}
}

func TestImageIterMistakes(t *testing.T) {
	pictures, objects := pictureFile(t, 3), objectFile(t, 3)
	shape := nd.Shape{3, 6, 8}
	open := map[string]func() (*dataio.ImageRecords, error){}
	plain := func(name string, c dataio.PictureConfig) {
		open[name] = func() (*dataio.ImageRecords, error) {
			return dataio.ImageIter(dataio.ImageConfig{PictureConfig: c})
		}
	}
	plain("no shape", dataio.PictureConfig{Path: pictures})
	plain("no pictures", dataio.PictureConfig{DataShape: shape})
	plain("no file", dataio.PictureConfig{DataShape: shape, Path: "none.rec"})
	plain("no list", dataio.PictureConfig{DataShape: shape, List: "none.lst"})
	plain("part", dataio.PictureConfig{DataShape: shape, Path: pictures, Part: 2, Parts: 2})
	plain("many parts", dataio.PictureConfig{DataShape: shape, Path: pictures, Parts: 4})
	plain("pixels", dataio.PictureConfig{DataShape: shape, Path: pictures, MaxPixels: -1})
	object := func(name string, c dataio.ImageDetConfig) {
		c.DataShape = shape
		open[name] = func() (*dataio.ImageRecords, error) { return dataio.ImageDetIter(c) }
	}
	object("labels without objects", dataio.ImageDetConfig{PictureConfig: dataio.PictureConfig{
		Path: pictures}})
	object("too few rows", dataio.ImageDetConfig{MaxObjects: 1, PictureConfig: dataio.PictureConfig{
		Path: objects}})
	records := func(name string, c dataio.ImageDetRecordConfig) {
		c.DataShape = shape
		open[name] = func() (*dataio.ImageRecords, error) { return dataio.ImageDetRecordIter(c) }
	}
	records("no path", dataio.ImageDetRecordConfig{})
	records("label width", dataio.ImageDetRecordConfig{Path: objects, LabelWidth: 7})
	records("pad width", dataio.ImageDetRecordConfig{Path: objects, LabelPadWidth: 10})
	records("byte part", dataio.ImageDetRecordConfig{Path: objects, Part: 3, Parts: 3})
	records("setting", dataio.ImageDetRecordConfig{Path: objects,
		DetAugment: image.DetAugment{Fit: 7}})
	records("mean", dataio.ImageDetRecordConfig{Path: objects, MeanImage: nd.Zeros(nd.Shape{3})})
	for name, f := range open {
		if it, err := f(); err == nil {
			it.Close()
			t.Errorf("%s: no error", name)
		}
	}
	for name, c := range map[string]dataio.ImageConfig{
		"size":  {Augmenter: image.CastAug{}},
		"width": {LabelWidth: 2},
	} {
		c.DataShape, c.Path = shape, pictures
		it, err := dataio.ImageIter(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := it.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "record") {
			t.Errorf("%s: error %v, want one that names the record", name, err)
		}
		it.Close()
	}
}

// Normalized samples of ImageDetRecordIter, by channel and by a mean picture.
func TestImageDetRecordNormalize(t *testing.T) {
	path := objectFile(t, 2)
	first := func(c dataio.ImageDetRecordConfig) []float32 {
		t.Helper()
		c.Path, c.DataShape = path, nd.Shape{3, 10, 12}
		it, err := dataio.ImageDetRecordIter(c)
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		if err := dataio.Skip(context.Background(), it, 1); err != nil {
			t.Fatal(err)
		}
		b, err := it.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v, err := b.Data[0].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	plain := first(dataio.ImageDetRecordConfig{})
	byChannel := first(dataio.ImageDetRecordConfig{Mean: [4]float32{4, 4, 4}, Std: [4]float32{2, 4},
		Scale: 3})
	byPicture := first(dataio.ImageDetRecordConfig{MeanImage: nd.Full(4, nd.Shape{3, 10, 12}),
		Std: [4]float32{2, 4}, Scale: 3})
	for i, v := range plain {
		want := (v - 4) * 3 / []float32{2, 4, 1}[i/120]
		if d, e := byChannel[i]-want, byPicture[i]-want; d > 1e-3 || d < -1e-3 || e > 1e-3 || e < -1e-3 {
			t.Fatalf("value %d of %v: %v by channel, %v by picture, want %v", i, v, byChannel[i],
				byPicture[i], want)
		}
	}
}

func ExampleImageDetIter() {
	augmenter, err := image.CreateDetAugmenter(image.DetAugmentConfig{
		AugmentConfig: image.AugmentConfig{Size: image.Size{Width: 18, Height: 16}}})
	if err != nil {
		panic(err)
	}
	it, err := dataio.ImageDetIter(dataio.ImageDetConfig{Augmenter: augmenter,
		PictureConfig: dataio.PictureConfig{Path: "testdata/objects.rec",
			DataShape: nd.Shape{3, 16, 18}, BatchSize: 2}})
	if err != nil {
		panic(err)
	}
	defer it.Close()
	batch, err := it.Next(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(batch.Data[0].Shape(), batch.Label[0].Shape())
	fmt.Printf("%.2f\n", batch.Label[0].Slice(0, 1))
	// Output:
	// (2, 3, 16, 18) (2, 3, 5)
	// [[[ 3.00  0.21  0.11  0.44  0.53]
	//   [-1.00 -1.00 -1.00 -1.00 -1.00]
	//   [-1.00 -1.00 -1.00 -1.00 -1.00]]]
}
