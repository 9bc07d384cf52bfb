package ndarray

import (
	"slices"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/index"
	"gomx/op/prim"
)

// Index returns part of a, as NumPy's x[…] does; axes without an index are taken whole.
//
//	x.Index(nd.Int(-1))                              // x[-1]
//	x.Index(nd.Range(1, 5), nd.Every(2))             // x[1:5, ::2]
//	x.Index(nd.Ellipsis, nd.Int(0), nd.NewAxis)      // x[..., 0, None]
//	x.Index(nd.Mask(x.Gt(y)))                        // x[x > y]
//	x.Index(nd.Ints{2, 0}, rows)                     // x[[2, 0], rows]
//
// The result is a view, so that writing to it writes to a, if positions and ranges select
// contiguous elements, such as rows or a range of rows. It is a copy otherwise. Lists, masks and
// arrays of indices, and positions beside them, broadcast to one another; their common axes replace
// the first of their axes, or come first in the result if other axes lie between them.
//
// Gradients flow through it to a. Index waits for the values of a mask, but not of an array of
// indices: an index out of range fails when the elements are looked up.
func (a *Array) Index(index ...Index) *Array {
	picks := a.parse("Index", index)
	if !slices.ContainsFunc(picks, isList) {
		return a.window(picks)
	}
	var r *Array
	Scope(func(s *Scoped) { r = s.Keep(s.Enter(a).gather(s, picks)) })
	return r.enter(a.scope)
}

func isList(p pick) bool { return p.kind == pickList }

// window describes the part that picks without lists select.
type window struct {
	cut        Shape // with an axis of extent one for a position, without new axes
	shape      Shape // of the result
	offset     int   // of the first element, in elements from the array's start
	contiguous bool  // the elements are contiguous in memory
}

func (a *Array) windowOf(picks []pick) window {
	w := window{cut: make(Shape, len(a.shape)), shape: make(Shape, 0, len(picks)), contiguous: true}
	strides := a.shape.Strides()
	whole := true // all axes behind the current one are taken whole
	for _, p := range slices.Backward(picks) {
		if p.kind != pickPlace {
			w.shape = append(w.shape, p.n)
		}
		if p.kind == pickNew {
			continue
		}
		w.cut[p.axis] = p.n
		w.offset += p.begin * strides[p.axis]
		w.contiguous = w.contiguous && (p.n == 1 || whole && p.step == 1)
		whole = whole && p.whole(a.shape[p.axis])
	}
	slices.Reverse(w.shape)
	if w.cut.Size() == 0 {
		w.offset, w.contiguous = 0, true
	}
	return w
}

// window returns the part that picks without lists select, as a view where this is possible.
func (a *Array) window(picks []pick) *Array {
	w := a.windowOf(picks)
	if !w.contiguous {
		return apply1(prim.Slice.Op, sliceParams(a.shape, picks), a).reshape("Index", w.shape)
	}
	offset := w.offset * a.dtype.Size()
	if a.trace.tape == nil || w.cut.Equal(a.shape) {
		return a.recordReshape(a.view("Index", w.shape, offset))
	}
	v := a.recordView(a.view("Index", w.cut, offset), prim.Slice.Op, sliceParams(a.shape, picks))
	return v.reshape("Index", w.shape)
}

// sliceParams returns picks without lists as parameters of the operator slice.
func sliceParams(shape Shape, picks []pick) prim.SliceParams {
	n := len(shape)
	p := prim.SliceParams{Begin: make([]op.Opt[int], n), End: make([]op.Opt[int], n),
		Step: make([]op.Opt[int], n)}
	for _, k := range picks {
		if k.kind == pickNew {
			continue
		}
		p.Begin[k.axis], p.Step[k.axis] = op.Some(k.begin), op.Some(k.step)
		switch last := k.begin + (k.n-1)*k.step; {
		case k.n == 0:
			p.End[k.axis] = op.Some(k.begin)
		case k.step > 0:
			p.End[k.axis] = op.Some(last + 1)
		case last > 0:
			p.End[k.axis] = op.Some(last - 1)
		}
	}
	return p
}

// gather returns the part that picks with lists select; s owns the temporary arrays.
func (a *Array) gather(s *Scoped, picks []pick) *Array {
	basic, lists := make([]pick, 0, len(a.shape)), []pick{}
	for _, p := range picks { // first ranges and positions, which make a smaller
		switch p.kind {
		case pickNew:
			continue
		case pickList:
			lists = append(lists, p)
			p = pick{kind: pickRange, axis: p.axis, n: a.shape[p.axis], step: 1}
		}
		basic = append(basic, p)
	}
	b := a.window(basic)
	l := layoutOf("Index", picks)
	var r *Array
	at := 0 // first axis of r that the lists made
	if len(lists) == 1 && lists[0].array == nil {
		at = l.axesOf(lists)[0]
		r = apply1(index.Take.Op, index.TakeParams{Axis: at}, b, a.indices(s, lists[0]))
	} else {
		r = apply1(index.GatherND.Op, op.NoParams{}, b.toFront(l.axesOf(lists)),
			a.tuples(s, lists, l.block))
	}
	return r.moveBlock(at, len(l.block), l.at).reshape("Index", l.shape)
}

