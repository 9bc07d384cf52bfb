package io

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// TextConfig configures CSVIter and LibSVMIter.
type TextConfig struct {
	Data       string   // path of the data file
	DataShape  nd.Shape // shape of one sample
	Label      string   // path of the label file; each iterator has its own default
	LabelShape nd.Shape // shape of one label; nil or (1,): one number per sample

	BatchSize int // 0: 1
	Shuffle   bool
	Seed      uint64
	LastBatch LastBatch // Auto: Round
	DataName  string    // empty: data
	LabelName string    // empty: softmax_label
}

// maxLine is the largest length of a line in text files, in bytes.
const maxLine = 1 << 26

// eachLine calls f for every line of a file that is not blank, and adds the file and the line
// number to its errors. The bytes are valid only during the call.
func eachLine(path string, f func(line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("io: %w", err)
	}
	defer file.Close()
	if err := scanLines(file, f); err != nil {
		return fmt.Errorf("io: %s%w", path, err)
	}
	return nil
}

// scanLines is eachLine for a reader; its errors begin with ":line: ".
func scanLines(r io.Reader, f func(line []byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 1<<16), maxLine)
	n := 0
	for s.Scan() {
		n++
		line := trimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := f(line); err != nil {
			return fmt.Errorf(":%d: %w", n, err)
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return fmt.Errorf(":%d: line longer than %d bytes", n+1, maxLine)
	}
	if s.Err() != nil {
		return fmt.Errorf(": %w", s.Err())
	}
	return nil
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// floatColumn makes a column of float32 samples.
func floatColumn(name string, row nd.Shape, values []float32) column {
	size := row.Size()
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
	return column{name: name, row: row, typ: dtype.Float32, n: len(values) / size,
		fill: byteRows(bytes, 4*size)}
}

// labelRow returns the shape of one label in batches, and its number of values.
func (c *TextConfig) labelRow() (row nd.Shape, size int) {
	if c.LabelShape == nil || c.LabelShape.Equal(nd.Shape{1}) {
		return nd.Shape{}, 1
	}
	return c.LabelShape, c.LabelShape.Size()
}

// check fills in defaults and returns an error for impossible shapes.
func (c *TextConfig) check(iterator string) error {
	if c.DataShape.Size() < 1 {
		return fmt.Errorf("io: %s: data shape %v, want the shape of one sample", iterator,
			c.DataShape)
	}
	if c.LabelShape != nil && c.LabelShape.Size() < 1 {
		return fmt.Errorf("io: %s: label shape %v, want the shape of one label", iterator,
			c.LabelShape)
	}
	if c.LastBatch == Auto {
		c.LastBatch = Round
	}
	c.BatchSize = max(c.BatchSize, 1)
	return nil
}

func (c *TextConfig) table(data, label []float32) (*Table, error) {
	row, _ := c.labelRow()
	return newTable(
		[]column{floatColumn(orElse(c.DataName, "data"), c.DataShape, data)},
		[]column{floatColumn(orElse(c.LabelName, "softmax_label"), row, label)},
		tableOptions{c.BatchSize, c.LastBatch, c.Shuffle, c.Seed})
}
