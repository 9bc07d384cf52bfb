package io

import (
	"bytes"
	"fmt"
	"strconv"
)

// CSVIter iterates over files of numbers separated by commas, with one sample per line. It reads
// them into memory as float32. Without a label file all labels are 0, as in MXNet.
func CSVIter(c TextConfig) (*Table, error) {
	if err := c.check("CSVIter"); err != nil {
		return nil, err
	}
	data, err := readCSV(c.Data, c.DataShape.Size())
	if err != nil {
		return nil, err
	}
	_, size := c.labelRow()
	label := make([]float32, len(data)/c.DataShape.Size()*size)
	if c.Label != "" {
		if label, err = readCSV(c.Label, size); err != nil {
			return nil, err
		}
	}
	return c.table(data, label)
}

// readCSV returns the numbers of a file that has width numbers in every line.
func readCSV(path string, width int) ([]float32, error) {
	var values []float32
	err := eachLine(path, func(line []byte) (err error) {
		values, err = appendCSV(values, line, width)
		return err
	})
	return values, err
}

func appendCSV(values []float32, line []byte, width int) ([]float32, error) {
	if n := bytes.Count(line, []byte{','}) + 1; n != width {
		return nil, fmt.Errorf("%d values, want %d", n, width)
	}
	for field := range bytes.SplitSeq(line, []byte{','}) {
		v, err := strconv.ParseFloat(string(trimSpace(field)), 32)
		if err != nil {
			return nil, fmt.Errorf("found %q, want a number", field)
		}
		values = append(values, float32(v))
	}
	return values, nil
}
