package op

import (
	"slices"

	"gomx/dtype"
)

// Cost is the work of one run of an operator.
type Cost struct {
	FLOPs int64 // floating-point operations; a multiplication with an addition counts as two
	Bytes int64 // bytes of inputs read and of outputs written
}

// Cost returns the work of one run with operands of the given shapes and element types. Operands
// of unknown shape have no bytes; without the shapes of all operands there are no FLOPs either.
func (o *Op) Cost(params any, in, out []Desc) Cost {
	return Cost{FLOPs: o.countFLOPs(params, in, out), Bytes: o.countBytes(params, in, out)}
}

func (o *Op) countFLOPs(params any, in, out []Desc) int64 {
	if o.Moves || o.Identity || len(out) == 0 {
		return 0
	}
	shapes := make([]dtype.Shape, 0, len(in)+len(out))
	for _, list := range [][]Desc{in, out} {
		for _, d := range list {
			if !d.Shape.Known() {
				return 0
			}
			shapes = append(shapes, d.Shape)
		}
	}
	if o.flops == nil {
		return int64(out[0].Shape.Size())
	}
	return o.flops(params, shapes[:len(in)], shapes[len(in):])
}

func (o *Op) countBytes(params any, in, out []Desc) int64 {
	n := int64(0)
	for k, d := range in {
		switch {
		case !d.Shape.Known() || slices.Contains(o.Ignores, k):
		case slices.Contains(o.Gathers, k):
			n += min(total(out), known(d))
		default:
			n += known(d)
		}
	}
	return n + total(out)
}

// total returns the bytes of operands together.
func total(list []Desc) int64 {
	n := int64(0)
	for _, d := range list {
		n += known(d)
	}
	return n
}

// known returns the size of an operand in bytes, 0 where its shape is not known.
func known(d Desc) int64 {
	if !d.Shape.Known() {
		return 0
	}
	return int64(d.Shape.Size()) * int64(d.DType.Size())
}

// PerInput is the FLOPs of operators that treat every element of input 0 once.
func PerInput[P any](_ P, in, _ []dtype.Shape) int64 { return int64(in[0].Size()) }
