package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gomx/gluon/data"
	"gomx/gluon/data/vision"
	dataio "gomx/io"
	"gomx/io/image"
	nd "gomx/ndarray"
)

// Pictures of the suite io, and the batches that they are read in.
const (
	pictureCount  = 128
	pictureBatch  = 32
	pictureWidth  = 500
	pictureHeight = 375
	arrayRows     = 4096 // samples of the lines without pictures
)

// inputs ports peers/io.py: reading of training data. It measures processor time, so that the
// number of threads does not matter.
func inputs() ([]Workload, error) {
	crop := image.Size{Width: 224, Height: 224}
	augment := image.AugmentConfig{Size: crop, Resize: 256, RandCrop: true, RandMirror: true,
		Mean: image.ImageNetMean[:], Std: image.ImageNetStd[:], Interp: image.Linear}
	pictures := func(rec string) dataio.PictureConfig {
		return dataio.PictureConfig{Path: rec, DataShape: nd.Shape{3, 224, 224},
			BatchSize: pictureBatch, Shuffle: true, Seed: 1}
	}
	return []Workload{
		reading("io.imagerecord", func(rec string) (dataio.Iter, error) {
			return dataio.ImageRecordIter(dataio.ImageRecordConfig{Path: rec,
				DataShape: nd.Shape{3, 224, 224}, BatchSize: pictureBatch, Shuffle: true,
				LabelWidth: objectNumbers, Augment: image.Augment{Resize: 256, RandCrop: true},
				Normalize: dataio.Normalize{RandMirror: true, Mean: [4]float32{124, 116, 104},
					Std: [4]float32{58, 57, 57}}})
		}),
		reading("io.imageiter", func(rec string) (dataio.Iter, error) {
			return dataio.ImageIter(dataio.ImageConfig{PictureConfig: pictures(rec),
				LabelWidth: objectNumbers, Augmenter: image.CreateAugmenter(augment)})
		}),
		reading("io.detrecord", func(rec string) (dataio.Iter, error) {
			return dataio.ImageDetRecordIter(dataio.ImageDetRecordConfig{Path: rec,
				DataShape: nd.Shape{3, 300, 300}, BatchSize: pictureBatch, Shuffle: true,
				DetAugment: image.DetAugment{MirrorP: 0.5, CropP: 0.5, PadP: 0.5, MaxPadScale: 2,
					Crops: []image.DetCrop{{Scale: [2]float64{0.5, 1},
						Aspect: [2]float64{0.5, 2}}}},
				Mean: [4]float32{124, 116, 104}, Std: [4]float32{58, 57, 57}})
		}),
		reading("io.detiter", func(rec string) (dataio.Iter, error) {
			colors := image.AugmentConfig{Size: image.Size{Width: 300, Height: 300},
				RandMirror: true, Mean: augment.Mean, Std: augment.Std, Interp: image.Linear}
			a, err := image.CreateDetAugmenter(image.DetAugmentConfig{AugmentConfig: colors,
				RandCrop: 0.5, RandPad: 0.5})
			if err != nil {
				return nil, err
			}
			c := dataio.ImageDetConfig{PictureConfig: pictures(rec), Augmenter: a}
			c.DataShape = nd.Shape{3, 300, 300}
			return dataio.ImageDetIter(c)
		}),
		loading("io.loader.pictures", pictureBatch, func(rec string) data.Dataset[data.Sample] {
			return vision.ImageRecord(rec, image.RGB).Map(vision.First(
				vision.RandomResizedCrop{Size: crop}, vision.RandomFlipLeftRight{},
				vision.ToTensor{}, vision.Normalize{Mean: []float64{0.485, 0.456, 0.406},
					Std: []float64{0.229, 0.224, 0.225}}))
		}),
		loading("io.loader.arrays", 64, func(string) data.Dataset[data.Sample] {
			return data.Arrays(nd.Zeros(nd.Shape{arrayRows, 1, 28, 28}),
				nd.Zeros(nd.Shape{arrayRows}))
		}),
		readingLines("io.libsvm", "clicks.svm"),
		readingLines("io.libsvm.values", "values.svm"),
	}, nil
}

// reading measures the processor time for a picture of an iterator.
func reading(name string, open func(rec string) (dataio.Iter, error)) Workload {
	return perSample(name, pictureRecords, func(ctx context.Context, rec string) (
		epoch func() (int, error), close func() error, err error) {
		it, err := open(rec)
		if err != nil {
			return nil, nil, err
		}
		return epochOf(ctx, it), it.(io.Closer).Close, nil
	})
}

