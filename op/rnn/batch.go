package rnn

import (
	"unsafe"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// product is c = op(a)·op(b) + beta·c of dense matrices, where c is (m, n) and op(a) is (m, k).
type product struct {
	m, n, k int
	ta, tb  bool
	beta    float32
}

// backend does the work of a kernel that takes whole batches.
type backend struct {
	mul   func(c, a, b []float32, p product) error
	dense func(y, x, w, bias []float32, rows int) error // y = x·wᵀ + bias
	pack  *packing                                      // nil where products take plain operands only
	tanh  func(x []float32)                             // in place

	lstm, gru         func(k *kernel, s *batchStep) // one step of all cells
	lstmGrad, gruGrad func(k *kernel, s *batchStep)

	lstmSteps, lstmStepsGrad func(k *kernel, s *layerSteps) // all steps of a layer; nil where there is only one by one
}

// layerSteps is one direction of a layer of an LSTM at all steps.
type layerSteps struct {
	back            bool
	packed, bias    []float32 // weights from the state, and what is added to the sums
	gates, extra, h []float32 // as in batchStep, for all steps
	mem0, h0        []float32 // before the first step
	dgates          []float32 // of the gradient, for all steps
	dmem, dh        []float32 // gradients of the last memory and output, which become those of mem0 and h0
	dy              []float32 // gradient of the outputs of all directions, from this one on
}

// packing multiplies with second operands that were brought into another order before.
type packing struct {
	size func(p product) int // of the operand
	pack func(d, b []float32, p product)
	mul  func(c, a, packed, bias []float32, p product)
}

// kernel is a batched kernel of RNN or of its gradient: the algorithm is that of the reference, with
// products of matrices in place of loops over sequences.
type kernel struct {
	net
	backend
	p     RNNParams
	train bool
}

// newKernel serves dense float32 operands and sequences of one length; the extents come from data.
func newKernel(p RNNParams, a *op.Args, data dtype.Shape, b backend) (*kernel, error) {
	if !attach.Float32(a) || p.UseSequenceLength || data.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	n, err := bound(p, data)
	if err != nil {
		return nil, err
	}
	return &kernel{net: n, backend: b, p: p, train: a.Train}, nil
}

// arena hands out scratch memory. Without memory it only counts.
type arena struct {
	base unsafe.Pointer
	used int
}

// floats returns n numbers on cache lines of their own.
func (a *arena) floats(n int) []float32 {
	at := a.used
	a.used += (4*n + 63) &^ 63
	if a.base == nil || n == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Add(a.base, at)), n)
}

// together reports whether all steps of a layer are one call.
func (k *kernel) together() bool {
	return k.lstmSteps != nil && k.p.Mode == "lstm" && !k.projected && k.packs()
}

// at returns the step that a direction takes as its i-th.
func (k *kernel) at(dir, i int) int {
	if dir == 0 {
		return i
	}
	return k.steps - 1 - i
}

// block cuts out the rows of one step: batch rows of n numbers.
func (k *kernel) block(x []float32, step, n int) []float32 { return part(x, step, k.batch*n) }

// part cuts out piece i of equal pieces of n numbers; nothing has no parts.
func part[F any](x []F, i, n int) []F {
	if x == nil {
		return nil
	}
	return x[i*n : (i+1)*n : (i+1)*n]
}

// scatter copies rows of n numbers to column dir of rows of dirs·n; gather is its inverse.
func (k *kernel) scatter(y, h []float32, dir int) {
	for i := range k.steps * k.batch {
		copy(y[(i*k.dirs+dir)*k.out:][:k.out], h[i*k.out:])
	}
}

func (k *kernel) gather(h, y []float32, dir int) {
	for i := range k.steps * k.batch {
		copy(h[i*k.out:][:k.out], y[(i*k.dirs+dir)*k.out:])
	}
}

func multiply(y, by []float32) {
	for i, v := range by {
		y[i] *= v
	}
}
