// Package linalg defines the operators of linear algebra: products, factorizations, inverses,
// determinants, and the packing of diagonals and triangles of matrices.
//
// Names, attributes, shapes and semantics equal MXNet 1.9.1's. The last two axes of an operand are
// matrices, the axes before them form a batch and are equal for all operands; every operator
// computes the matrices independently. Element types are float32 and float64.
//
//	l := linalg.Potrf.Apply(linalg.CholeskyParams{}, a)                          // L·Lᵀ = A
//	x := linalg.Trsm.Apply(linalg.TriangularParams{}, l, b)                  // L·X = B
//	y := linalg.Gemm2.Apply(linalg.Gemm2Params{TransposeA: true}, x, x)      // Xᵀ·X
//
// # One number per matrix
//
// Determinants and sums of logarithms have the shape of the leading axes. For a single matrix,
// which has no leading axes, the shape is (1,), MXNet's shape of a number.
//
// # Symmetric and triangular operands
//
// LinalgPotrf and LinalgSyevd read only one triangle of a symmetric operand: the lower one, unless
// LinalgPotrf has lower=False. The gradient is symmetric, as for changes of the whole matrix. The
// other triangle of a triangular operand is not read, and the gradient is zero there.
//
// # Failures
//
// A matrix that cannot be factored or inverted is an error that names its index in the batch.
// Determinants of singular matrices are zero and have no gradient.
//
// # Kernels
//
// The reference kernels compute in float64 with gonum's pure-Go BLAS and LAPACK and round once.
// Products of float32 matrices have a kernel of tier c.
package linalg
