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

// backend holds the functions with which a batched kernel computes.
type backend struct {
	mul   func(c, a, b []float32, p product) error
	dense func(y, x, w, bias []float32, rows int) error // y = x·wᵀ + bias
	pack  *packing                                      // nil: products take unpacked operands only
	tanh  func(x []float32)                             // in place

	lstm, gru         func(k *kernel, s *batchStep) // one step of all cells
	lstmGrad, gruGrad func(k *kernel, s *batchStep)

	// all steps of a layer; nil: step by step
	lstmSteps, lstmStepsGrad func(k *kernel, s *layerSteps)
}

// layerSteps holds the arrays of one direction of a layer of an LSTM for all steps.
type layerSteps struct {
	back            bool
	packed, bias    []float32 // weights of the state, and the bias of the sums
	gates, extra, h []float32 // as gates, extra and out of batchStep, for all steps
	mem0, h0        []float32 // memory and output before the first step
	dgates          []float32 // gradient of the gates, for all steps
	dmem, dh        []float32 // gradients of the last memory and output; at the end of mem0 and h0
	dy              []float32 // gradient of the outputs of all directions, from this one on
}

// packing holds products whose second operand was packed (reordered) before.
type packing struct {
	size func(p product) int // elements of the packed operand
	pack func(d, b []float32, p product)
	mul  func(c, a, packed, bias []float32, p product)
}

// kernel is a batched kernel of RNN or of its gradient: it has the algorithm of the reference, with
// products of matrices instead of loops over sequences.
type kernel struct {
	net
	backend
	p     RNNParams
	train bool
}

// newKernel returns a kernel for dense float32 operands and sequences of one length, with the
// extents of data. Other operands are an error.
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

// arena allocates scratch memory. Without memory it only counts the elements.
type arena struct {
	base unsafe.Pointer
	used int
}

// floats returns n numbers that share no cache line with others.
func (a *arena) floats(n int) []float32 {
	at := a.used
	a.used += attach.Align(4 * n)
	if a.base == nil || n == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Add(a.base, at)), n)
}

// together reports whether one call computes all steps of a layer.
func (k *kernel) together() bool {
	return k.lstmSteps != nil && k.p.Mode == "lstm" && !k.projected && k.packs()
}

// at returns the i-th step in the order of a direction.
func (k *kernel) at(dir, i int) int {
	if dir == 0 {
		return i
	}
	return k.steps - 1 - i
}

// block returns the rows of one step: batch rows of n numbers.
func (k *kernel) block(x []float32, step, n int) []float32 { return part(x, step, k.batch*n) }

// part returns piece i of x, which consists of pieces of n numbers, or nil if x is empty.
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
