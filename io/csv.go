package io

import (
	"errors"
	"fmt"

	"gomx/dtype"
	"gomx/io/text"
	nd "gomx/ndarray"
	"gomx/op"
)

// CSVConfig configures CSVIter.
type CSVConfig struct {
	TextConfig
	// Storage is the storage type of the data: nd.Dense, or nd.CSR, which stores the values that
	// are not zero and wants a DataShape of one axis.
	Storage nd.Storage
}

// CSVIter iterates over files of numbers separated by commas, with one sample per line, as float32.
// Without a label file all labels are 0, as in MXNet.
func CSVIter(c CSVConfig) (*TextIter, error) {
	if err := c.check("CSVIter"); err != nil {
		return nil, err
	}
	if c.Storage == nd.RowSparse || c.Storage == nd.CSR && len(c.DataShape) != 1 {
		return nil, fmt.Errorf("io: CSVIter: data shape %v in storage %v, want default, or csr "+
			"with one axis", c.DataShape, c.Storage)
	}
	data, err := openText(&c.TextConfig, c.Data, false)
	if err != nil {
		return nil, err
	}
	files := []*text.Lines{data}
	samples := csvColumn(orElse(c.DataName, "data"), c.DataShape, data)
	if c.Storage == nd.CSR {
		samples = csvSparse(samples.name, c.DataShape[0], data)
	}
	row, _ := c.labelRow()
	labels := column{name: orElse(c.LabelName, "softmax_label"), row: row, typ: dtype.Float32,
		n: data.Len(), fill: func(dst []byte, _ []int) { clear(dst) }}
	if c.Label != "" {
		lines, err := openLabels(&c.TextConfig, data, false)
		if err != nil {
			return nil, errors.Join(err, data.Close())
		}
		files = append(files, lines)
		labels = csvColumn(labels.name, row, lines)
	}
	return c.iter(samples, labels, files)
}

// csvColumn returns the dense column of a file.
func csvColumn(name string, row nd.Shape, lines *text.Lines) column {
	size := row.Size()
	return column{name: name, row: row, typ: dtype.Float32, n: lines.Len(),
		read: func(dst []byte, rows []int) error {
			values := floatsOf(dst)
			return lines.Each(rows, func(_, i int, line []byte) error {
				return text.CSV(line, values[i*size:(i+1)*size])
			})
		}}
}

// csvSparse returns the csr column of a file.
func csvSparse(name string, width int, lines *text.Lines) column {
	var parsed []text.Rows
	parse := func(line []byte, to *text.Rows) error { return text.SparseCSV(line, width, to) }
	return column{name: name, row: nd.Shape{width}, typ: dtype.Float32, n: lines.Len(),
		prepare: func(rows []int) error { return parseRows(lines, rows, &parsed, parse) },
		store: func(s *op.Sparse, _ []int) error {
			storeRows(s, parsed)
			return nil
		}}
}
