package data

import (
	"fmt"
	"unsafe"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/loop"
)

// Batchify makes the arrays of one part of a batch from the tensors that the samples have for this
// part. Several workers call it at once, with different Parts.
type Batchify interface {
	Combine(samples []Tensor, out *Part) error
}

// Stack puts tensors of one shape into one array, with a first axis that counts them. It is the
// default.
//
// MXNet: gluon.data.batchify.Stack.
type Stack struct{}

// Combine implements Batchify.
func (Stack) Combine(samples []Tensor, out *Part) error {
	t := samples[0]
	for i, s := range samples {
		if s.DType != t.DType || !s.Shape.Equal(t.Shape) {
			return fmt.Errorf("Stack: tensor %d is %v of shape %v, tensor 0 is %v of shape %v: "+
				"use "+
				"Pad for samples of different sizes", i, s.DType, s.Shape, t.DType, t.Shape)
		}
	}
	return out.Add(len(samples), t.DType, t.Shape, func(i int, _ []byte) []byte {
		return samples[i].Bytes
	})
}

// Pad makes tensors of one rank equally large by elements at the ends of their axes, and stacks
// them.
//
// MXNet: gluon.data.batchify.Pad.
type Pad struct {
	Value   float64 // added elements
	RoundTo int     // extents become multiples of it; 0: as large as the largest tensor
}

// Combine implements Batchify.
func (p Pad) Combine(samples []Tensor, out *Part) error {
	first := samples[0]
	shape := first.Shape.Clone()
	for i, s := range samples {
		if s.DType != first.DType || len(s.Shape) != len(shape) {
			return fmt.Errorf("Pad: tensor %d is %v with %d axes, tensor 0 is %v with %d axes", i,
				s.DType, len(s.Shape), first.DType, len(shape))
		}
		for k, d := range s.Shape {
			shape[k] = max(shape[k], d)
		}
	}
	if p.RoundTo > 1 {
		for k, d := range shape {
			shape[k] = (d + p.RoundTo - 1) / p.RoundTo * p.RoundTo
		}
	}
	strides := shape.Strides()
	return out.Add(len(samples), first.DType, shape, func(i int, row []byte) []byte {
		s := samples[i]
		if s.Shape.Equal(shape) {
			return s.Bytes
		}
		to, from := tensorOf(first.DType, shape, row), tensorOf(s.DType, s.Shape, s.Bytes)
		loop.Fill(to, p.Value)
		loop.Copy(s.Shape, loop.View{Tensor: to, Strides: strides}, loop.Dense(from))
		return row
	})
}

// tensorOf views bytes as a tensor of package op, or a copy of them if their address does not suit
// the element type.
func tensorOf(t dtype.Type, shape nd.Shape, b []byte) op.Tensor {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%uintptr(t.Size()) != 0 {
		words := make([]uint64, (len(b)+7)/8)
		p = unsafe.Pointer(unsafe.SliceData(words))
		copy(unsafe.Slice((*byte)(p), len(b)), b)
	}
	return op.Tensor{Desc: op.Plain(t, shape), Data: p}
}

// Append keeps the tensors apart: the part has an array for each sample, with a first axis of
// extent one unless Flat is true.
//
// MXNet: gluon.data.batchify.Append; Flat is expand=False.
type Append struct{ Flat bool }

// Combine implements Batchify.
func (a Append) Combine(samples []Tensor, out *Part) error {
	for _, s := range samples {
		n, shape := 1, s.Shape
		if a.Flat && len(shape) > 0 {
			n, shape = shape[0], shape[1:]
		}
		row := len(s.Bytes) / max(1, n)
		if err := out.Add(n, s.DType, shape, func(i int, _ []byte) []byte {
			return s.Bytes[i*row : (i+1)*row]
		}); err != nil {
			return err
		}
	}
	return nil
}
