package io

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"gomx/io/text"
	nd "gomx/ndarray"
	"gomx/op"
)

// TextConfig configures CSVIter and LibSVMIter. A path is a file, a folder, whose files are read in
// the order of their names, or several of both, separated by semicolons.
type TextConfig struct {
	Data       string   // path of the data
	DataShape  nd.Shape // shape of one sample
	Label      string   // path of the labels; each iterator has its own default
	LabelShape nd.Shape // shape of one label; nil or (1,): one number per sample

	BatchSize int // 0: 1
	Shuffle   bool
	Seed      uint64
	LastBatch LastBatch // Auto: Round
	DataName  string    // empty: data
	LabelName string    // empty: softmax_label

	// NumParts divides the data into parts of equal numbers of bytes, of which PartIndex is read;
	// 0: one part. A line belongs to the part that has the byte before it, so that every line is in
	// exactly one part.
	NumParts, PartIndex int
	Threads             int // number of threads that read and parse; 0: number of cores
}

// TextIter iterates over the samples of text files. It keeps their places in memory, and reads and
// parses the samples of a batch when Next is called; with Prefetch, this happens while a network
// computes. It is used by one goroutine at a time, and must be closed.
type TextIter struct {
	*Table
	files []*text.Lines
}

// Close closes the files.
func (t *TextIter) Close() error {
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// openText finds the samples in files, or in a part of them.
func openText(c *TextConfig, path string, comments bool) (*text.Lines, error) {
	lines, err := text.Open(path, text.Options{Part: c.PartIndex, Parts: c.NumParts,
		Comments: comments, Threads: c.Threads})
	if err != nil {
		return nil, fmt.Errorf("io: %w", err)
	}
	return lines, nil
}

// openLabels finds the labels of data in the label files. Where data is a part of its files the
// labels have the same numbers of lines.
func openLabels(c *TextConfig, data *text.Lines, comments bool) (*text.Lines, error) {
	lines, err := text.Open(c.Label, text.Options{Comments: comments, Threads: c.Threads})
	if err != nil {
		return nil, fmt.Errorf("io: %w", err)
	}
	first, err := data.CountBefore()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("io: %w", err), lines.Close())
	}
	n, last := data.Len(), c.PartIndex+1 >= c.NumParts
	if got := lines.Len(); got < first+n || last && got > first+n {
		return nil, errors.Join(fmt.Errorf("io: %s has %d labels, want %d for the samples of %s",
			c.Label, got, first+n, c.Data), lines.Close())
	}
	lines.Keep(first, n)
	return lines, nil
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

// iter returns the iterator over the columns of files, and closes them if it fails.
func (c *TextConfig) iter(data, label column, files []*text.Lines) (*TextIter, error) {
	it := &TextIter{files: files}
	if data.n == 0 {
		part := ""
		if c.NumParts > 1 {
			part = fmt.Sprintf(" in part %d of %d", c.PartIndex, c.NumParts)
		}
		return nil, errors.Join(fmt.Errorf("io: %s has no samples%s, want at least one", c.Data,
			part), it.Close())
	}
	t, err := newTable([]column{data}, []column{label},
		tableOptions{c.BatchSize, c.LastBatch, c.Shuffle, c.Seed})
	if err != nil {
		return nil, errors.Join(err, it.Close())
	}
	if c.NumParts > 1 {
		t.share = share{set: true, files: true, part: c.PartIndex, parts: c.NumParts}
	}
	it.Table = t
	return it, nil
}

// parseRows parses the lines of rows on several threads. Each has its own sparse rows.
func parseRows(lines *text.Lines, rows []int, parsed *[]text.Rows,
	parse func(line []byte, to *text.Rows) error) error {
	n := lines.Workers(rows)
	for len(*parsed) < n {
		*parsed = append(*parsed, text.Rows{})
	}
	all := *parsed
	for i := range all {
		all[i].Reset()
	}
	return lines.Each(rows, func(worker, _ int, line []byte) error {
		return parse(line, &all[worker])
	})
}

// storeRows makes rows the content of a csr array.
func storeRows(s *op.Sparse, parsed []text.Rows) {
	n := 0
	for i := range parsed {
		n += len(parsed[i].Values)
	}
	s.Room(n)
	values, indices := floatsOf(s.Bytes()), s.Indices
	at, row := int64(0), 1
	for i := range parsed {
		r := &parsed[i]
		copy(values[at:], r.Values)
		copy(indices[at:], r.Columns)
		for _, end := range r.Ends {
			s.Starts[row] = at + end
			row++
		}
		at += int64(len(r.Values))
	}
}

// maxLine is the largest length of a line in lists and indices, in bytes.
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
		line := bytes.Trim(s.Bytes(), " \t\r")
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
