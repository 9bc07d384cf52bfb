package io

import (
	"bytes"
	"fmt"
	"strconv"

	nd "gomx/ndarray"
)

// LibSVMIter iterates over files in LibSVM's format, with one sample per line: a label, then
// index:value pairs with indices from 0. Samples are dense. A label file has the same format, and
// its pairs are the labels; without a label file, the label that begins each line is used.
func LibSVMIter(c TextConfig) (*Table, error) {
	if err := c.check("LibSVMIter"); err != nil {
		return nil, err
	}
	if len(c.DataShape) != 1 {
		return nil, fmt.Errorf("io: LibSVMIter: data shape %v, want one axis", c.DataShape)
	}
	data, label, err := readLibSVM(c.Data, c.DataShape[0])
	if err != nil {
		return nil, err
	}
	if c.Label != "" {
		_, size := c.labelRow()
		if label, _, err = readLibSVM(c.Label, size); err != nil {
			return nil, err
		}
	} else if row, _ := c.labelRow(); !row.Equal(nd.Shape{}) {
		return nil, fmt.Errorf("io: LibSVMIter: label shape %v needs a label file", c.LabelShape)
	}
	return c.table(data, label)
}

// readLibSVM returns the dense rows of a file and the labels that begin its lines.
func readLibSVM(path string, width int) (rows, labels []float32, err error) {
	err = eachLine(path, func(line []byte) error {
		rows = append(rows, make([]float32, width)...)
		label, err := parseLibSVM(line, rows[len(rows)-width:])
		labels = append(labels, label)
		return err
	})
	return rows, labels, err
}

func parseLibSVM(line []byte, row []float32) (label float32, err error) {
	for i, field := range bytes.Fields(line) {
		if i == 0 {
			v, err := strconv.ParseFloat(string(field), 32)
			if err != nil {
				return 0, fmt.Errorf("label %q, want a number", field)
			}
			label = float32(v)
			continue
		}
		index, value, _ := bytes.Cut(field, []byte{':'})
		j, err1 := strconv.Atoi(string(index))
		v, err2 := strconv.ParseFloat(string(value), 32)
		if err1 != nil || err2 != nil {
			return 0, fmt.Errorf("found %q, want an index:value pair", field)
		}
		if j < 0 || j >= len(row) {
			return 0, fmt.Errorf("index %d, want 0 to %d", j, len(row)-1)
		}
		row[j] = float32(v)
	}
	return label, nil
}
