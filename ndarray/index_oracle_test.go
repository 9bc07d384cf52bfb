package ndarray_test

import (
	"math/rand/v2"
	"slices"

	nd "gomx/ndarray"
)

// indexItem is an index together with what the oracle knows of it.
type indexItem struct {
	index nd.Index
	kind  byte    // p place, r range, l list, n new axis, e ellipsis
	shape []int   // of a list
	lists [][]int // places per axis that the item stands for; of a range or list
}

// drawIndex returns a random index of an array of the given shape.
func drawIndex(r *rand.Rand, shape []int) []indexItem {
	var items []indexItem
	ellipsis, partial := r.IntN(3) == 0, r.IntN(3) == 0
	block := [][]int{{}, {2}, {3}, {1, 2}, {2, 1}}[r.IntN(5)]
	for axis := 0; axis < len(shape); {
		d := shape[axis]
		if ellipsis && r.IntN(len(shape)) == 0 {
			axis += r.IntN(len(shape) - axis + 1)
			items, ellipsis, partial = append(items, indexItem{index: nd.Ellipsis, kind: 'e'}),
				false, false
			continue
		}
		x := indexItem{}
		switch k := r.IntN(8); {
		case k == 0:
			items = append(items, indexItem{index: nd.NewAxis, kind: 'n'})
			continue
		case k == 1 && d > 0:
			i := r.IntN(2*d) - d
			x = indexItem{index: nd.Int(i), kind: 'p', lists: [][]int{{(i + d) % d}}}
		case k == 2 && d > 0:
			x = drawList(r, block, d)
		case k == 3:
			x = drawMask(r, shape[axis:])
		case k == 4 && partial:
			return items // the rest is whole
		default:
			x = drawSpan(r, d)
		}
		items = append(items, x)
		axis += len(x.lists)
	}
	return items
}

// drawSpan walks along the axis as Python's slice would.
func drawSpan(r *rand.Rand, d int) indexItem {
	steps := []int{1, 1, 2, 3, -1, -2}
	begin, end, step := r.IntN(2*d+4)-d-2, r.IntN(2*d+4)-d-2, steps[r.IntN(len(steps))]
	s := nd.RangeStep(begin, end, step)
	if r.IntN(3) == 0 {
		if s = nd.From(begin).By(step); step > 0 {
			end = d
		} else {
			end = -d - 1
		}
	}
	if r.IntN(5) == 0 {
		if s = nd.Every(step); step > 0 {
			begin, end = 0, d
		} else {
			begin, end = d-1, -d-1
		}
	}
	if begin < 0 {
		begin += d
	}
	if end < 0 {
		end += d
	}
	list := []int{}
	for i := range d {
		if step < 0 {
			i = d - 1 - i
		}
		// Python starts a range that begins outside at the end of the axis.
		from := begin
		if step < 0 {
			from = min(begin, d-1)
		} else {
			from = max(begin, 0)
		}
		if (i-from)%step == 0 && (i-from)/step >= 0 && (step > 0 && i < end || step < 0 &&
			i > end) {
			list = append(list, i)
		}
	}
	return indexItem{index: s, kind: 'r', lists: [][]int{list}}
}

// drawList returns a list, or an array, of places whose shape broadcasts to block.
func drawList(r *rand.Rand, block []int, d int) indexItem {
	shape := slices.Clone(block[r.IntN(len(block)+1):])
	for i := range shape {
		if r.IntN(4) == 0 {
			shape[i] = 1
		}
	}
	given, list := make([]int, nd.Shape(shape).Size()), []int{}
	for i := range given {
		given[i] = r.IntN(2*d) - d
		list = append(list, (given[i]+d)%d)
	}
	x := indexItem{kind: 'l', shape: shape, lists: [][]int{list}}
	if len(shape) == 1 && r.IntN(2) == 0 {
		x.index = nd.Ints(given)
		return x
	}
	data := make([]int32, len(given))
	for i, v := range given {
		data[i] = int32(v)
	}
	x.index = nd.FromSlice(data, append([]int{}, shape...)...)
	if len(shape) == 0 {
		x.index = nd.FromSlice(data).Reshape(1).Index(nd.Int(0)) // a scalar
	}
	return x
}

