//go:build cgo

package cpu

/*
#include "update.h"
#cgo noescape gx_sgd
#cgo nocallback gx_sgd
#cgo noescape gx_sgd_momentum
#cgo nocallback gx_sgd_momentum
#cgo noescape gx_nag
#cgo nocallback gx_nag
#cgo noescape gx_adam
#cgo nocallback gx_adam
*/
import "C"

import "unsafe"

// Update holds the constants of an optimizer's step over N elements of float32. Methods write
// the new weight to out, which may be the memory of w, and states in place.
type Update struct {
	N                         int
	LR, WD, Rescale, Clip     float32 // a negative Clip is none
	Momentum, Beta1, Beta2, E float32 // E is the constant that Adam adds to the root
	Threads                   int
}

func (u *Update) c() C.gx_update {
	return C.gx_update{n: C.int64_t(u.N), lr: C.float(u.LR), wd: C.float(u.WD),
		rescale: C.float(u.Rescale), clip: C.float(u.Clip),
		momentum: C.float(u.Momentum), beta1: C.float(u.Beta1), beta2: C.float(u.Beta2),
		eps: C.float(u.E)}
}

// SGD is a step of stochastic gradient descent.
func (u *Update) SGD(out, w, g unsafe.Pointer) {
	p := u.c()
	C.gx_sgd((*C.float)(out), (*C.float)(w), (*C.float)(g), &p, C.int(u.Threads))
}

// SGDMomentum is SGD with momentum.
func (u *Update) SGDMomentum(out, w, g, mom unsafe.Pointer) {
	p := u.c()
	C.gx_sgd_momentum((*C.float)(out), (*C.float)(w), (*C.float)(g), (*C.float)(mom), &p,
		C.int(u.Threads))
}

// NAG is Nesterov's accelerated gradient.
func (u *Update) NAG(out, w, g, mom unsafe.Pointer) {
	p := u.c()
	C.gx_nag((*C.float)(out), (*C.float)(w), (*C.float)(g), (*C.float)(mom), &p, C.int(u.Threads))
}

// Adam is a step of Adam; LR includes the correction of bias.
func (u *Update) Adam(out, w, g, mean, variance unsafe.Pointer) {
	p := u.c()
	C.gx_adam((*C.float)(out), (*C.float)(w), (*C.float)(g), (*C.float)(mean), (*C.float)(variance),
		&p, C.int(u.Threads))
}
