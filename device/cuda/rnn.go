//go:build cuda

package cuda

/*
#cgo noescape gcu_dnn_rnn_run
#cgo nocallback gcu_dnn_rnn_run
#cgo noescape gcu_dnn_rnn_back
#cgo nocallback gcu_dnn_rnn_back
#cgo noescape gcu_dnn_rnn_add
#cgo nocallback gcu_dnn_rnn_add
#include "rnn.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"gomx/dtype"
)

// RNNMode is a kind of recurrent cell, by the library's number.
type RNNMode int

// The kinds of cells.
const (
	RNNReLU RNNMode = iota
	RNNTanh
	RNNLSTM
	RNNGRU
)

// RNNDims are the extents of a stack of recurrent layers. All sequences have the same number of
// steps.
type RNNDims struct {
	Mode                        RNNMode
	Both                        bool // directions
	Train                       bool // the reserve is kept for the gradient
	Steps, Batch, Input, Layers int
	// numbers of a cell's state, and of its output, which is smaller where it is projected
	Hidden, Out int
}

// RNN is a stack of recurrent layers as cuDNN computes it. It serves any number of queues. What it
// computes cannot be recorded.
type RNN struct {
	lib  *dnn
	c    *C.gcu_dnn_rnn
	what string
}

// planner is the library's state that sizes are asked for with.
type planner struct {
	mu     sync.Mutex // held while the library is asked
	handle unsafe.Pointer
}

// NewRNN describes recurrent layers to cuDNN, nil where the library is missing or does not take
// them.
func NewRNN(device int, t dtype.Type, d RNNDims) *RNN {
	lib, err := dnnWith(C.gcu_dnn_recurrent)
	e, ok := dnnTypeOf(t)
	if err != nil || !ok || !whole(d.Steps, d.Batch, max(d.Input, 2*d.Out, d.Hidden), 1) ||
		!whole(d.Layers, d.Hidden) {
		return nil
	}
	s := C.gcu_dnn_rnn_spec{_type: e.number, compute: e.compute, math: e.math, mode: C.int(d.Mode),
		steps: C.int(d.Steps), batch: C.int(d.Batch),
		input: C.int(d.Input), hidden: C.int(d.Hidden), out: C.int(d.Out), layers: C.int(d.Layers)}
	if d.Both {
		s.both = 1
	}
	if d.Train {
		s.train = 1
	}
	r := &RNN{lib: lib, c: new(C.gcu_dnn_rnn), what: fmt.Sprintf("recurrent layers %v %+v", t, d)}
	if err := lib.plan(device, func(ctx,
		handle unsafe.Pointer) C.int {
		return C.gcu_dnn_rnn_make(lib.f, ctx, handle, &s, r.c)
	}); err != nil {
		return nil
	}
	runtime.AddCleanup(r, func(made *C.gcu_dnn_rnn) { C.gcu_dnn_rnn_free(lib.f, made) }, r.c)
	return r
}

// plan asks the library about sizes.
func (d *dnn) plan(device int, ask func(ctx, handle unsafe.Pointer) C.int) error {
	g, err := open(device)
	if err != nil {
		return err
	}
	p := &g.planner
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handle == nil {
		if err := d.check("opening the library", C.gcu_dnn_open(d.f, g.c(), nil,
			&p.handle)); err != nil {
			return err
		}
	}
	return d.check("asking for sizes", ask(g.c(), p.handle))
}

// Weights returns the bytes of all parameters.
func (r *RNN) Weights() int { return int(r.c.weights) }

// Work returns the bytes of memory that a call uses.
func (r *RNN) Work() int { return int(r.c.work) }

// Reserve returns the bytes of what the forward pass leaves for the gradient.
func (r *RNN) Reserve() int { return int(r.c.reserve) }

// RNNPart says where the parameters of a gate lie among all, in bytes, and how many numbers they
// are; a part that does not exist has none.
type RNNPart struct{ MatrixAt, Matrix, BiasAt, Bias int }

// Part returns where the parameters of a gate of a layer lie. Layers are counted by directions; the
// gates of the input come before those of the state, the projection is number 8.
func (r *RNN) Part(device, layer, gate int) (RNNPart, error) {
	var p C.gcu_dnn_rnn_part
	err := r.lib.plan(device, func(ctx, handle unsafe.Pointer) C.int {
		return C.gcu_dnn_rnn_find(r.lib.f, ctx, handle, r.c, C.int(layer), C.int(gate), &p)
	})
	runtime.KeepAlive(r)
	return RNNPart{int(p.matrix_at), int(p.matrix), int(p.bias_at), int(p.bias)}, err
}

// RNNArgs are the operands of recurrent layers: input, states, output, the parameters, and
// gradients. Outputs and gradients of states may be nil.
type RNNArgs struct {
	X, HX, CX, Weights, DY, DHY, DCY  unsafe.Pointer
	Y, HY, CY, DX, DHX, DCX, DWeights unsafe.Pointer
	Work, Reserve                     unsafe.Pointer
}

func (a *RNNArgs) c() C.gcu_dnn_rnn_call {
	return C.gcu_dnn_rnn_call{x: a.X, hx: a.HX, cx: a.CX, weights: a.Weights, dy: a.DY, dhy: a.DHY,
		dcy: a.DCY, y: a.Y, hy: a.HY, cy: a.CY,
		dx: a.DX, dhx: a.DHX, dcx: a.DCX, dweights: a.DWeights, work: a.Work, reserve: a.Reserve}
}

// Forward computes Y and the last states HY and CY. In training it fills Reserve.
func (r *RNN) Forward(q *Queue, a *RNNArgs) error {
	k := a.c()
	return r.run(q, func(ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_rnn_run(r.lib.f, ctx, h,
			r.c, &k)
	})
}

// Backward computes DX, DHX and DCX. It changes Reserve.
func (r *RNN) Backward(q *Queue, a *RNNArgs) error {
	k := a.c()
	return r.run(q, func(ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_rnn_back(r.lib.f, ctx, h,
			r.c, &k)
	})
}

// AddWeights adds the gradient of the parameters to DWeights, with the Reserve that Backward has
// changed.
func (r *RNN) AddWeights(q *Queue, a *RNNArgs) error {
	k := a.c()
	return r.run(q, func(ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_rnn_add(r.lib.f, ctx, h,
			r.c, &k)
	})
}

// run puts a call on q. The library takes several streams and copies lengths of sequences, which a
// recording need not survive.
func (r *RNN) run(q *Queue, call func(ctx, handle unsafe.Pointer) C.int) error {
	if q.tape.refuses() {
		return errNotRecorded
	}
	handle, err := r.lib.on(q)
	if err != nil {
		return err
	}
	q.gpu.launches.Add(1)
	code := call(q.gpu.c(), handle)
	runtime.KeepAlive(r)
	return r.lib.check(r.what, code)
}