// drawMask returns a mask over the first axes of shape. It keeps two places, which fit into most
// blocks of lists.
func drawMask(r *rand.Rand, shape []int) indexItem {
	n := 1 + r.IntN(len(shape))
	shape = shape[:n]
	size := nd.Shape(shape).Size()
	mask := make([]float32, size)
	bools := make([]bool, size)
	for range min(2, size) {
		i := r.IntN(size)
		mask[i], bools[i] = 2, true
	}
	x := indexItem{kind: 'l', lists: make([][]int, n)}
	count := 0
	for i, on := range bools {
		if !on {
			continue
		}
		count++
		for k := n - 1; k >= 0; k-- {
			x.lists[k] = append(x.lists[k], i%shape[k])
			i /= shape[k]
		}
	}
	x.shape = []int{count}
	if r.IntN(2) == 0 {
		x.index = nd.Mask(nd.FromSlice(mask, shape...))
	} else {
		x.index = nd.FromSlice(bools, shape...)
	}
	return x
}

// axisOf is what the oracle takes along one axis of the array, or a new axis.
type axisOf struct {
	kind  byte
	list  []int
	shape []int // of a list
	dim   int   // of the result, for a range
	apart bool  // an ellipsis comes before
}

// oracle returns the shape that NumPy would give, and for every element of the result its place
// in the array; ok is false where lists do not broadcast.
func oracle(shape []int, items []indexItem) (out, from []int, ok bool) {
	axes, used := []axisOf{}, 0
	for _, x := range items {
		used += len(x.lists)
	}
	whole := func(n int) {
		for range n {
			k := 0
			for _, a := range axes {
				if a.kind != 'n' {
					k++
				}
			}
			list := make([]int, shape[k])
			for i := range list {
				list[i] = i
			}
			axes = append(axes, axisOf{kind: 'r', list: list})
		}
	}
	for i, x := range items {
		switch x.kind {
		case 'e':
			whole(len(shape) - used)
			used = len(shape)
		case 'n':
			axes = append(axes, axisOf{kind: 'n'})
		}
		for k, l := range x.lists {
			apart := k == 0 && i > 0 && items[i-1].kind == 'e'
			axes = append(axes, axisOf{kind: x.kind, list: l, shape: x.shape, apart: apart})
		}
	}
	whole(len(shape) - used)
	return layOut(shape, axes)
}

// layOut places the axes in the result and looks every element up.
func layOut(shape []int, axes []axisOf) (out, from []int, ok bool) {
	out = []int{} // not nil: a scalar has a shape
	block, lists, ok := blockOf(axes)
	apart := len(lists) > 0 && slices.ContainsFunc(lists[1:],
		func(i int) bool { return axes[i].apart })
	blockAt := -1 // its first dimension
	if len(lists) > 0 && (apart || lists[len(lists)-1]-lists[0]+1 != len(lists)) {
		out, blockAt = append(out, block...), 0
	}
	for i := range axes {
		a := &axes[i]
		if len(lists) > 0 && blockAt < 0 && i == lists[0] {
			blockAt = len(out)
			out = append(out, block...)
		}
		switch a.kind {
		case 'n':
			out = append(out, 1)
		case 'r':
			a.dim = len(out)
			out = append(out, len(a.list))
		}
	}
	if ok {
		eachPlace(out, func(at []int) {
			flat, axis := 0, 0
			for _, a := range axes {
				if a.kind != 'n' {
					flat = flat*shape[axis] + a.list[a.element(at, blockAt+len(block))]
					axis++
				}
			}
			from = append(from, flat)
		})
	}
	return out, from, ok
}

// element returns which element of its list a takes at a place of the result; the block of lists
// ends before dimension end.
func (a axisOf) element(at []int, end int) int {
	if a.kind == 'r' {
		return at[a.dim]
	}
	k := 0
	for j, d := range a.shape {
		if k *= d; d > 1 {
			k += at[end-len(a.shape)+j]
		}
	}
	return k
}

// blockOf returns the shape to which all lists broadcast, and which axes are lists, or places
// beside lists.
func blockOf(axes []axisOf) (block, lists []int, ok bool) {
	if !slices.ContainsFunc(axes, func(a axisOf) bool { return a.kind == 'l' }) {
		return nil, nil, true
	}
	for i, a := range axes {
		if a.kind != 'l' && a.kind != 'p' {
			continue
		}
		lists = append(lists, i)
		for len(block) < len(a.shape) {
			block = append([]int{1}, block...)
		}
		for k, d := range a.shape {
			at := len(block) - len(a.shape) + k
			if d != 1 && block[at] != 1 && d != block[at] {
				return nil, nil, false
			}
			if block[at] == 1 {
				block[at] = d
			}
		}
	}
	return block, lists, true
}

// eachPlace calls f for every place of an array of a shape, in order.
func eachPlace(shape []int, f func(at []int)) {
	at := make([]int, len(shape))
	for range nd.Shape(shape).Size() {
		f(at)
		for d := len(shape) - 1; d >= 0; d-- {
			if at[d]++; at[d] < shape[d] {
				break
			}
			at[d] = 0
		}
	}
}
