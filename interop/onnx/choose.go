package onnx

import (
	"cmp"
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// chooseRows are operators whose results have as many elements as values decide. Graphs of gomx
// have fixed shapes, so their inputs must be known at import.
var chooseRows = map[string]row{
	"NonZero": {1, nonZero}, "Unique": {1, unique}, "NonMaxSuppression": {2, suppression},
}

// nonZero lists the indices of elements other than zero, one row per axis.
func nonZero(c *call) []*sym.Symbol {
	v, list := c.in[0], c.reals(0)
	if c.err != nil {
		return nil
	}
	shape := v.shape
	if len(shape) == 0 {
		shape = dtype.Shape{1}
	}
	strides := shape.Strides()
	var found []int
	for i, x := range list {
		if x != 0 {
			found = append(found, i)
		}
	}
	if !c.spend(8 * len(found) * len(shape)) {
		return nil
	}
	rows := make([]int, 0, len(found)*len(shape))
	for a, d := range shape {
		for _, i := range found {
			rows = append(rows, i/strides[a]%d)
		}
	}
	c.integers(rows, dtype.Shape{len(shape), len(found)})
	return nil
}

// unique lists the different elements, or the different slices along an axis, with the index of the
// first of each, the place of every slice in the list, and how often each occurs.
func unique(c *call) []*sym.Symbol {
	v, data := c.in[0], c.reals(0)
	if c.err != nil {
		return nil
	}
	a, shape := 0, dtype.Shape{v.size()}
	if c.attr["axis"] != nil {
		a, shape = c.axis(c.num("axis", 0), v.rank()), v.shape
	}
	if c.err != nil || !c.spend(8*3*(v.size()+1)) {
		return nil
	}
	g := group(slicesOf(data, shape, a), c.num("sorted", 1) != 0)
	kept := shape.Clone()
	kept[a] = len(g.first)
	if kept.Size() == 0 {
		c.known(nd.Empty(kept, nd.As(v.typ)), kept)
	} else {
		flat := v.fixed.Reshape(shape...)
		first := nd.FromSlice(wide(g.first))
		c.known(nd.Take(flat, first, nd.TakeParams{Axis: a}), kept)
	}
	c.integers(g.first, dtype.Shape{len(g.first)})
	c.integers(g.place, dtype.Shape{len(g.place)})
	c.integers(g.count, dtype.Shape{len(g.count)})
	return nil
}

// slicesOf copies the slices along an axis.
func slicesOf(data []float64, shape dtype.Shape, axis int) [][]float64 {
	list := make([][]float64, shape[axis])
	inner := shape[axis+1:].Size()
	for i, x := range data {
		k := i / inner % shape[axis]
		list[k] = append(list[k], x)
	}
	return list
}

// groups are equal slices.
type groups struct {
	first []int // index of the first slice of each group
	place []int // group of each slice
	count []int // number of slices of each group
}

// group finds equal slices. Groups have the order of their slices, or of their first occurrence.
func group(list [][]float64, sorted bool) groups {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return slices.Compare(list[i], list[j]) })
	var members [][]int
	for i, k := range order {
		if i == 0 || slices.Compare(list[order[i-1]], list[k]) != 0 {
			members = append(members, nil)
		}
		members[len(members)-1] = append(members[len(members)-1], k)
	}
	if !sorted {
		slices.SortFunc(members, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	}
	g := groups{place: make([]int, len(list))}
	for i, m := range members {
		g.first, g.count = append(g.first, m[0]), append(g.count, len(m))
		for _, k := range m {
			g.place[k] = i
		}
	}
	return g
}

// wide converts to int64.
func wide(list []int) []int64 {
	w := make([]int64, len(list))
	for i, v := range list {
		w[i] = int64(v)
	}
	return w
}

// box has the borders of a rectangle.
type box struct{ left, top, right, bottom float64 }

// overlap is the intersection of two boxes divided by their union; 0 for boxes without an area.
func (b box) overlap(o box) float64 {
	width := min(b.right, o.right) - max(b.left, o.left)
	height := min(b.bottom, o.bottom) - max(b.top, o.top)
	if width <= 0 || height <= 0 {
		return 0
	}
	area := func(b box) float64 { return (b.right - b.left) * (b.bottom - b.top) }
	return width * height / (area(b) + area(o) - width*height)
}

// suppression lists, for each image and class, the boxes with the best scores that overlap no
// better box of the list. Rows are (image, class, box).
func suppression(c *call) []*sym.Symbol {
	boxes, scores := c.in[0], c.in[1]
	if boxes.rank() != 3 || boxes.shape[2] != 4 || scores.rank() != 3 ||
		scores.shape[0] != boxes.shape[0] || scores.shape[2] != boxes.shape[1] {
		return c.fail("boxes of shape %v and scores of shape %v, want (n, boxes, 4) and (n, classes, "+
			"boxes)", boxes.shape, scores.shape)
	}
	corners, values := c.reals(0), c.reals(1)
	most, limit, least := 0, 0.0, c.reals(4)
	if list := c.reals(2); len(list) == 1 {
		most = int(min(max(list[0], 0), float64(boxes.shape[1])))
	}
	if list := c.reals(3); len(list) == 1 {
		limit = list[0]
	}
	if c.err != nil {
		return nil
	}
	n := boxes.shape[1]
	var rows []int
	for image := range boxes.shape[0] {
		list := boxesOf(corners[image*n*4:(image+1)*n*4], c.num("center_point_box", 0) != 0)
		for class := range scores.shape[1] {
			at := (image*scores.shape[1] + class) * n
			for _, i := range best(list, values[at:at+n], most, limit, least) {
				rows = append(rows, image, class, i)
			}
		}
	}
	if !c.spend(8 * len(rows)) {
		return nil
	}
	c.integers(rows, dtype.Shape{len(rows) / 3, 3})
	return nil
}

// boxesOf reads boxes: (y, x, y, x) of two opposite corners, or centre and size (x, y, width,
// height).
func boxesOf(list []float64, centre bool) []box {
	var boxes []box
	for b := range slices.Chunk(list, 4) {
		if centre {
			boxes = append(boxes, box{b[0] - b[2]/2, b[1] - b[3]/2, b[0] + b[2]/2, b[1] + b[3]/2})
			continue
		}
		boxes = append(boxes, box{min(b[1], b[3]), min(b[0], b[2]), max(b[1], b[3]),
			max(b[0], b[2])})
	}
	return boxes
}

// best lists at most a number of boxes by falling score. A box whose overlap with a better box of
// the list is above limit is left out, and scores that do not exceed least[0] are.
func best(boxes []box, scores []float64, most int, limit float64, least []float64) []int {
	var order, chosen []int
	for i, s := range scores {
		if len(least) == 0 || s > least[0] {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	for _, i := range order {
		if len(chosen) == most {
			break
		}
		if !slices.ContainsFunc(chosen, func(k int) bool {
			return boxes[i].overlap(boxes[k]) > limit
		}) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}
