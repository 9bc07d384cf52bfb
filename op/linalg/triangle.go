package linalg

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// TriangleParams configures ExtractTrian and MakeTrian.
type TriangleParams struct {
	Offset int  `op:"offset" doc:"first diagonal of the triangle: number of diagonals above (positive) or below (negative) the main one"`
	Upper  bool `op:"lower,not" doc:"use the lower triangle; with an offset not 0 its sign selects the triangle"`
}

// ExtractTrian and MakeTrian pack triangles of matrices.
var (
	ExtractTrian = op.Declare[TriangleParams]("_linalg_extracttrian")
	MakeTrian    = op.Declare[TriangleParams]("_linalg_maketrian")
)

func init() {
	ExtractTrian.Define(op.Spec[TriangleParams]{
		Traits: op.Traits{
			Doc: `LinalgExtracttrian packs a triangle of each square matrix of a batch into a vector.

A positive offset selects the upper triangle from that many diagonals above the main one on, a
negative one the lower triangle. A lower triangle is packed row by row, an upper one column by
column.`,
			Aliases:   []string{"linalg_extracttrian"},
			Moves:     true,
			Precision: op.Wide,
		},
		Inputs: inputs[TriangleParams]("A"),
		Infer: func(p TriangleParams, in, out []dtype.Shape) error {
			return p.infer(&in[0], &out[0])
		},
		InferType: realType[TriangleParams],
		Grad: func(g *op.Grad, p TriangleParams) []op.Entry {
			return []op.Entry{MakeTrian.Apply(p, g.Head(0))}
		},
		Ref: func(p TriangleParams, c *op.Call) error {
			p.walk(c.In[0], c.Out[0], func(at, packed int) {
				moveOne(c.Out[0], packed, c.In[0], at)
			})
			return nil
		},
	})
	MakeTrian.Define(op.Spec[TriangleParams]{
		Traits: op.Traits{
			Doc: "LinalgMaketrian unpacks each vector into a triangle of a square matrix, as " +
				"LinalgExtracttrian packs it. Other elements are zero.",
			Aliases:   []string{"linalg_maketrian"},
			Moves:     true,
			Precision: op.Wide,
		},
		Inputs: inputs[TriangleParams]("A"),
		Infer: func(p TriangleParams, in, out []dtype.Shape) error {
			return p.infer(&out[0], &in[0])
		},
		InferType: realType[TriangleParams],
		Grad: func(g *op.Grad, p TriangleParams) []op.Entry {
			return []op.Entry{ExtractTrian.Apply(p, g.Head(0))}
		},
		Ref: func(p TriangleParams, c *op.Call) error {
			loop.Clear(c.Out[0])
			p.walk(c.Out[0], c.In[0], func(at, packed int) {
				moveOne(c.Out[0], at, c.In[0], packed)
			})
			return nil
		},
	})
}

// infer infers the extents of matrices and packed triangles from each other.
func (p TriangleParams) infer(square, packed *dtype.Shape) error {
	e := []int{-1, -1}
	return match([]operand{{"A", square, []int{0, 0}}, {"A", packed, []int{1}}}, e, func() error {
		cut := max(p.Offset, -p.Offset)
		switch {
		case e[0] != -1:
			n := e[0] - cut
			if n < 1 {
				return op.Errorf("offset", "%d for matrices with %d rows, want less", p.Offset,
					e[0])
			}
			if e[1] != -1 && e[1] != n*(n+1)/2 {
				return op.Errorf("A", "triangle of %d elements, want %d", e[1], n*(n+1)/2)
			}
			e[1] = n * (n + 1) / 2
		case e[1] != -1:
			n := int(math.Sqrt(2 * float64(e[1]))) // differs from the result by at most one
			if n*(n+1)/2 > e[1] {
				n--
			}
			if n == 0 || n*(n+1)/2 != e[1] {
				return op.Errorf("A", "%d elements in the last axis, which fill no triangle", e[1])
			}
			e[0] = n + cut
		}
		return nil
	})
}

// walk calls f for every element of the triangles, with its offsets in both forms.
func (p TriangleParams) walk(square, packed op.Tensor, f func(at, packed int)) {
	n := square.Shape[len(square.Shape)-1]
	upper := p.Offset > 0 || p.Offset == 0 && p.Upper
	cut, k := max(p.Offset, -p.Offset), 0
	for base := 0; base < square.Shape.Size(); base += n * n {
		for i := range n - cut {
			for j := range i + 1 {
				if upper {
					f(base+j*n+i+cut, k)
				} else {
					f(base+(i+cut)*n+j, k)
				}
				k++
			}
		}
	}
}

// moveOne copies one element.
func moveOne(dst op.Tensor, to int, src op.Tensor, from int) {
	loop.Copy(dtype.Shape{1}, loop.View{Tensor: dst, Off: to, Strides: []int{1}},
		loop.View{Tensor: src, Off: from, Strides: []int{1}})
}
