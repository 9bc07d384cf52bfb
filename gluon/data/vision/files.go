package vision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gomx/dtype"
	"gomx/gluon/data"
	dataio "gomx/io"
	nd "gomx/ndarray"
)

// Split is a part of a data set.
type Split uint8

// The parts of data sets.
const (
	Train Split = iota
	Test
)

// MNIST returns the 28×28 pixels of handwritten digits as uint8 of shape (28, 28, 1), and their
// labels as int32. dir has the four files of the data set, gzipped or not.
//
// MXNet: gluon.data.vision.MNIST.
func MNIST(dir string, split Split) data.Dataset[data.Sample] {
	name := "train"
	if split == Test {
		name = "t10k"
	}
	images, err := readIDX(dir, name+"-images-idx3-ubyte")
	if err != nil {
		return failed(err)
	}
	labels, err := readIDX(dir, name+"-labels-idx1-ubyte")
	if err != nil {
		return failed(err)
	}
	n := len(labels.Data)
	if len(images.Shape) != 3 || len(labels.Shape) != 1 || images.Shape[0] != n {
		return failed(fmt.Errorf("vision: %s: pictures of shape %v and labels of shape %v, want as "+
			"many pictures as labels", dir, images.Shape, labels.Shape))
	}
	list := make([]int32, n)
	for i, v := range labels.Data {
		list[i] = int32(v)
	}
	return labelled(images.Data, nd.Shape{images.Shape[1], images.Shape[2], 1}, list)
}

// FashionMNIST is MNIST for the pictures of clothes of Zalando, whose files have the same names.
//
// MXNet: gluon.data.vision.FashionMNIST.
func FashionMNIST(dir string, split Split) data.Dataset[data.Sample] { return MNIST(dir, split) }

// readIDX reads an idx file, or its gzipped form.
func readIDX(dir, name string) (*dataio.IDX, error) {
	var missing error
	for _, end := range []string{".gz", ""} {
		path := filepath.Join(dir, name+end)
		x, err := dataio.ReadIDXFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = err
			continue
		case err != nil:
			return nil, fmt.Errorf("vision: %w", err)
		case x.DType != dtype.Uint8:
			return nil, fmt.Errorf("vision: %s: elements of %v, want uint8", path, x.DType)
		}
		return x, nil
	}
	return nil, fmt.Errorf("vision: %w; there is no %s.gz either", missing, name)
}

func failed(err error) data.Dataset[data.Sample] {
	return data.Fail[data.Sample](err)
}

// labelled returns a data set of pictures of one shape, whose bytes are in a row, with labels.
func labelled(pix []byte, shape nd.Shape, labels []int32) data.Dataset[data.Sample] {
	size := shape.Size()
	return data.New(len(labels), func(_ context.Context, i int, _ *rand.Rand) (data.Sample, error) {
		return data.Sample{data.Values(pix[i*size:(i+1)*size:(i+1)*size], shape...),
			data.Scalar(labels[i])}, nil
	})
}

// CIFAR10 returns pictures of ten classes as uint8 of shape (32, 32, 3), and their labels as int32.
// dir, or its folder cifar-10-batches-bin, has the files of the binary version.
//
// MXNet: gluon.data.vision.CIFAR10.
func CIFAR10(dir string, split Split) data.Dataset[data.Sample] {
	files := []string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
		"data_batch_5.bin"}
	if split == Test {
		files = []string{"test_batch.bin"}
	}
	return cifar(dir, "cifar-10-batches-bin", files, 1, 0)
}

// CIFAR100 is CIFAR10 for the data set of 100 classes. With fine, labels are the classes, otherwise
// the 20 groups of them. dir, or its folder cifar-100-binary, has the files train.bin and test.bin.
//
// MXNet: gluon.data.vision.CIFAR100.
func CIFAR100(dir string, split Split, fine bool) data.Dataset[data.Sample] {
	files, label := []string{"train.bin"}, 0
	if split == Test {
		files = []string{"test.bin"}
	}
	if fine {
		label = 1
	}
	return cifar(dir, "cifar-100-binary", files, 2, label)
}

// cifar reads files whose records have labels bytes of labels, of which it takes one, and the three
// planes of a picture.
func cifar(dir, folder string, files []string, labels, label int) data.Dataset[data.Sample] {
	const side, plane = 32, 32 * 32
	if _, err := os.Stat(filepath.Join(dir, files[0])); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, folder)); err == nil {
			dir = filepath.Join(dir, folder)
		}
	}
	var pix []byte
	var list []int32
	record := labels + 3*plane
	for _, name := range files {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return failed(fmt.Errorf("vision: %w", err))
		}
		if len(b) == 0 || len(b)%record != 0 {
			return failed(fmt.Errorf("vision: %s has %d bytes, want a multiple of %d",
				filepath.Join(dir, name), len(b), record))
		}
		for ; len(b) > 0; b = b[record:] {
			list = append(list, int32(b[label]))
			red := b[labels:record]
			for i := range plane {
				pix = append(pix, red[i], red[plane+i], red[2*plane+i])
			}
		}
	}
	return labelled(pix, nd.Shape{side, side, 3}, list)
}
