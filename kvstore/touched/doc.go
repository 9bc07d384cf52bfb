// Package touched keeps the rows of a matrix that somebody has touched in a row_sparse array. All
// other rows are functions of their numbers: they are made when they are touched or read, so that a
// matrix of any size takes the memory of its touched rows.
//
//	m := touched.Matrix{Array: nd.ZerosOf(nd.RowSparse, shape), Begin: rows.Spec{...}}
//	m.Touch(ids)      // the array stores these rows from now on
//	m.Read(out, ids)  // out stores these rows, the array is left alone
//
// Stores of one process keep their sparse keys in this way, and networks the parameters with
// row_sparse values. Package kvstore/rows does the same on servers, outside of the engine.
package touched
