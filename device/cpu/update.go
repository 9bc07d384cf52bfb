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
#cgo noescape gx_adagrad
#cgo nocallback gx_adagrad
#cgo noescape gx_step_rows
#cgo nocallback gx_step_rows
*/
import "C"

import "unsafe"

// Update holds the constants of an optimizer's step over N elements of float32. Methods write
// the new weight to out, which may be the memory of w, and states in place. Methods by rows change
// the weight in place too; N is then the extent of a row.
type Update struct {
	N                         int
	LR, WD, Rescale, Clip     float32 // a negative Clip is none
	Momentum, Beta1, Beta2, E float32 // E is the constant that Adam and AdaGrad add
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

// AdaGrad is a step of AdaGrad.
func (u *Update) AdaGrad(out, w, g, history unsafe.Pointer) {
	p := u.c()
	C.gx_adagrad((*C.float)(out), (*C.float)(w), (*C.float)(g), (*C.float)(history), &p,
		C.int(u.Threads))
}

// Rule is an optimizer whose steps are computed by rows.
type Rule int

// The rules.
const (
	RuleSGD Rule = iota
	RuleSGDMomentum
	RuleAdam
	RuleAdaGrad
)

// Table is an operand of a step by rows: row i of the step is row At[i] of V, or row i if At is nil.
// -1 in a gradient means zeros. V of a state that the rule does not have is nil.
type Table struct {
	V  unsafe.Pointer
	At []int64
}

func (r Table) at() *C.int64_t { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(r.At))) }

// Step is a step of the given number of rows, which are different ones, in place. The states are
// momentum, or mean and variance, or the history.
func (u *Update) Step(rule Rule, rows int, w, g, a, b Table) {
	p := u.c()
	C.gx_step_rows(C.int(rule), (*C.float)(w.V), w.at(), (*C.float)(g.V), g.at(), (*C.float)(a.V),
		a.at(), (*C.float)(b.V), b.at(), C.int64_t(rows), &p, C.int(u.Threads))
}
