//go:build cgo

package cpu

/*
#include "sparse.h"
#cgo noescape gx_sum_rows
#cgo nocallback gx_sum_rows
#cgo noescape gx_read_rows
#cgo nocallback gx_read_rows
#cgo noescape gx_count_rows
#cgo nocallback gx_count_rows
#cgo noescape gx_gather_rows
#cgo nocallback gx_gather_rows
#cgo noescape gx_add_rows
#cgo nocallback gx_add_rows
#cgo noescape gx_find_columns
#cgo nocallback gx_find_columns
#cgo noescape gx_sum_columns
#cgo nocallback gx_sum_columns
#cgo noescape gx_columns_room
#cgo nocallback gx_columns_room
*/
import "C"

import "unsafe"

// SumRows sums rows of N float32 elements by groups: row To[g] of the output, or row g, is the sum
// of the items Starts[g] to Starts[g+1]-1 in their order. Item i is Order[i], or i; item k is row
// At[k] of the source, or row k, times Factor[k], or times one. Lists that are nil have the second
// meaning.
type SumRows struct {
	N       int
	To      []int64
	Starts  []int64 // one more than groups
	Order   []int32
	At      []int64
	Factor  []float32
	Threads int
}

// Run writes the sums to d.
func (r SumRows) Run(d, s unsafe.Pointer) {
	C.gx_sum_rows((*C.float)(d), numbers(r.To), numbers(r.Starts),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(r.Order))), numbers(r.At),
		(*C.float)(unsafe.Pointer(unsafe.SliceData(r.Factor))), (*C.float)(s),
		C.int64_t(len(r.Starts)-1), C.int64_t(r.N), C.int(r.Threads))
}

// numbers returns the memory of a list, nil for nil.
func numbers(list []int64) *C.int64_t {
	return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(list)))
}

// ReadRows writes float32 indices as numbers from 0 to rows-1 to d: fractions are cut off, and
// indices out of range become the nearest number. It reports whether no number is smaller than the
// one before, and whether each is larger.
func ReadRows(d []int64, index unsafe.Pointer, rows int) (sorted, different bool) {
	order := C.gx_read_rows(numbers(d), (*C.float)(index), C.int64_t(len(d)), C.int64_t(rows))
	return order != C.GX_MIXED, order == C.GX_RISING
}

// CountRows fills rows of n float32 elements: every element of row g of d becomes
// starts[g+1] - starts[g].
func CountRows(d unsafe.Pointer, starts []int64, n, threads int) {
	C.gx_count_rows((*C.float)(d), numbers(starts), C.int64_t(len(starts)-1), C.int64_t(n),
		C.int(threads))
}

// GatherRows copies rows of n bytes: row i of d is row at[i] of s, or zeros where at[i] is -1.
func GatherRows(d, s unsafe.Pointer, at []int64, n, threads int) {
	C.gx_gather_rows(d, s, numbers(at), C.int64_t(len(at)), C.int64_t(n), C.int(threads))
}

// AddRows adds rows of n float32 elements: row i of d is row ia[i] of a plus row ib[i] of b. A row
// whose number is -1 adds nothing.
func AddRows(d, a unsafe.Pointer, ia []int32, b unsafe.Pointer, ib []int32, n, threads int) {
	C.gx_add_rows((*C.float)(d), (*C.float)(a), (*C.int32_t)(unsafe.Pointer(unsafe.SliceData(ia))),
		(*C.float)(b), (*C.int32_t)(unsafe.Pointer(unsafe.SliceData(ib))), C.int64_t(len(ia)),
		C.int64_t(n), C.int(threads))
}

// Columns is the transpose of a csr matrix, of which Starts, At and X are the starts of rows, the
// columns and the values, as a factor of a product. Threads treat parts of its columns.
type Columns struct {
	Starts, At []int64
	X          []float32
	Columns    int
	Threads    int
}

func (c Columns) c() C.gx_columns {
	return C.gx_columns{starts: numbers(c.Starts), at: numbers(c.At),
		x: (*C.float)(unsafe.SliceData(c.X)), rows: C.int64_t(len(c.Starts) - 1),
		columns: C.int64_t(c.Columns), parts: C.int(c.Threads)}
}

// Memory returns the number of bytes of the memory that the methods below need.
func (c Columns) Memory() int {
	return int(C.gx_columns_memory(C.int64_t(len(c.Starts)-1), C.int64_t(c.Columns),
		C.int(c.Threads)))
}

// Find notes the columns with an element in memory and returns their number.
func (c Columns) Find(memory unsafe.Pointer) int {
	return int(C.gx_find_columns(c.c(), memory))
}

// Room returns the number of bytes of the second memory that Sum needs after Find.
func (c Columns) Room(memory unsafe.Pointer) int {
	return int(C.gx_columns_room(c.c(), memory))
}

// Sum writes the columns with an element to keys, in ascending order, and their products with s,
// whose rows have n elements, to d: row i, or row keys[i] with placed. It adds in the order of the
// rows of the matrix.
func (c Columns) Sum(memory, room unsafe.Pointer, keys []int64, d unsafe.Pointer, placed bool,
	s unsafe.Pointer, n int) {
	at := C.int(0)
	if placed {
		at = 1
	}
	C.gx_sum_columns(c.c(), memory, room, numbers(keys), (*C.float)(d), at, (*C.float)(s),
		C.int64_t(n))
}
