package io

import (
	"context"
	"fmt"
	"strconv"

	"gomx/device"
	nd "gomx/ndarray"
	"gomx/op"
)

// NDArrayConfig configures NDArrayIter.
type NDArrayConfig struct {
	Data  []*nd.Array // at least one; axis 0 counts the samples
	Label []*nd.Array // may be empty
	// DataNames and LabelNames name the arrays. The default for a single array is data or
	// softmax_label, for several arrays _0_data, _1_data and so on, as in MXNet.
	DataNames  []string
	LabelNames []string

	BatchSize int // 0: 1
	Shuffle   bool
	Seed      uint64
	LastBatch LastBatch // Auto: Pad
}

// NDArrayIter iterates over arrays. If the samples of a batch are contiguous, without shuffling and
// on the processor, the batch is a view of the arrays, as in MXNet: nothing is copied, and writing
// into either changes the other. Shuffled arrays are copied once.
//
// If there are fewer samples than a batch has, Pad and Round repeat them until the batch is full,
// and Batch.Pad counts the repetitions. Discard and RollOver, which would give no batch, are an
// error.
//
// Arrays may be csr; their batches are csr too. Other than in MXNet, which wants Discard for them,
// every treatment of the last batch works.
func NDArrayIter(c NDArrayConfig) (*Table, error) {
	if len(c.Data) == 0 {
		return nil, fmt.Errorf("io: NDArrayIter: no data, want at least one array")
	}
	data, err := arrayColumns(c.Data, c.DataNames, "data", c.Shuffle)
	if err != nil {
		return nil, err
	}
	label, err := arrayColumns(c.Label, c.LabelNames, "softmax_label", c.Shuffle)
	if err != nil {
		return nil, err
	}
	if c.LastBatch == Auto {
		c.LastBatch = Pad
	}
	return newTable(data, label, tableOptions{max(c.BatchSize, 1), c.LastBatch, c.Shuffle, c.Seed})
}

func arrayColumns(arrays []*nd.Array, names []string, fallback string, shuffle bool) ([]column,
	error) {
	if names != nil && len(names) != len(arrays) {
		return nil, fmt.Errorf("io: NDArrayIter: %d names for %d arrays of %s", len(names),
			len(arrays), fallback)
	}
	var cols []column
	for i, a := range arrays {
		c := column{name: fallback, typ: a.DType()}
		switch {
		case names != nil:
			c.name = names[i]
		case len(arrays) > 1:
			c.name = "_" + strconv.Itoa(i) + "_" + fallback
		}
		if len(a.Shape()) == 0 {
			return nil, fmt.Errorf("io: NDArrayIter: %s: a scalar, want an axis that counts "+
				"samples", c.name)
		}
		c.n, c.row = a.Shape()[0], a.Shape()[1:].Clone()
		if err := c.take(a, shuffle); err != nil {
			return nil, fmt.Errorf("io: NDArrayIter: %s: %w", c.name, err)
		}
		cols = append(cols, c)
	}
	return cols, nil
}

// take stores array a in the column, or a copy of it.
func (c *column) take(a *nd.Array, shuffle bool) error {
	switch a.Storage() {
	case nd.CSR:
		m, err := matrixOf(a)
		c.store = m.store
		return err
	case nd.RowSparse:
		return fmt.Errorf("the array is row_sparse, want default or csr")
	}
	if !shuffle && a.Device().Kind == device.KindCPU {
		c.whole = a.Slice(0, c.n) // stays valid when the caller closes a
		return c.whole.Wait(context.Background())
	}
	host := make([]byte, a.Bytes())
	if err := a.ReadBytes(context.Background(), host); err != nil {
		return err
	}
	c.fill = byteRows(host, c.rowBytes())
	return nil
}

// matrix is a copy of a csr array.
type matrix struct {
	starts, columns []int64
	values          []byte
	size            int // bytes of a value
}

// matrixOf copies a csr array.
func matrixOf(a *nd.Array) (m matrix, err error) {
	if m.starts, err = a.IndPtr(); err != nil {
		return m, err
	}
	if m.columns, err = a.Indices(); err != nil {
		return m, err
	}
	d, err := a.Data()
	if err != nil {
		return m, err
	}
	defer d.Close()
	m.values, m.size = make([]byte, d.Bytes()), d.DType().Size()
	return m, d.ReadBytes(context.Background(), m.values)
}

// store writes the samples of rows into a csr array.
func (m *matrix) store(s *op.Sparse, rows []int) error {
	n := int64(0)
	for i, r := range rows {
		n += m.starts[r+1] - m.starts[r]
		s.Starts[i+1] = n
	}
	s.Room(int(n))
	for i, r := range rows {
		begin, end, to := m.starts[r], m.starts[r+1], s.Starts[i]
		copy(s.Indices[to:], m.columns[begin:end])
		copy(s.Bytes()[to*int64(m.size):], m.values[begin*int64(m.size):end*int64(m.size)])
	}
	return nil
}
