package ndarray

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/index"
	"gomx/op/prim"
)

// SetIndex overwrites the part of a that Index would return, as NumPy's x[…] = value does. The
// value is a number, or an array that broadcasts to the shape of the part; it is converted to a's
// element type and may be on another device. Where a list names a position twice the later value
// stays.
//
//	x.SetIndex(0, nd.Mask(x.Lt(y)))                // x[x < y] = 0
//	x.SetIndex(row, nd.All(), nd.Ints{2, 0}, nd.NewAxis)
//
// Tapes do not record it. SetIndex waits for the values of a mask, unless the mask is the only
// index and the value has at most the axes behind the mask's, as in the first line.
func (a *Array) SetIndex(value any, index ...Index) {
	a.mem("SetIndex")
	a.checkWritable("SetIndex")
	number, array := a.valueOf(value)
	Scope(func(s *Scoped) {
		w := writer{array: s.Own(a.Detach()), number: number}
		if array != nil {
			w.value = w.convert(s.Own(array.Detach()))
		}
		if m := onlyMask(index); m != nil && w.maskable(m) {
			w.choose(s.Own(m.Detach()).To(a.chunk.dev))
			return
		}
		picks := a.parse("SetIndex", index)
		if slices.ContainsFunc(picks, isList) {
			w.scatter(s, picks)
		} else {
			w.overwrite(picks)
		}
	})
}

