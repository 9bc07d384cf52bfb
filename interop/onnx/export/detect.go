package export

import (
	"gomx/dtype"
	"gomx/op/vision"
)

// detection turns predictions for anchors to rows of class, probability and box, the most probable
// first.
func detection(c *call, p vision.MultiBoxDetectionParams) []value {
	probs := c.x(0)
	n, classes, count := probs.shape[0], probs.shape[1], probs.shape[2]
	out := c.out(0).shape
	if classes < 2 || count == 0 {
		return one(c.filled(probs.typ, out, -1))
	}
	objects := c.slice(probs, 1, 1, classes, 1)
	best := c.reduce("ReduceMax", objects, []int{1}, false)
	class := c.cast(c.add("ArgMax", best.shape, dtype.Int64, one(objects), num("axis", 1),
		num("keepdims", 0)), probs.typ)
	wide := dtype.Shape{n, count, 1}
	boxes := decoded(c, p)
	x := c.concat(2, c.reshape(class, wide), c.reshape(best, wide), boxes)
	valid := c.test("GreaterOrEqual", best, c.like(best, p.Threshold.Value()))
	list := rows{c, x, valid}
	if t := p.NMSThreshold.Value(); t <= 0 || t > 1 {
		return one(list.packed(c.cast(valid, dtype.Float32)))
	}
	r := ranked(c, x, best, valid, count)
	compared := r
	most := p.NMSTopK.Value()
	if most <= 0 || most > count {
		most = count
	}
	early := c.test("Less", c.along(dtype.Int64, 1, 2, counting(count)...),
		c.scalar(dtype.Int64, float64(most)))
	compared.valid = c.test("And", r.valid, early)
	id := 0
	if p.ForceSuppress {
		id = -1
	}
	keep := compared.kept(compared.overlapping(2, id, "corner", "GreaterOrEqual",
		p.NMSThreshold.Value()))
	if most < count { // rows that are not compared stay as they were before the sorting
		before := list.packed(c.cast(valid, dtype.Float32))
		r.x = c.where(c.reshape(early, dtype.Shape{1, count, 1}), r.x, before)
	}
	keep = c.truth(c.reshape(keep, wide))
	there := c.reshape(r.valid, wide)
	y := c.concat(2, c.where(keep, r.column(0), c.like(x, -1)), c.slice(r.x, 2, 1, 6, 1))
	return one(c.where(there, y, c.like(y, -1)))
}

// decoded are the boxes that anchors and offsets give, (pictures, anchors, 4).
func decoded(c *call, p vision.MultiBoxDetectionParams) value {
	anchors := c.x(2)
	n, count := c.x(0).shape[0], anchors.shape[1]
	offsets := c.split(c.reshape(c.x(1), dtype.Shape{n, count, 4}), 2, 1, 1, 1, 1)
	a := c.split(anchors, 2, 1, 1, 1, 1)
	var low, high []value
	for i := range 2 {
		size := c.minus(a[2+i], a[i])
		middle := c.scaled(c.plus(a[i], a[2+i]), 0.5)
		middle = c.plus(middle, c.times(c.scaled(offsets[i], p.Variances[i]), size))
		factor := c.unary("Exp", c.scaled(offsets[2+i], p.Variances[2+i]))
		half := c.scaled(c.times(factor, size), 0.5)
		low, high = append(low, c.minus(middle, half)), append(high, c.plus(middle, half))
	}
	y := c.concat(2, append(low, high...)...)
	if p.NoClip {
		return y
	}
	return c.add("Clip", y.shape, y.typ, []value{y, c.like(y, 0), c.like(y, 1)})
}
