//go:build cgo

package cpu

/*
#include "chain.h"
#cgo noescape gx_chain_run
#cgo nocallback gx_chain_run
*/
import "C"

import (
	"runtime"
	"slices"
	"unsafe"
)

// The most inputs and outputs that a Chain may have.
const (
	ChainInputs  = C.GX_CHAIN_IN
	ChainOutputs = C.GX_CHAIN_OUT
)

// AddUp is a step of a Chain that adds all its operands up, in their order. The other kinds of
// steps are Map and Zip.
type AddUp struct{}

// ChainStep is one function of a Chain.
type ChainStep struct {
	Do   any   // a Map, a Zip or an AddUp
	Args []int // values: inputs come first, then the results of the steps before
}

// Repeat says how an input of a Chain repeats along the output: element e of the output meets its
// element e / Each % Size. Size 0 stands for an input of the output's size.
type Repeat struct{ Each, Size int }

// Chain is a sequence of elementwise functions of float32 arrays that is computed in one pass over
// memory, block by block. Every element equals, to the bit, the result of separate passes, one for
// each function.
type Chain struct {
	c       C.gx_chain
	threads int
}

// NewChain prepares steps for inputs; outs are the values that are kept. It reports false when
// there is too much of something.
func NewChain(in []Repeat, steps []ChainStep, outs []int, threads int) (*Chain, bool) {
	k := &Chain{threads: threads}
	b := &chainBuilder{c: &k.c, in: len(in), outs: outs, place: make([]int, len(in)+len(steps))}
	if len(in) > C.GX_CHAIN_IN || len(outs) > C.GX_CHAIN_OUT {
		return nil, false
	}
	k.c.in, k.c.out = C.int32_t(len(in)), C.int32_t(len(outs))
	for i, r := range in {
		k.c.repeat[i], k.c.size[i] = C.int64_t(max(r.Each, 1)), C.int64_t(r.Size)
		k.c.last[i] = -1
		b.place[i] = i
	}
	for i := range outs {
		k.c.first[i] = -1
	}
	b.lifetimes(steps)
	for i, s := range steps {
		if !b.add(i, s) {
			return nil, false
		}
		if b.last[len(in)+i] > i {
			k.c.step[k.c.steps-1].round = 1
		}
	}
	return k, true
}

// NewNarrowChain is NewChain for bfloat16 arrays: the functions compute in float32, and every result
// is rounded.
func NewNarrowChain(in []Repeat, steps []ChainStep, outs []int, threads int) (*Chain, bool) {
	k, ok := NewChain(in, steps, outs, threads)
	if ok {
		k.c.narrow = 1
	}
	return k, ok
}

// Run computes n elements of every output. An output may be the memory of an input of its size.
func (k *Chain) Run(out, in []unsafe.Pointer, n int) {
	var from [C.GX_CHAIN_IN]C.uintptr_t
	var to [C.GX_CHAIN_OUT]C.uintptr_t
	for i, p := range in {
		from[i] = C.uintptr_t(uintptr(p))
	}
	for i, p := range out {
		to[i] = C.uintptr_t(uintptr(p))
	}
	C.gx_chain_run(&k.c, &from[0], &to[0], C.int64_t(n), C.int(k.threads))
	runtime.KeepAlive(in)
	runtime.KeepAlive(out)
}

// chainBuilder gives values their places: inputs, outputs, and temporaries that are used again when
// nobody reads them any more.
type chainBuilder struct {
	c     *C.gx_chain
	in    int
	outs  []int
	place []int // of every value
	last  []int // step that reads a value last
	free  []int // temporaries
}

func (b *chainBuilder) lifetimes(steps []ChainStep) {
	b.last = make([]int, len(b.place))
	for i, s := range steps {
		for _, a := range s.Args {
			b.last[a] = i
		}
	}
}

// add appends the steps in C of step i. A temporary becomes free with the step that reads it last,
// which may write its result there: it reads an element before it writes it. Sums of several
// operands may not.
func (b *chainBuilder) add(i int, s ChainStep) bool {
	if len(s.Args) > 2 {
		return b.result(i) && b.emit(s, b.place[b.in+i]) && b.release(i, s)
	}
	return b.release(i, s) && b.result(i) && b.emit(s, b.place[b.in+i])
}

// release frees the temporaries that step i reads last.
func (b *chainBuilder) release(i int, s ChainStep) bool {
	for k, a := range s.Args {
		if b.last[a] == i && b.place[a] >= b.in+len(b.outs) && !slices.Contains(s.Args[:k], a) {
			b.free = append(b.free, b.place[a])
		}
	}
	return true
}

// result finds a place for the result of step i.
func (b *chainBuilder) result(i int) bool {
	v := b.in + i
	if k := slices.Index(b.outs, v); k >= 0 {
		b.place[v] = b.in + k
		return true
	}
	if n := len(b.free); n > 0 {
		b.place[v], b.free = b.free[n-1], b.free[:n-1]
		return true
	}
	b.place[v] = b.in + len(b.outs) + int(b.c.temps)
	b.c.temps++
	return b.c.temps <= C.GX_CHAIN_TEMPS
}

// emit appends the links of step s to the chain in C. Its result goes to place d.
func (b *chainBuilder) emit(s ChainStep, d int) bool {
	at := func(k int) int { return b.place[s.Args[k]] }
	switch do := s.Do.(type) {
	case Map:
		return b.step(C.gx_link{op: C.int32_t(do.Op), s: C.float(do.S), t: C.float(do.T)}, d, at(0),
			at(0))
	case Zip:
		return b.step(C.gx_link{zip: 1, op: C.int32_t(do.Op), s: C.float(do.S), t: C.float(do.T)},
			d, at(0), at(1))
	case AddUp:
		if len(s.Args) == 1 {
			return b.step(C.gx_link{op: C.int32_t(Copy)}, d, at(0), at(0))
		}
		ok := b.step(C.gx_link{zip: 1, op: C.int32_t(Add)}, d, at(0), at(1))
		for k := 2; k < len(s.Args); k++ {
			ok = ok && b.step(C.gx_link{zip: 1, op: C.int32_t(Add)}, d, d, at(k))
		}
		return ok
	}
	return false
}

func (b *chainBuilder) step(s C.gx_link, d, x, y int) bool {
	n := b.c.steps
	if n == C.GX_CHAIN_STEPS {
		return false
	}
	s.d, s.a, s.b = C.int32_t(d), C.int32_t(x), C.int32_t(y)
	for _, v := range []int{x, y} {
		if v < b.in {
			b.c.last[v] = n
		}
	}
	if k := d - b.in; k < len(b.outs) && b.c.first[k] < 0 {
		b.c.first[k] = n
	}
	b.c.step[n] = s
	b.c.steps++
	return true
}