// valueOf returns the assigned value as a number, or as an array; the array is nil for a number.
func (a *Array) valueOf(value any) (float64, *Array) {
	switch v := value.(type) {
	case *Array:
		if v == nil {
			panic(misuse("SetIndex", "value", "the array is nil"))
		}
		if v.mem("SetIndex").eng != a.chunk.eng {
			panic(misuse("SetIndex", "value", "the array belongs to another engine"))
		}
		return 0, v
	case int:
		return float64(v), nil
	case float64:
		return v, nil
	case float32:
		return float64(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	}
	panic(misuse("SetIndex", "value", "a %T, want an *Array, an int, a float or a bool", value))
}

// writer assigns a value to parts of an array. All arrays it uses belong to a scope.
type writer struct {
	array  *Array
	value  *Array // nil: assign number
	number float64
}

// convert moves the assigned array to the device and the element type of the array written to.
func (w *writer) convert(v *Array) *Array {
	if v.Size() == 1 {
		v = v.reshape("SetIndex", Shape{})
	}
	if v = v.To(w.array.chunk.dev); v.dtype != w.array.dtype {
		v = v.AsType(w.array.dtype)
	}
	return v
}

// spread returns the value, broadcast to the shape of the part that is written.
func (w *writer) spread(shape Shape) *Array {
	if w.value == nil {
		return w.array.like(shape, w.number)
	}
	v := w.value
	for len(v.shape) > len(shape) && v.shape[0] == 1 {
		v = v.reshape("SetIndex", v.shape[1:].Clone())
	}
	if to, ok := spread(shape, v.shape); !ok || !to.Equal(shape) {
		panic(misuse("SetIndex", "value", "shape %v does not broadcast to %v", w.value.shape,
			shape))
	}
	return v.broadcastTo(shape)
}

// like returns an array filled with v, of a's element type and on a's device.
func (a *Array) like(shape Shape, v float64) *Array {
	return Full(v, shape, On(a.chunk.dev), As(a.dtype), Using(a.chunk.eng)).enter(a.scope)
}

// overwrite writes to the part that picks without lists select.
func (w *writer) overwrite(picks []pick) {
	a := w.array
	to := a.windowOf(picks)
	switch {
	case to.shape.Size() == 0:
		w.spread(to.shape) // panics where the value does not fit
	case to.contiguous && w.value == nil:
		fill(a.view("SetIndex", to.shape, to.offset*a.dtype.Size()), w.number)
	case to.contiguous:
		a.view("SetIndex", to.shape, to.offset*a.dtype.Size()).Set(w.spread(to.shape))
	case w.value == nil:
		p := sliceParams(a.shape, picks)
		applyTo(a, prim.SliceAssignScalar.Op, prim.SliceAssignScalarParams{Scalar: w.number,
			Begin: p.Begin, End: p.End, Step: p.Step}, a)
	default:
		applyTo(a, prim.SliceAssign.Op, sliceParams(a.shape, picks), a,
			w.spread(to.shape).reshape("SetIndex", to.cut))
	}
}

// scatter writes to the part that picks with lists select. It computes an index along every axis up
// to the last one that is not taken whole.
func (w *writer) scatter(s *Scoped, picks []pick) {
	a, l := w.array, layoutOf("SetIndex", picks)
	last := 0
	for _, p := range picks {
		if p.kind != pickNew && !p.whole(a.shape[p.axis]) {
			last = p.axis
		}
	}
	whole := a.shape[last+1:]
	named := l.withoutNew()
	named = named[:len(named)-len(whole)]
	var places []*Array
	ranges := 0
	for _, p := range picks {
		if p.kind == pickNew || p.axis > last {
			continue
		}
		end := l.at + len(l.block) // the indices of p vary along axes of named before this one
		if p.kind == pickRange {
			if ranges++; ranges <= l.at {
				end = ranges
			} else {
				end = ranges + len(l.block)
			}
		}
		places = append(places, a.indices(s, p.asList()).upTo(end, len(named)).broadcastTo(named))
	}
	value := w.spread(l.shape).reshape("SetIndex", join(named, whole))
	tuples := apply1(prim.Stack.Op, prim.StackParams{}, places...)
	applyTo(a, index.ScatterSetND.Op, index.ScatterNDParams{Shape: a.shape}, a, value, tuples)
}

// withoutNew returns the shape of the result without new axes.
func (l *layout) withoutNew() Shape {
	shape := Shape{}
	for _, p := range l.ranges {
		shape = append(shape, p.n)
	}
	return slices.Insert(shape, l.at, l.block...)
}

// asList returns a pick of any kind as a list.
func (p pick) asList() pick {
	if p.kind == pickList {
		return p
	}
	list := make([]int, p.n)
	for i := range list {
		list[i] = p.begin + i*p.step
	}
	shape := Shape{}
	if p.kind == pickRange {
		shape = Shape{p.n}
	}
	return pick{kind: pickList, axis: p.axis, list: list, shape: shape}
}

// upTo appends n-end axes of extent one to a, so that its last axis becomes axis end-1 of n.
func (a *Array) upTo(end, n int) *Array {
	shape := a.shape.Clone()
	for range n - end {
		shape = append(shape, 1)
	}
	return a.reshape("SetIndex", shape)
}

// onlyMask returns the mask if it is the only index, else nil.
func onlyMask(index []Index) *Array {
	if len(index) == 1 {
		switch m := index[0].(type) {
		case masked:
			return m.array
		case *Array:
			if m != nil && m.dtype == dtype.Bool {
				return m
			}
		}
	}
	return nil
}

// maskable reports whether every position where m is not zero gets the same value, so that choose
// can assign it.
func (w *writer) maskable(m *Array) bool {
	rest := len(w.array.shape) - len(m.shape)
	return m != nil && len(m.shape) > 0 && rest >= 0 &&
		m.shape.Equal(w.array.shape[:len(m.shape)]) &&
		(w.value == nil || len(w.value.shape) <= rest)
}

// choose writes the value where m is not zero, without reading m's values on the host.
func (w *writer) choose(m *Array) {
	a := w.array
	if len(m.shape) > 1 && len(m.shape) < len(a.shape) {
		m = m.upTo(len(m.shape), len(a.shape)).broadcastTo(a.shape)
	}
	applyTo(a, prim.Where.Op, op.NoParams{}, m, w.spread(a.shape), a)
}