// epochOf returns a function that reads one epoch and counts its samples.
func epochOf(ctx context.Context, it dataio.Iter) func() (n int, err error) {
	return func() (n int, err error) {
		for b, err := range dataio.Epoch(ctx, it) {
			if err != nil {
				return 0, err
			}
			n += it.BatchSize() - b.Pad
		}
		return n, nil
	}
}

// loading measures the processor time for a sample of a loader with one worker.
func loading(name string, batch int, set func(rec string) data.Dataset[data.Sample]) Workload {
	return perSample(name, pictureRecords, func(ctx context.Context, rec string) (
		epoch func() (int, error), close func() error, err error) {
		d := set(rec)
		l := data.NewLoader(d, batch, data.Shuffle(1), data.LastBatch(data.Discard))
		return func() (n int, err error) {
			for b, err := range l.Batches(ctx) {
				if err != nil {
					return 0, err
				}
				n += b.Size
			}
			return n, nil
		}, d.Close, nil
	})
}

// perSample measures the least processor time for a sample in three epochs after a first one. write
// writes a file, unless it is there, and returns its path.
func perSample(name string, write func(folder string) (path string, err error),
	open func(ctx context.Context, path string) (epoch func() (int, error), close func() error,
		err error)) Workload {
	run := func(ctx context.Context) (float64, error) {
		path, err := write(pictureFolder())
		if err != nil {
			return 0, err
		}
		epoch, shut, err := open(ctx, path)
		if err != nil {
			return 0, err
		}
		defer shut()
		least := math.Inf(1)
		for i := range 4 {
			start, err := processSeconds()
			if err != nil {
				return 0, err
			}
			n, err := epoch()
			if err != nil {
				return 0, err
			}
			end, err := processSeconds()
			if err != nil {
				return 0, err
			}
			if i > 0 {
				least = min(least, (end-start)/float64(n)*1e6)
			}
		}
		return least, nil
	}
	return Workload{Name: name, Unit: "us/sample", Run: run}
}

// pictureFolder is the folder of the pictures, which the scripts of peers read too.
func pictureFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("gomx-bench-io-%d", os.Getuid()))
}

// folderAndLine passes the folder of the pictures and the line to a script.
func folderAndLine(_ Peer, line string) []string {
	return []string{pictureFolder(), onlyLine(Peer{}, line)[0]}
}

// objectNumbers is the length of the labels: two objects.
const objectNumbers = 2 + 2*5

// pictureRecords packs pictures with the boxes of two objects, unless they are there.
func pictureRecords(folder string) (rec string, err error) {
	rec = filepath.Join(folder, "pictures.rec")
	if _, err := os.Stat(rec); err == nil {
		return rec, nil
	}
	return rec, writePictures(folder, rec)
}

func writePictures(folder, rec string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	part, err := os.CreateTemp(folder, "part")
	if err != nil {
		return err
	}
	defer part.Close()
	index, err := os.Create(filepath.Join(folder, "pictures.idx"))
	if err != nil {
		return err
	}
	defer index.Close()
	out := bufio.NewWriter(part)
	w, r := dataio.NewRecordWriter(out), rand.New(rand.NewPCG(1, 2))
	for i := range pictureCount {
		b, err := photo(r).JPEG(90)
		if err != nil {
			return err
		}
		label := []float32{2, 5, 1, 0.1, 0.1, 0.6, 0.7, 2, 0.4, 0.3, 0.9, 0.8}
		fmt.Fprintf(index, "%d\t%d\n", i, w.Offset())
		if err := w.Write(dataio.PackRecord(dataio.RecordHeader{Label: label, ID: uint64(i)},
			b)); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return os.Rename(part.Name(), rec)
}

// photo returns a picture with as much detail as a photograph: waves and a little noise.
func photo(r *rand.Rand) *image.Image {
	m := image.New(pictureHeight, pictureWidth, 3)
	var wave [12]float64
	for i := range wave {
		wave[i] = r.Float64() * 0.15
	}
	for y := range m.Height {
		for x := range m.Width {
			p := m.At(x, y)
			for k := range p {
				v := 128.0
				for i := k; i < len(wave); i += 3 {
					v += 25 * math.Sin(wave[i]*float64(x)+wave[len(wave)-1-i]*float64(y))
				}
				p[k] = uint8(min(max(v+8*r.NormFloat64(), 0), 255))
			}
		}
	}
	return m
}
