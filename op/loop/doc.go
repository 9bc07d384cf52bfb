// Package loop holds the plain loops that reference kernels are made of, for operands of any
// element type.
//
// There are two kinds of work. Moving elements does not depend on their type: Copy moves them
// between two strided views of memory, and with strides of zero or below it broadcasts and
// reverses, so transposing, slicing, tiling and joining are all a choice of strides:
//
//	st := loop.Broadcast(in.Shape, out.Shape)      // stride 0 along axes that repeat
//	loop.Copy(out.Shape, loop.Dense(out), loop.View{Tensor: in, Strides: st})
//
// Computing converts elements to float64 block by block, computes there and rounds once when
// storing; integer operands can be computed as int64 instead, so that large integers stay exact
// and wrap around as in C. Map, Zip and Fold do that for functions of one element, of two, and
// for reductions.
//
// Conversions from floating point to integers cut off the fraction. Values that an integer type
// cannot hold convert as x86 processors do it: through int32 (int64 for wide types), whose lowest
// value stands for everything out of range, then by dropping high bits. Doing so explicitly keeps
// results equal on all processors.
//
// All functions read an element before they write the one at the same place, so an output may
// share memory with an input of the same size. They use one thread and know nothing of devices.
package loop
