//go:build cgo

package cpu

/*
#include "denseloss.h"
#cgo noescape gx_dense_loss_room
#cgo nocallback gx_dense_loss_room
#cgo noescape gx_dense_loss_grad
#cgo nocallback gx_dense_loss_grad
*/
import "C"

import "unsafe"

// DenseLoss is the gradient of a softmax loss taken through the dense layer that computes its data.
// The gradient of the layer's results is made block by block and never kept.
type DenseLoss struct {
	Loss SoftmaxLoss // of Axis.Outer rows, Axis.N results of the layer each, Axis.Inner 1
	In   int         // inputs of the layer
}

// DenseGrads are the gradients of a dense layer; nil for those that nobody wants.
type DenseGrads struct{ Data, Weight, Bias unsafe.Pointer }

func (d DenseLoss) c() C.gx_dense_loss {
	return C.gx_dense_loss{loss: d.Loss.c(), in: C.int64_t(d.In)}
}

// Scratch is the number of bytes that Run needs for itself.
func (d DenseLoss) Scratch() int {
	p := d.c()
	return int(C.gx_dense_loss_room(&p, C.int(d.Loss.Threads))) * 4
}

// Run computes the gradients from the softmax y, the labels, and the layer's data and weight.
func (d DenseLoss) Run(g DenseGrads, y, label, x, weight, scratch unsafe.Pointer) error {
	p := d.c()
	return status(C.gx_dense_loss_grad((*C.float)(g.Data), (*C.float)(g.Weight), (*C.float)(g.Bias),
		(*C.float)(y), (*C.float)(label), (*C.float)(x),
		(*C.float)(weight), &p, (*C.float)(scratch), C.int(d.Loss.Threads)),
		"gradient of a dense layer")
}
