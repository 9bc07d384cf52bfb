// Package dtype defines the element types and shapes that all other packages use.
//
// A Type is a number, MXNet's type code: files and messages contain it, and its zero value is
// Float32. Arrays carry their type at run time; Only functions that convert from and to Go slices
// have type parameters.
//
//	dtype.Float16.Size()         // 2
//	dtype.Parse("int64")         // dtype.Int64
//
// Half and BF16 are the two 16-bit floating-point formats. They are storage formats: arithmetic
// converts to float32 and rounds once at the end, to nearest, ties to even.
//
// A Shape lists the extents of an array. During inference shapes are partly known: a nil Shape has
// unknown rank, an extent of -1 is unknown, and Merge combines two partly known shapes of one
// array. A non-nil empty Shape is a scalar; an extent of 0 is an empty array.
//
// Everything here is a value without hidden state and may be used from any goroutine.
package dtype
