// Package npy reads and writes NumPy's files of arrays, .npy and .npz.
//
//	a, err := npy.Load("images.npy")
//	err = npy.Save("images.npy", a)
//
//	list, err := npy.LoadZip("features.npz") // of numpy.savez and numpy.savez_compressed
//	err = npy.SaveZip("features.npz", list)
//
// Files have any element type of gomx. Arrays may be little or big endian, in C's or Fortran's
// order, scalars or without elements; Save writes little endian, in C's order, byte for byte as
// numpy.save does. NumPy has no bfloat16: such arrays are written with the type V2, as the Python
// package ml_dtypes writes them, and V2 is read as bfloat16. Objects, strings, complex numbers,
// dates and records are errors.
//
// Files are hostile input: nothing is allocated for sizes that a header claims and the file does
// not have. Files are written completely or not at all, as package checkpoint does.
//
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
package npy
