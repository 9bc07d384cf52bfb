package io

import (
	"fmt"
	"io/fs"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// MNISTConfig configures MNISTIter.
type MNISTConfig struct {
	Image string // path of the images' idx file, plain or gzipped
	Label string // path of the labels' idx file
	FS    fs.FS  // file system of both files; nil: the machine's
	Flat  bool   // make samples vectors instead of arrays of shape (1, rows, columns)

	BatchSize int // 0: 128
	Shuffle   bool
	Seed      uint64
	LastBatch LastBatch // Auto: Discard
	DataName  string    // empty: data
	LabelName string    // empty: softmax_label
}

// MNISTIter iterates over the images of idx files, such as MNIST and Fashion-MNIST. Pixels are
// divided by 256 and become float32 in [0, 1), as in MXNet.
func MNISTIter(c MNISTConfig) (*Table, error) {
	img, err := readIDXFile(c.FS, c.Image)
	if err != nil {
		return nil, err
	}
	lab, err := readIDXFile(c.FS, c.Label)
	if err != nil {
		return nil, err
	}
	if img.DType != dtype.Uint8 || len(img.Shape) != 3 {
		return nil, fmt.Errorf("io: %s: %v array of shape %v, want uint8 images of shape (n, "+
			"rows, columns)", c.Image, img.DType, img.Shape)
	}
	if lab.DType != dtype.Uint8 || len(lab.Shape) != 1 {
		return nil, fmt.Errorf("io: %s: %v array of shape %v, want uint8 labels of shape (n,)",
			c.Label, lab.DType, lab.Shape)
	}
	if img.Shape[0] != lab.Shape[0] {
		return nil, fmt.Errorf("io: %s has %d images, %s has %d labels, want as many", c.Image,
			img.Shape[0], c.Label, lab.Shape[0])
	}
	rows, cols := img.Shape[1], img.Shape[2]
	row := nd.Shape{1, rows, cols}
	if c.Flat {
		row = nd.Shape{rows * cols}
	}
	if c.LastBatch == Auto {
		c.LastBatch = Discard
	}
	if c.BatchSize == 0 {
		c.BatchSize = 128
	}
	data := column{name: orElse(c.DataName, "data"), row: row, typ: dtype.Float32, n: img.Shape[0],
		fill: scaledRows(img.Data, rows*cols, 1.0/256)}
	label := column{name: orElse(c.LabelName, "softmax_label"), row: nd.Shape{}, typ: dtype.Float32,
		n: lab.Shape[0], fill: scaledRows(lab.Data, 1, 1)}
	return newTable([]column{data}, []column{label}, tableOptions{c.BatchSize, c.LastBatch,
		c.Shuffle, c.Seed})
}

// scaledRows returns a fill function that multiplies bytes by scale to make float32.
func scaledRows(data []byte, row int, scale float32) func([]byte, []int) {
	var table [256]float32
	for i := range table {
		table[i] = float32(i) * scale
	}
	return func(dst []byte, rows []int) {
		out := floatsOf(dst)[:len(rows)*row]
		for i, r := range rows {
			src := data[r*row : (r+1)*row]
			d := out[i*row : (i+1)*row]
			for j, v := range src {
				d[j] = table[v]
			}
		}
	}
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