// layout describes the axes of a selection with lists: the axes of the ranges, and among them one
// block of axes that the lists and positions make together.
type layout struct {
	block  Shape  // to which the lists and positions broadcast
	at     int    // number of ranges before the block
	ranges []pick // in the order of their axes
	shape  Shape  // of the result, new axes included
}

// layoutOf returns the layout. The block is at the first list or position if lists and positions
// are neighbours, before everything else otherwise.
func layoutOf(what string, picks []pick) *layout {
	l := &layout{block: Shape{}}
	first, last, apart := -1, -1, false
	for i, p := range picks {
		if p.kind != pickList && p.kind != pickPlace {
			continue
		}
		if first < 0 {
			first = i
		} else {
			apart = apart || p.apart || i != last+1
		}
		last = i
		shape, ok := spread(l.block, p.shape)
		if !ok {
			panic(misuse(what, "index", "lists of shape %v and %v do not broadcast", l.block,
				p.shape))
		}
		l.block = shape
	}
	if apart {
		first = 0
	}
	var behind Shape
	for i, p := range picks {
		if p.kind == pickRange {
			l.ranges = append(l.ranges, p)
		}
		switch {
		case p.kind == pickList || p.kind == pickPlace:
		case i < first:
			l.shape, l.at = append(l.shape, p.n), len(l.ranges)
		default:
			behind = append(behind, p.n)
		}
	}
	l.shape = join(l.shape, l.block, behind)
	return l
}

// axesOf returns the axes of the lists in an array without the axes of the positions.
func (l *layout) axesOf(lists []pick) []int {
	axes := make([]int, len(lists))
	for i, p := range lists {
		axes[i] = i
		for _, r := range l.ranges {
			if r.axis < p.axis {
				axes[i]++
			}
		}
	}
	return axes
}

// spread returns the shape to which two shapes broadcast, and whether they do.
func spread(a, b Shape) (Shape, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := append(Shape{}, a...)
	for i, d := range b {
		at := len(a) - len(b) + i
		switch {
		case out[at] == 1:
			out[at] = d
		case d != 1 && d != out[at]:
			return nil, false
		}
	}
	return out, true
}

// toFront returns a with the given axes moved before the others.
func (a *Array) toFront(axes []int) *Array {
	order := slices.Clone(axes)
	for i := range a.shape {
		if !slices.Contains(axes, i) {
			order = append(order, i)
		}
	}
	return a.permute(order)
}

// moveBlock moves the n axes that begin at from, so that they begin at to.
func (a *Array) moveBlock(from, n, to int) *Array {
	var order, block []int
	for i := range a.shape {
		if i >= from && i < from+n {
			block = append(block, i)
		} else {
			order = append(order, i)
		}
	}
	return a.permute(slices.Insert(order, to, block...))
}

// permute is Transpose, but returns a itself if the order is ascending.
func (a *Array) permute(order []int) *Array {
	if slices.IsSorted(order) {
		return a
	}
	return a.Transpose(order...)
}

// tuples broadcasts the indices of several lists to one shape and stacks them for gather_nd.
func (a *Array) tuples(s *Scoped, lists []pick, shape Shape) *Array {
	rows := make([]*Array, len(lists))
	for i, p := range lists {
		rows[i] = a.indices(s, p).broadcastTo(shape)
	}
	return apply1(prim.Stack.Op, prim.StackParams{}, rows...)
}

// indices returns the indices of a list as an array of int64 on a's device.
func (a *Array) indices(s *Scoped, p pick) *Array {
	if p.array == nil {
		return s.Own(a.hostInts(p.list, p.shape))
	}
	x := s.Own(p.array.Detach()).To(a.chunk.dev)
	if x.dtype != dtype.Int64 {
		x = x.AsType(dtype.Int64)
	}
	return x
}

// hostInts returns list as an array of int64 on a's device and engine.
func (a *Array) hostInts(list []int, shape Shape) *Array {
	b, err := newArray(a.chunk.eng, device.CPU(), dtype.Int64, shape, "")
	if err != nil {
		panic(misuse("Index", "", "%v", err))
	}
	to := unsafe.Slice((*int64)(b.chunk.block.Ptr), len(list))
	for i, k := range list {
		to[i] = int64(k)
	}
	return b.To(a.chunk.dev)
}

// broadcastTo returns a broadcast to shape, which must fit: a itself, or a copy.
func (a *Array) broadcastTo(shape Shape) *Array {
	switch {
	case a.shape.Equal(shape):
		return a
	case shape.Size() == 0: // to broadcast_to a zero means "as in the input"
		return Empty(shape, On(a.chunk.dev), As(a.dtype), Using(a.chunk.eng)).enter(a.scope)
	}
	return apply1(prim.BroadcastTo.Op, prim.BroadcastToParams{Shape: shape}, a)
}

// join concatenates shapes; the result is known (not nil) even if it is empty.
func join(parts ...Shape) Shape { return append(Shape{}, slices.Concat(parts...)...) }
