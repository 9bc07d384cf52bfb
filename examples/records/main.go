// Records packs pictures into a RecordIO file, as gomx im2rec does, and trains on the pictures of
// the file, which the iterator changes at random: shifts, rotations and contrast. Such changes make
// up for a small number of pictures.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	images "gomx/examples/data"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/io/image"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

const (
	side  = 8
	few   = 800  // pictures for training
	least = 0.91 // share of test pictures that must be classified correctly
)

func main() {
	plain, changed, err := run(context.Background(), 30)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accuracy %.4f, with random changes %.4f\n", plain, changed)
	if changed < least || changed < plain {
		log.Fatalf("want at least %v, and not less than without changes", least)
	}
}

// pack writes n pictures as PNG files, a folder for each class, and packs them into prefix.rec.
func pack(ctx context.Context, prefix string, set []*nd.Array, n int) error {
	pixels, err1 := set[0].Float32s()
	labels, err2 := set[1].Float32s()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for i, class := range labels[:min(n, len(labels))] {
		m := image.New(side, side, 1)
		for k := range m.Pix {
			m.Pix[k] = uint8(255 * pixels[i*side*side+k])
		}
		b, err := m.PNG()
		if err != nil {
			return err
		}
		dir := filepath.Join(prefix, fmt.Sprint(class))
		err = errors.Join(os.MkdirAll(dir, 0o755),
			os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), b, 0o644))
		if err != nil {
			return err
		}
	}
	list, err := dataio.ListImages(prefix, true)
	if err != nil {
		return err
	}
	return dataio.PackImages(ctx, prefix, prefix, list, dataio.PackConfig{PNG: true, Gray: true})
}

// open reads the pictures of prefix.rec.
func open(prefix string, shuffle bool, changes image.Augment, contrast float32) (
	*dataio.ImageRecords, error) {
	return dataio.ImageRecordIter(dataio.ImageRecordConfig{Path: prefix + ".rec",
		Index: prefix + ".idx", DataShape: nd.Shape{1, side, side}, BatchSize: 50, Seed: 1,
		Shuffle: shuffle, Augment: changes,
		Normalize: dataio.Normalize{Scale: 1.0 / 255, MaxRandomContrast: contrast}})
}

// network has two convolutions and two dense layers.
func network() *sym.Symbol {
	x := sym.Var("data")
	for i, filters := range []int{16, 32} {
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: filters}, sym.Name(fmt.Sprint("conv", i)))
		x = sym.Pooling(sym.Relu(x), sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}})
	}
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 64}, sym.Name("fc1"))
	x = sym.FullyConnected(sym.Relu(x), sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// run trains for some epochs without and with random changes, and returns both accuracies.
func run(ctx context.Context, epochs int) (plain, changed float64, err error) {
	dir, err := os.MkdirTemp("", "records")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	learn, check, err := images.Digits().Arrays()
	if err != nil {
		return 0, 0, err
	}
	train, test := filepath.Join(dir, "train"), filepath.Join(dir, "test")
	err = errors.Join(pack(ctx, train, learn, few), pack(ctx, test, check, few))
	if err != nil {
		return 0, 0, err
	}
	black := uint8(0)
	changes := image.Augment{Pad: 1, Fill: &black, RandCrop: true, MaxRotateAngle: 10}
	if plain, err = fit(ctx, train, test, epochs, image.Augment{}, 0); err != nil {
		return 0, 0, err
	}
	changed, err = fit(ctx, train, test, epochs, changes, 0.2)
	return plain, changed, err
}

// fit trains on changed pictures and returns the accuracy on unchanged test pictures.
func fit(ctx context.Context, train, test string, epochs int, changes image.Augment,
	contrast float32) (float64, error) {
	data, err := open(train, true, changes, contrast)
	if err != nil {
		return 0, err
	}
	defer data.Close()
	check, err := open(test, false, image.Augment{}, 0)
	if err != nil {
		return 0, err
	}
	defer check.Close()
	mod := module.New(network(), module.Seed(1))
	if err := mod.Fit(ctx, data, module.Epochs(epochs), module.Init(initializer.Xavier{}),
		module.Optimize(optimizer.SGD{LR: 0.05, Momentum: 0.9})); err != nil {
		return 0, err
	}
	score, err := mod.Score(ctx, check, metric.Accuracy())
	if err != nil {
		return 0, err
	}
	return score[0].Value, nil
}
