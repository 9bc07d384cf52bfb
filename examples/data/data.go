package data

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

//go:embed *.gz
var digits embed.FS

// Set is a set of labelled images.
type Set struct {
	Name    string
	Classes []string
	Size    int // height and width of the images in pixels

	files fs.FS
	names [4]string // files of training images, training labels, test images, test labels
}

// Dir is the folder in which Debian installs Fashion-MNIST.
const Dir = "/usr/share/datasets/fashion-mnist"

// Open returns Fashion-MNIST from a folder with its four files, or the digits if the folder does
// not have them.
func Open(dir string) Set {
	fashion := Set{Name: "Fashion-MNIST", Size: 28, files: os.DirFS(dir),
		Classes: []string{"T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt",
			"sneaker", "bag", "boot"},
		names: [4]string{"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
			"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}}
	for _, n := range fashion.names {
		if _, err := os.Stat(filepath.Join(dir, n)); err != nil {
			return Digits()
		}
	}
	return fashion
}

// Digits returns the digits that are part of the program.
func Digits() Set {
	return Set{Name: "digits", Size: 8, files: digits,
		Classes: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
		names: [4]string{"digits-train-images.gz", "digits-train-labels.gz",
			"digits-test-images.gz", "digits-test-labels.gz"}}
}

// Train returns a shuffled iterator over the training images.
func (s Set) Train(batch int, seed uint64) (*dataio.Table, error) {
	return dataio.MNISTIter(dataio.MNISTConfig{FS: s.files, Image: s.names[0], Label: s.names[1],
		BatchSize: batch, Shuffle: true, Seed: seed})
}

// Test returns an iterator over all test images; the last batch is padded.
func (s Set) Test(batch int) (*dataio.Table, error) {
	return dataio.MNISTIter(dataio.MNISTConfig{FS: s.files, Image: s.names[2], Label: s.names[3],
		BatchSize: batch, LastBatch: dataio.Pad})
}

// Arrays returns the training images and their labels, and the test images and their labels.
func (s Set) Arrays() (train, test []*nd.Array, err error) {
	train, err = s.arrays(0)
	test, err2 := s.arrays(2)
	return train, test, errors.Join(err, err2)
}

// arrays reads the images of file k and the labels of the file behind it.
func (s Set) arrays(k int) ([]*nd.Array, error) {
	c := dataio.MNISTConfig{FS: s.files, Image: s.names[k], Label: s.names[k+1], BatchSize: 1}
	it, err := dataio.MNISTIter(c)
	if err != nil {
		return nil, err
	}
	c.BatchSize = it.Samples() // one batch, whose arrays nobody overwrites
	if it, err = dataio.MNISTIter(c); err != nil {
		return nil, err
	}
	b, err := it.Next(context.Background())
	if err != nil {
		return nil, err
	}
	return append(b.Data, b.Label...), nil
}
