package loop

import "gomx/op"

// sparseColumns is the number of columns for each stored element from which on SumColumns leaves a
// matrix to sums over sorted columns: it visits all columns.
const sparseColumns = 1024

// SumColumns computes the transpose of a csr matrix times src, whose rows have n elements, where
// both are float32: row k of the product is the sum of the rows of src that belong to the elements
// of column k, in their order. The product has the columns with an element as its rows if out is
// row_sparse, and zeros elsewhere otherwise. It returns false where sums over sorted columns, which
// give the same bits, are better.
func SumColumns(out op.Tensor, a *op.Sparse, src op.Tensor, n, threads int) bool {
	if a.Shape[1] > sparseColumns*a.N || a.Shape[0] == 0 {
		return false
	}
	return sumColumns(out, a, src, n, Parts(threads, a.N*n))
}
