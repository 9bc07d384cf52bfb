// Package linalg defines the operators of linear algebra: products, factorizations, inverses,
// determinants, and what moves diagonals and triangles in and out of matrices.
//
// Names, attributes, shapes and semantics are those of MXNet 1.9.1. The last two axes of an operand
// are matrices, the axes before them count matrices and are equal for all operands; every operator
// works on one matrix after the other. Element types are float32 and float64.
//
//	l := linalg.Potrf.Apply(linalg.CholeskyParams{}, a)                          // L·Lᵀ = A
//	x := linalg.Trsm.Apply(linalg.TriangularParams{}, l, b)                  // L·X = B
//	y := linalg.Gemm2.Apply(linalg.Gemm2Params{TransposeA: true}, x, x)      // Xᵀ·X
//
// # One number per matrix
//
// Determinants and sums of logarithms have the shape of the leading axes. For a single matrix, which has
// none, it is (1,), MXNet's way to write a number.
//
// # Symmetric and triangular operands
//
// What is said to be symmetric is read from one triangle, the lower one unless LinalgPotrf is told otherwise, (LinalgPotrf, LinalgSyevd) and gets a symmetric
// gradient: the one that changes of the matrix as a whole see. Of a triangular operand the other triangle
// is not read, and its gradient is zero there.
//
// # Failures
//
// A matrix that cannot be factored or inverted is an error that says which one of the batch it is.
// Determinants of singular matrices are zero and get no gradient.
//
// # Kernels
//
// The reference kernels compute in float64 with gonum's pure-Go BLAS and LAPACK and round once. Products of
// float32 matrices have a kernel of tier c.
package linalg
