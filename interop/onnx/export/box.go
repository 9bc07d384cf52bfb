package export

import (
	"google.golang.org/protobuf/proto"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	"gomx/op"
	"gomx/op/vision"
)

// boxRules are operators on boxes.
var boxRules = rules{
	vision.BoxIoU.Op: on(boxIoU), vision.BoxNMS.Op: on(boxNMS), vision.BoxDecode.Op: on(boxDecode),
	vision.MultiBoxDetection.Op: on(detection),
}

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
	return one(c.reshape(overlap(c, corners(c, a, p.Format), corners(c, b, p.Format)),
		c.out(0).shape))
}

// corners are left, top, right and bottom of boxes, which lie on the last axis.
func corners(c *call, x value, format string) [4]value {
	parts := [4]value(c.split(x, len(x.shape)-1, 1, 1, 1, 1))
	if format == "center" {
		return fromCenters(c, parts)
	}
	return parts
}

// fromCenters makes corners of centres and sizes.
func fromCenters(c *call, x [4]value) [4]value {
	w, h := c.scaled(x[2], 0.5), c.scaled(x[3], 0.5)
	return [4]value{c.minus(x[0], w), c.minus(x[1], h), c.plus(x[0], w), c.plus(x[1], h)}
}

// overlap is the area of the intersections over the area of the unions; zero for disjoint boxes.
func overlap(c *call, a, b [4]value) value {
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

// rows is a list of boxes for each picture, the best first.
type rows struct {
	*call
	x     value // (pictures, rows, numbers)
	valid value // (pictures, rows), boolean
}

// ranked takes the k rows of the largest scores, of shape (pictures, rows), among the valid ones.
func ranked(c *call, x, scores, valid value, k int) rows {
	low := c.filled(scores.typ, scores.shape, -1e30)
	best, ids := c.top(c.where(valid, scores, low), 1, k, true)
	return rows{c, rowsAt(c, x, ids), c.test("Greater", best, c.like(best, -1e30))}
}

// rowsAt takes rows by their numbers, (pictures, n).
func rowsAt(c *call, x, ids value) value {
	shape := dtype.Shape{ids.shape[0], ids.shape[1], x.shape[2]}
	wide := c.expand(c.reshape(ids, dtype.Shape{shape[0], shape[1], 1}), shape)
	return c.elements(x, wide, 1)
}

// column is number i of each row, (pictures, rows, 1).
func (r rows) column(i int) value { return r.slice(r.x, 2, i, i+1, 1) }

// pairs is whether row a, on axis 1, comes before row b, on axis 2, and holds for both.
func (r rows) pairs(holds value) value {
	n := r.x.shape[1]
	before := r.test("Less", r.along(dtype.Int64, 1, 3, counting(n)...),
		r.along(dtype.Int64, 2, 3, counting(n)...))
	return r.test("And", holds, before)
}

// across turns (pictures, rows, 1) to (pictures, 1, rows).
func (r rows) across(x value) value {
	return r.reshape(x, dtype.Shape{x.shape[0], 1, x.shape[1]})
}

// overlapping compares all pairs of boxes from number start on, of one class unless class is
// negative; kind compares the overlap with the threshold.
func (r rows) overlapping(start, class int, format, kind string, threshold float64) value {
	boxes := corners(r.call, r.slice(r.x, 2, start, start+4, 1), format)
	var turned [4]value
	for i, v := range boxes {
		turned[i] = r.across(v)
	}
	shares := overlap(r.call, boxes, turned)
	hit := r.test(kind, shares, r.like(shares, threshold))
	if class >= 0 {
		ids := r.cast(r.column(class), dtype.Int64)
		hit = r.test("And", hit, r.test("Equal", ids, r.across(ids)))
	}
	return r.pairs(hit)
}

// kept finds the rows that no kept row before them hits. It starts with all valid rows and repeats
// until nothing changes: after step i the first i rows are right.
func (r rows) kept(hits value) value {
	first := r.cast(r.valid, dtype.Float32)
	hits = r.cast(hits, dtype.Float32)
	pictures, n := first.shape[0], first.shape[1]
	return r.loop(n, first, func(keep value) (next, more value) {
		blows := r.matmul(r.reshape(keep, dtype.Shape{pictures, 1, n}), hits)
		free := r.test("LessOrEqual", r.reshape(blows, keep.shape), r.like(keep, 0))
		next = r.times(r.cast(free, dtype.Float32), first)
		change := r.cast(r.not(r.test("Equal", next, keep)), dtype.Int32)
		return next, r.truth(r.reduce("ReduceMax", change, []int{0, 1}, false))
	})
}

// loop adds ONNX's Loop with one state: body computes the next state and whether to go on.
func (c *call) loop(most int, first value, body func(state value) (next, more value)) value {
	named := func(what string, shape dtype.Shape, t dtype.Type) value {
		return value{c.ex.unique(c.node.Name + "_" + what), shape, t}
	}
	step := named("step", dtype.Shape{}, dtype.Int64)
	going := named("going", dtype.Shape{}, dtype.Bool)
	state := named("state", first.shape, first.typ)
	outside := c.ex.graph.Node
	c.ex.graph.Node = nil
	next, more := body(state)
	inner := &onnxpb.GraphProto{Name: proto.String(c.node.Name + "_body"), Node: c.ex.graph.Node}
	c.ex.graph.Node = outside
	for _, v := range []value{step, going, state} {
		inner.Input = append(inner.Input, c.ex.info(v))
	}
	for _, v := range []value{more, next} {
		inner.Output = append(inner.Output, c.ex.info(v))
	}
	return c.add("Loop", first.shape, first.typ, []value{c.scalar(dtype.Int64, float64(most)),
		c.scalar(dtype.Bool, 1), first}, &attribute{Name: proto.String("body"),
		Type: onnxpb.AttributeProto_GRAPH.Enum(), G: inner})
}

// packed moves the rows that are kept, numbers above zero, to the front; the others become -1.
func (r rows) packed(keep value) value {
	n := keep.shape[1]
	places := make([]float64, n)
	for i := range places {
		places[i] = float64(n - i)
	}
	order := r.times(keep, r.along(dtype.Float32, 1, 2, places...))
	marks, ids := r.top(order, 1, n, true)
	there := r.test("Greater", marks, r.like(marks, 0))
	there = r.reshape(there, dtype.Shape{keep.shape[0], n, 1})
	return r.where(there, rowsAt(r.call, r.x, ids), r.like(r.x, -1))
}

// boxNMS sorts boxes and removes those that overlap too much with a better one.
func boxNMS(c *call, p vision.BoxNMSParams) []value {
	x := c.x(0)
	rank := len(x.shape)
	n, width := x.shape[rank-2], x.shape[rank-1]
	limit := p.TopK.Value()
	if limit < 0 || limit > n {
		limit = n
	}
	if limit == 0 {
		return one(x)
	}
	start, id := p.CoordStart.Value(), p.IDIndex.Value()
	lists := c.reshape(x, dtype.Shape{x.shape[:rank-2].Size(), n, width})
	all := rows{c, lists, value{}}
	flat := lists.shape[:2]
	scores := c.reshape(all.column(p.ScoreIndex.Value()), flat)
	valid := c.test("Greater", scores, c.like(scores, p.ValidThresh))
	if id >= 0 {
		ids := c.reshape(all.column(id), flat)
		other := c.not(c.test("Equal", ids, c.like(ids, float64(p.BackgroundID.Value()))))
		valid = c.test("And", valid, other)
	}
	if p.ForceSuppress {
		id = -1
	}
	r := ranked(c, lists, scores, valid, limit)
	y := r.packed(r.kept(r.overlapping(start, id, p.InFormat, "Greater",
		p.OverlapThresh.Value())))
	if limit < n {
		y = c.concat(1, y, c.filled(x.typ, dtype.Shape{flat[0], n - limit, width}, -1))
	}
	if p.InFormat != p.OutFormat {
		y = reformatted(c, y, start, p.OutFormat)
	}
	return one(c.reshape(y, x.shape))
}

// reformatted converts the boxes of rows whose first coordinate is not negative.
func reformatted(c *call, y value, start int, to string) value {
	width := y.shape[2]
	box := c.slice(y, 2, start, start+4, 1)
	v := [4]value(c.split(box, 2, 1, 1, 1, 1))
	made := fromCenters(c, v)
	if to == "center" {
		made = [4]value{c.scaled(c.plus(v[0], v[2]), 0.5), c.scaled(c.plus(v[1], v[3]), 0.5),
			c.minus(v[2], v[0]), c.minus(v[3], v[1])}
	}
	box = c.where(c.test("Less", v[0], c.like(box, 0)), box, c.concat(2, made[:]...))
	var parts []value
	if start > 0 {
		parts = append(parts, c.slice(y, 2, 0, start, 1))
	}
	parts = append(parts, box)
	if start+4 < width {
		parts = append(parts, c.slice(y, 2, start+4, width, 1))
	}
	return c.concat(2, parts...)
}

// boxDecode moves and scales anchors by predicted offsets.
func boxDecode(c *call, p vision.BoxDecodeParams) []value {
	offsets := c.split(c.x(0), 2, 1, 1, 1, 1)
	a := [4]value(c.split(c.x(1), 2, 1, 1, 1, 1))
	if p.Format == "corner" {
		w, h := c.minus(a[2], a[0]), c.minus(a[3], a[1])
		a = [4]value{c.plus(a[0], c.scaled(w, 0.5)), c.plus(a[1], c.scaled(h, 0.5)), w, h}
	}
	var low, high []value
	for i, std := range [2][2]float64{{p.Std0.Value(), p.Std2.Value()},
		{p.Std1.Value(), p.Std3.Value()}} {
		centre := c.plus(c.times(c.scaled(offsets[i], std[0]), a[2+i]), a[i])
		size := c.scaled(offsets[2+i], std[1])
		if p.Clip.Value() > 0 {
			size = c.binary("Min", size, c.like(size, p.Clip.Value()))
		}
		half := c.scaled(c.times(c.unary("Exp", size), a[2+i]), 0.5)
		low, high = append(low, c.minus(centre, half)), append(high, c.plus(centre, half))
	}
	return one(c.concat(2, append(low, high...)...))
}
