package io

import (
	"errors"
	"fmt"

	"gomx/dtype"
	"gomx/io/text"
	nd "gomx/ndarray"
	"gomx/op"
)

// Hashing makes columns of the names of features.
//
//   - Seed uint32: seed of the hash, MurmurHash3
//   - Signed bool: multiply values by the sign of the hash
type Hashing = text.Hashing

// LibSVMConfig configures LibSVMIter.
type LibSVMConfig struct {
	// TextConfig has the files. DataShape has one axis: the number of columns. A label file has
	// csr labels, and wants a LabelShape of one axis.
	TextConfig
	// Hash makes columns of the features' names, which may then be any text; nil: the names are
	// column numbers that count from 0.
	Hash *Hashing
}

// LibSVMIter iterates over files in LibSVM's format, with one sample per line: a label, then
// index:value pairs with indices from 0. The data are csr arrays. A label file has the same format,
// and its pairs are the labels, csr arrays too; without it, the label at the beginning of each line
// is used.
//
// Other than in MXNet, a pair without a value counts as 1, an index out of range or a word that is
// no number is an error, and the values of an index that a line has several times are added up.
// With parts, the lines of the label file are those of the data file.
func LibSVMIter(c LibSVMConfig) (*TextIter, error) {
	if err := c.check("LibSVMIter"); err != nil {
		return nil, err
	}
	if err := c.checkLabel(); err != nil {
		return nil, err
	}
	data, err := openText(&c.TextConfig, c.Data, true)
	if err != nil {
		return nil, err
	}
	files := []*text.Lines{data}
	samples := &svmColumn{lines: data, parser: text.SVM{Width: c.DataShape[0], Hash: c.Hash}}
	labels := column{name: orElse(c.LabelName, "softmax_label"), row: nd.Shape{},
		typ: dtype.Float32, n: data.Len(), fill: samples.fillLabels}
	if c.Label != "" {
		lines, err := openLabels(&c.TextConfig, data, true)
		if err != nil {
			return nil, errors.Join(err, data.Close())
		}
		files = append(files, lines)
		of := &svmColumn{lines: lines, parser: text.SVM{Width: c.LabelShape[0]}}
		labels = of.column(labels.name)
	}
	return c.iter(samples.column(orElse(c.DataName, "data")), labels, files)
}

// checkLabel returns an error for impossible shapes of data and labels.
func (c *LibSVMConfig) checkLabel() error {
	row, size := c.labelRow()
	switch {
	case len(c.DataShape) != 1:
		return fmt.Errorf("io: LibSVMIter: data shape %v, want one axis", c.DataShape)
	case c.Hash != nil && c.DataShape[0] > text.MostColumns:
		return fmt.Errorf("io: LibSVMIter: %d columns of hashed features, want at most %d",
			c.DataShape[0], text.MostColumns)
	case c.Label == "" && size != 1:
		return fmt.Errorf("io: LibSVMIter: label shape %v needs a label file", c.LabelShape)
	case c.Label != "" && len(row) != 1:
		return fmt.Errorf("io: LibSVMIter: label shape %v with a label file, want one axis of 2 "+
			"or more", c.LabelShape)
	}
	return nil
}

// svmColumn reads the samples of a file in LibSVM's format.
type svmColumn struct {
	lines  *text.Lines
	parser text.SVM
	parsed []text.Rows // of the rows read last, one after the other, by thread
}

// column returns the column of the samples.
func (v *svmColumn) column(name string) column {
	return column{name: name, row: nd.Shape{v.parser.Width}, typ: dtype.Float32, n: v.lines.Len(),
		prepare: v.parse, store: v.store}
}

// parse parses the lines of rows.
func (v *svmColumn) parse(rows []int) error {
	return parseRows(v.lines, rows, &v.parsed, v.parser.Parse)
}

// store writes the rows that were parsed last.
func (v *svmColumn) store(s *op.Sparse, _ []int) error {
	storeRows(s, v.parsed)
	return nil
}

// fillLabels writes the labels of the rows that were parsed last.
func (v *svmColumn) fillLabels(dst []byte, _ []int) {
	labels := floatsOf(dst)
	for i := range v.parsed {
		labels = labels[copy(labels, v.parsed[i].Labels):]
	}
}
