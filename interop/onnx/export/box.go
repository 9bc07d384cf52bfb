package export

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/vision"
)

// boxRules are operators on boxes.
var boxRules = rules{vision.BoxIoU.Op: on(boxIoU)}

// boxReasons are operators that ONNX lacks.
var boxReasons = map[*op.Op]string{
	vision.BipartiteMatching.Op: "ONNX has no matching",
	vision.MultiBoxTarget.Op:    "ONNX has no targets of anchors, which only training reads",
}

// boxIoU compares all pairs of boxes.
func boxIoU(c *call, p vision.BoxIoUParams) []value {
	a, b := c.x(0), c.x(1)
	n, m := a.shape.Size()/4, b.shape.Size()/4
	a = c.reshape(a, dtype.Shape{n, 1, 4})
	b = c.reshape(b, dtype.Shape{1, m, 4})
	return one(c.reshape(c.overlap(c.corners(a, p.Format), c.corners(b, p.Format)),
		c.out(0).shape))
}

// corners are left, top, right and bottom of boxes, which lie on the last axis.
func (c *call) corners(x value, format string) [4]value {
	last := len(x.shape) - 1
	parts := c.split(x, last, 1, 1, 1, 1)
	if format == "center" {
		w, h := c.scaled(parts[2], 0.5), c.scaled(parts[3], 0.5)
		parts = []value{c.minus(parts[0], w), c.minus(parts[1], h), c.plus(parts[0], w),
			c.plus(parts[1], h)}
	}
	return [4]value(parts)
}

// overlap is the area of the intersections over the area of the unions; zero for disjoint boxes.
func (c *call) overlap(a, b [4]value) value {
	zero := c.like(a[0], 0)
	side := func(from, to int) value {
		s := c.minus(c.binary("Min", a[to], b[to]), c.binary("Max", a[from], b[from]))
		return c.binary("Max", s, zero)
	}
	area := func(x [4]value) value {
		return c.times(c.minus(x[2], x[0]), c.minus(x[3], x[1]))
	}
	both := c.times(side(0, 2), side(1, 3))
	union := c.minus(c.plus(area(a), area(b)), both)
	disjoint := c.test("LessOrEqual", both, zero)
	return c.where(disjoint, zero, c.over(both, c.where(disjoint, c.like(union, 1), union)))
}
