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

// RNNMode is a kind of recurrent cell, by cuDNN's number.
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
	Both                        bool // both directions, not only forward
	Train                       bool // Forward fills the reserve for the gradient
	Steps, Batch, Input, Layers int
	// sizes of a cell's state and of its output, which is smaller with a projection
	Hidden, Out int
}

// RNN is a stack of recurrent layers that cuDNN computes. Any number of queues may use it. Its work
// cannot be recorded.
type RNN struct {
	lib  *dnn
	c    *C.gcu_dnn_rnn
	what string

	sequence, states, memory, outs int // bytes of X, of HX, of CX and of Y
}

// planner is the cuDNN handle with which plan computes sizes.
type planner struct {
	mu     sync.Mutex // held during the call of cuDNN
	handle unsafe.Pointer
}

// NewRNN describes recurrent layers to cuDNN, or returns nil if the library is missing or does not
// support them.
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
	cells, dirs := d.Batch*t.Size(), 1+int(s.both)
	r.sequence, r.outs = d.Steps*d.Input*cells, d.Steps*dirs*d.Out*cells
	r.states, r.memory = d.Layers*dirs*d.Out*cells, d.Layers*dirs*d.Hidden*cells
	if err := lib.plan(device, func(ctx, handle unsafe.Pointer) C.int {
		return C.gcu_dnn_rnn_make(lib.f, ctx, handle, &s, r.c)
	}); err != nil {
		return nil
	}
	runtime.AddCleanup(r, func(made *C.gcu_dnn_rnn) { C.gcu_dnn_rnn_free(lib.f, made) }, r.c)
	return r
}

// plan calls ask, which computes sizes with cuDNN, with a handle that is made at the first use.
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

// Weights returns the size of all parameters in bytes.
func (r *RNN) Weights() int { return int(r.c.weights) }

// Work returns the size of the working memory of a call in bytes.
func (r *RNN) Work() int { return int(r.c.work) }

// Reserve returns the size in bytes of the data that the forward pass keeps for the gradient.
func (r *RNN) Reserve() int { return int(r.c.reserve) }

// RNNPart is the position of a gate's matrix and bias among all parameters: offsets in bytes
// (MatrixAt, BiasAt) and numbers of elements (Matrix, Bias). A part that does not exist has no
// elements.
type RNNPart struct{ MatrixAt, Matrix, BiasAt, Bias int }

// Part returns the position of the parameters of a gate of a layer. Each direction counts as a
// layer; the gates of the input come before the gates of the state, the projection is gate 8.
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
	return r.run(q, a, func(ctx, h unsafe.Pointer) C.int {
		k := a.c()
		return C.gcu_dnn_rnn_run(r.lib.f, ctx, h, r.c, &k)
	})
}

// Backward computes DX, DHX and DCX. It changes Reserve.
func (r *RNN) Backward(q *Queue, a *RNNArgs) error {
	return r.run(q, a, func(ctx, h unsafe.Pointer) C.int {
		k := a.c()
		return C.gcu_dnn_rnn_back(r.lib.f, ctx, h, r.c, &k)
	})
}

// AddWeights adds the gradient of the parameters to DWeights. It reads the Reserve that Backward
// has changed.
func (r *RNN) AddWeights(q *Queue, a *RNNArgs) error {
	return r.run(q, a, func(ctx, h unsafe.Pointer) C.int {
		k := a.c()
		return C.gcu_dnn_rnn_add(r.lib.f, ctx, h, r.c, &k)
	})
}

// operands lists the operands that may be views; the others lie in scratch memory.
func (r *RNN) operands(a *RNNArgs) [14]operand {
	return [...]operand{{&a.X, r.sequence, true, false}, {&a.HX, r.states, true, false},
		{&a.CX, r.memory, true, false}, {&a.Y, r.outs, true, true}, {&a.HY, r.states, false, true},
		{&a.CY, r.memory, false, true}, {&a.DY, r.outs, true, false},
		{&a.DHY, r.states, true, false}, {&a.DCY, r.memory, true, false},
		{&a.DX, r.sequence, false, true}, {&a.DHX, r.states, false, true},
		{&a.DCX, r.memory, false, true}, {&a.Weights, r.Weights(), true, false},
		{&a.DWeights, r.Weights(), true, true}}
}

// run puts a call on q. It is not recorded, because cuDNN uses several streams and copies the
// lengths of sequences from the host.
func (r *RNN) run(q *Queue, a *RNNArgs, call func(ctx, handle unsafe.Pointer) C.int) error {
	if q.tape.refuses() {
		return errNotRecorded
	}
	handle, err := r.lib.on(q)
	if err != nil {
		return err
	}
	list := r.operands(a)
	return q.align(list[:], func() error {
		q.launched(ranCall, "rnn")
		code := call(q.gpu.c(), handle)
		runtime.KeepAlive(r)
		return r.lib.check(r.what, code)
	})
}
