package prim

import (
	"gomx/op"
)

// sliceStorage serves parts of csr matrices without steps.
func sliceStorage(p SliceParams, in []op.Storage) ([]op.Storage, bool) {
	if in[0] == op.Dense {
		return in, true
	}
	for _, step := range p.Step {
		if step.Or(1) != 1 {
			return nil, false
		}
	}
	return in, in[0] == op.CSR
}

// sliceStored cuts some rows and columns out of a csr matrix.
func sliceStored(p SliceParams, c *op.Call) error {
	in, out := c.In[0].Sparse, c.Out[0].Sparse
	list, err := p.windows(in.Shape)
	if err != nil {
		return err
	}
	top, left, right := 0, int64(0), int64(in.Shape[1])
	if len(list) > 0 {
		top = list[0].begin
	}
	if len(list) > 1 {
		left = int64(list[1].begin)
		right = left + int64(list[1].n)
	}
	out.Room(int(in.Starts[top+out.Shape[0]] - in.Starts[top]))
	size, n := in.DType.Size(), 0
	for r := range out.Shape[0] {
		out.Starts[r] = int64(n)
		for i := in.Starts[top+r]; i < in.Starts[top+r+1]; i++ {
			if column := in.Indices[i]; left <= column && column < right {
				out.Indices[n] = column - left
				copy(out.Bytes()[n*size:(n+1)*size], in.Bytes()[int(i)*size:])
				n++
			}
		}
	}
	out.Starts[out.Shape[0]] = int64(n)
	out.Cut(n)
	return nil
}

// concatStorage serves csr matrices one below the other.
func concatStorage(p ConcatParams, in []op.Storage) ([]op.Storage, bool) {
	if axis := p.Dim.Value(); axis != 0 && axis != -2 {
		return []op.Storage{op.Dense}, op.AllDense(in)
	}
	for _, s := range in {
		if s != op.CSR {
			return []op.Storage{op.Dense}, op.AllDense(in)
		}
	}
	return in[:1], true
}

// concatStored puts csr matrices one below the other.
func concatStored(_ ConcatParams, c *op.Call) error {
	out, n := c.Out[0].Sparse, 0
	for _, in := range c.In {
		n += in.Sparse.N
	}
	out.Room(n)
	n, size, row := 0, out.DType.Size(), 0
	for _, in := range c.In {
		s := in.Sparse
		copy(out.Indices[n:], s.Indices)
		copy(out.Bytes()[n*size:], s.Bytes())
		for r := range s.Shape[0] {
			out.Starts[row+r] = int64(n) + s.Starts[r]
		}
		row += s.Shape[0]
		n += s.N
	}
	out.Starts[row] = int64(n)
	return nil
}

// RowsStored writes the given rows of a csr matrix to out.
func RowsStored(out, in *op.Sparse, rows []int64) {
	n := 0
	for _, r := range rows {
		n += int(in.Starts[r+1] - in.Starts[r])
	}
	out.Room(n)
	n, size := 0, in.DType.Size()
	for i, r := range rows {
		begin, end := int(in.Starts[r]), int(in.Starts[r+1])
		out.Starts[i] = int64(n)
		copy(out.Indices[n:], in.Indices[begin:end])
		copy(out.Bytes()[n*size:], in.Bytes()[begin*size:end*size])
		n += end - begin
	}
	out.Starts[len(rows)] = int64(n)
}
