//go:build cgo

package cpu

/*
#include "order.h"
#cgo noescape gx_order
#cgo nocallback gx_order
*/
import "C"

import "unsafe"

// Order selects the first K elements in the order of the vectors along an axis. Equal elements keep
// their order, NaN counts as the largest.
type Order struct {
	Axis    Axis3
	K       int
	Descend bool
	Ints    bool // indices are int32, otherwise float32
	Threads int
}

// Ordered holds the operands of Order.Run. The outputs Values, Indices and Mask may be nil; Mask,
// of the shape of X, gets ones where elements were selected and must be zero before.
type Ordered struct {
	Values, Indices, Mask, X unsafe.Pointer
}

func (o *Order) c() C.gx_order_spec {
	return C.gx_order_spec{outer: C.int64_t(o.Axis.Outer), n: C.int64_t(o.Axis.N),
		inner: C.int64_t(o.Axis.Inner), k: C.int64_t(o.K),
		descend: C.int32_t(boolInt(o.Descend)), ints: C.int32_t(boolInt(o.Ints))}
}

// Scratch returns the bytes of scratch memory that Run needs.
func (o *Order) Scratch() int {
	p := o.c()
	return int(C.gx_order_scratch(&p, C.int(o.Threads)))
}

// Run orders.
func (o *Order) Run(d Ordered, scratch unsafe.Pointer) {
	p := o.c()
	C.gx_order((*C.float)(d.Values), d.Indices, (*C.float)(d.Mask), (*C.float)(d.X), &p, scratch,
		C.int(o.Threads))
}
