//go:build cgo

package cpu

/*
#include "random.h"
#cgo noescape gx_uniform
#cgo nocallback gx_uniform
#cgo noescape gx_normal
#cgo nocallback gx_normal
#cgo noescape gx_dropout
#cgo nocallback gx_dropout
*/
import "C"

import "unsafe"

// Philox is a position in a stream of random words.
type Philox struct {
	Key, Counter uint64
	Stream       uint32
}

func (p Philox) c() C.gx_seed {
	return C.gx_seed{key: C.uint64_t(p.Key), counter: C.uint64_t(p.Counter),
		stream: C.uint32_t(p.Stream)}
}

// Uniform draws N float32 numbers from Low up to High, which is left out.
type Uniform struct {
	N         int
	Low, High float64
	Threads   int
}

// Run writes the numbers.
func (u Uniform) Run(d unsafe.Pointer, p Philox) {
	s := p.c()
	C.gx_uniform((*C.float)(d), C.int64_t(u.N), &s, C.double(u.Low), C.double(u.High),
		C.float(u.High), C.int(u.Threads))
}

// Normal draws N float32 numbers of mean Loc and standard deviation Scale.
type Normal struct {
	N          int
	Loc, Scale float64
	Threads    int
}

// Run writes the numbers.
func (k Normal) Run(d unsafe.Pointer, p Philox) {
	s := p.c()
	C.gx_normal((*C.float)(d), C.int64_t(k.N), &s, C.double(k.Loc), C.double(k.Scale),
		C.int(k.Threads))
}

// Dropout keeps each of N elements with probability Keep and scales the kept ones by 1/Keep.
type Dropout struct {
	N       int
	Keep    float64
	Threads int
}

// Run writes the result to d and to mask one byte per element, which is 1 for a kept element. Each
// of d and mask may be nil.
func (k Dropout) Run(d, mask, x unsafe.Pointer, p Philox) {
	s := p.c()
	C.gx_dropout((*C.float)(d), (*C.uint8_t)(mask), (*C.float)(x), C.int64_t(k.N), &s,
		C.double(k.Keep), C.int(k.Threads))
}
