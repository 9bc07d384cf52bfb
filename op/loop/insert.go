package loop

import "gomx/op"

// Insert makes a row_sparse s store more rows, which ascend without repetition, and returns the
// places of the rows that it did not store, in ascending order. Their values are undefined; the
// other rows keep theirs. Only the rows behind the first new one move. Memory grows by a quarter at
// least, so that an array to which rows are added again and again is seldom copied as a whole.
func Insert(s *op.Sparse, rows []int64) (fresh []int) {
	var ids []int64
	k := 0
	for _, r := range rows {
		k += Search(s.Indices[k:], r)
		if k == s.N || s.Indices[k] != r {
			ids, fresh = append(ids, r), append(fresh, k)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	end := s.N
	grow(s, end+len(fresh))
	row := s.Row() * s.DType.Size()
	for i := len(fresh) - 1; i >= 0; i-- {
		at := fresh[i]
		copy(s.Indices[at+i+1:], s.Indices[at:end])
		copy(s.Bytes()[(at+i+1)*row:], s.Bytes()[at*row:end*row])
		s.Indices[at+i] = ids[i]
		fresh[i], end = at+i, at
	}
	return fresh
}

// InsertZeros is Insert of rows of zeros.
func InsertZeros(s *op.Sparse, rows []int64) {
	row := s.Row() * s.DType.Size()
	for _, at := range Insert(s, rows) {
		clear(s.Bytes()[at*row : (at+1)*row])
	}
}

// grow makes room for n rows and keeps the first ones.
func grow(s *op.Sparse, n int) {
	if bytes := n * s.Row() * s.DType.Size(); cap(s.Indices) >= n && cap(s.Bytes()) >= bytes {
		s.Room(n)
		return
	}
	old := op.NewSparse(op.RowSparse, s.DType, s.Shape)
	old.Pool()
	defer old.Free()
	CopyStored(old, s)
	s.Room(min(n+n/4, s.Shape[0]))
	s.Cut(n)
	copy(s.Indices, old.Indices)
	copy(s.Bytes(), old.Bytes())
}
