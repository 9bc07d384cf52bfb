// Package philox is the counter-based random generator of every random operator: Philox 4x32-10
// of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).
//
// A number is a function of key, counter and stream, so results do not depend on the order in
// which operations run, on the number of threads, or on other draws. Operators get
// key and counter as op.Seed; several outputs of one operator use several streams. Element i of
// an output is word i%4 of block i/4; kernels in C compute the same blocks.
//
//	philox.Uniform(mask, call.Seed, 0) // numbers of [0, 1)
//
// All functions are pure.
package philox
