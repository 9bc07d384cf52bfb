package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// BoxIoUParams configures BoxIoU.
type BoxIoUParams struct {
	Format string `op:"format" default:"corner" enum:"corner|center" doc:"meaning of the four numbers of a box"`
}

// BoxIoU compares boxes.
var BoxIoU = op.Declare[BoxIoUParams]("_contrib_box_iou")

func init() {
	BoxIoU.Define(op.Spec[BoxIoUParams]{
		Traits: op.Traits{
			GoName: "BoxIoU",
			Doc: `BoxIoU computes the area of the intersection over the area of the union, for all pairs of boxes.

lhs has shape (a..., 4), rhs (b..., 4), the output (a..., b...). Disjoint boxes give 0. There is no
gradient.`,
		},
		Inputs:      prim.Inputs[BoxIoUParams]("lhs", "rhs"),
		Infer:       inferPairs,
		InferType:   op.FloatType[BoxIoUParams],
		Grad:        prim.ZeroGrad[BoxIoUParams],
		GradStorage: op.GradDense[BoxIoUParams],
		Ref:         inType(boxIoU[float32], boxIoU[float64]),
	})
}

func inferPairs(_ BoxIoUParams, in, out []dtype.Shape) error {
	l, r := in[0], in[1]
	for i, name := range []string{"lhs", "rhs"} {
		s := in[i]
		if s != nil && (len(s) < 2 || s[len(s)-1] != 4 && s[len(s)-1] != -1) {
			return op.Errorf(name, "shape %v, want rows of four numbers", s)
		}
	}
	if o := out[0]; o != nil {
		var err error
		switch {
		case l != nil:
			err = fromPairs("rhs", &in[1], o, len(l)-1, len(o))
			r = in[1]
		case r != nil:
			err = fromPairs("lhs", &in[0], o, 0, len(o)-len(r)+1)
			l = in[0]
		}
		if err != nil {
			return err
		}
	}
	if l == nil || r == nil {
		return nil
	}
	pairs := append(l[:len(l)-1].Clone(), r[:len(r)-1]...)
	if err := op.Require("output", &out[0], pairs); err != nil {
		return err
	}
	if err := fromPairs("lhs", &in[0], out[0], 0, len(l)-1); err != nil {
		return err
	}
	return fromPairs("rhs", &in[1], out[0], len(l)-1, len(out[0]))
}

// fromPairs merges the shape of one input: axes [lo, hi) of the output, and four numbers.
func fromPairs(name string, s *dtype.Shape, out dtype.Shape, lo, hi int) error {
	if lo < 0 || hi > len(out) || lo >= hi {
		return op.Errorf("output", "shape %v has too few axes for all pairs of lhs and rhs", out)
	}
	return op.Require(name, s, append(out[lo:hi].Clone(), 4))
}

// box is a rectangle with its area, 0 if opposite sides are exchanged.
type box[T float] struct{ left, top, right, bottom, area T }

// newBox returns the box with the given four numbers.
func newBox[T float](format string, v []T) box[T] {
	b, w, h := box[T]{left: v[0], top: v[1], right: v[2], bottom: v[3]}, v[2]-v[0], v[3]-v[1]
	if format == "center" {
		w, h = v[2], v[3]
		b = box[T]{left: v[0] - w/2, top: v[1] - h/2, right: v[0] + w/2, bottom: v[1] + h/2}
	}
	if w >= 0 && h >= 0 {
		b.area = w * h
	}
	return b
}

// signed returns the product of width and height, which may be negative.
func (b box[T]) signed() T { return (b.right - b.left) * (b.bottom - b.top) }

// intersection returns the area of the intersection of two boxes.
func intersection[T float](a, b box[T]) T {
	w, h := min(a.right, b.right)-max(a.left, b.left), min(a.bottom, b.bottom)-max(a.top, b.top)
	return max(w, 0) * max(h, 0)
}

func boxIoU[T float](p BoxIoUParams, c *op.Call) error {
	lhs, rhs, y := read[T](c.In[0]), read[T](c.In[1]), blank[T](c.Out[0])
	n := len(rhs) / 4
	for i := range y {
		l, r := i/n*4, i%n*4
		a, b := newBox(p.Format, lhs[l:l+4]), newBox(p.Format, rhs[r:r+4])
		if inter := intersection(a, b); inter > 0 {
			y[i] = inter / (a.area + b.area - inter)
		}
	}
	store(c.Out[0], y)
	return nil
}
