package ndarray

import (
	"gomx/dtype"
	"gomx/op"
)

// Index selects elements along one or more axes of an array; see Array.Index. It is one of
//
//   - Int, one position: the result does not have the axis;
//   - Span, a range, as made by Range, RangeStep, From, Every and All: the result has the axis,
//     shortened;
//   - Ints, a list of positions;
//   - an *Array of integers: every element is a position along the axis; the array's axes
//     replace that axis;
//   - an *Array of booleans or a Mask: the positions where it is not zero, along as many axes as
//     it has;
//   - Ellipsis, all axes that the other indices leave over, whole;
//   - NewAxis, an additional axis of extent one.
//
// Negative positions count from the end.
type Index interface{ isIndex() }

// Int is one position along an axis; the result does not have the axis.
type Int int

// Ints lists positions along an axis, in any order; repetitions are allowed.
type Ints []int

// Span is a range along an axis. It has the bounds of a Python slice: negative bounds count from
// the end, and the range is cut to the axis.
type Span struct{ begin, end, step op.Opt[int] }

// Range returns the span from begin up to but not including end.
func Range(begin, end int) Span { return Span{begin: op.Some(begin), end: op.Some(end)} }

// RangeStep returns the span of every step-th position from begin up to but not including end. With
// a negative step it goes down; to include position 0 use From(begin).By(step).
func RangeStep(begin, end, step int) Span { return Range(begin, end).By(step) }

// From returns the span from begin through the last position.
func From(begin int) Span { return Span{begin: op.Some(begin)} }

// Every returns the span of every step-th position of the axis; Every(-1) is the whole axis
// backwards.
func Every(step int) Span { return Span{}.By(step) }

// All returns the span of the whole axis.
func All() Span { return Span{} }

// By returns the span with another step, which must not be 0. With a negative step it goes down
// from its beginning to its end.
func (s Span) By(step int) Span {
	s.step = op.Some(step)
	return s
}

// Marker is an index that uses no axis of the array, or several.
type Marker uint8

// The markers.
const (
	Ellipsis Marker = iota // all axes that the other indices leave over, whole
	NewAxis                // a new axis of extent one
)

// masked is an array that is read as a mask, with any element type.
type masked struct{ array *Array }

// Mask returns an index that selects the positions where m, such as the result of a comparison, is
// not zero.
func Mask(m *Array) Index { return masked{m} }

func (Int) isIndex()    {}
func (Ints) isIndex()   {}
func (Span) isIndex()   {}
func (Marker) isIndex() {}
func (masked) isIndex() {}
func (*Array) isIndex() {}

// pick is the selection along one axis, or a new axis.
type pick struct {
	kind           pickKind
	axis           int
	begin, n, step int    // of a position (n is 1) or a range
	list           []int  // of a list: its positions, if array is nil
	array          *Array // of a list: its positions, if their values have not been read
	shape          Shape  // of a list
	apart          bool   // an ellipsis, perhaps of no axes, lies between this and the pick before
}

type pickKind uint8

const (
	pickPlace pickKind = iota
	pickRange
	pickList
	pickNew
)

// whole reports whether p takes all of an axis of extent d as it is.
func (p *pick) whole(d int) bool {
	return p.kind == pickRange && p.begin == 0 && p.n == d && p.step == 1
}

// parser turns indices into picks.
type parser struct {
	array *Array
	what  string // the method that is called
	picks []pick
	axis  int  // next axis of the array
	apart bool // value of pick.apart for the next pick
}

// parse returns the selection of index as picks in the order of a's axes. It panics on misuse.
func (a *Array) parse(what string, index []Index) []pick {
	a.mem(what)
	p := &parser{array: a, what: what}
	used, ellipses := 0, 0
	for _, x := range index {
		used += p.axes(x)
		if x == Ellipsis {
			ellipses++
		}
	}
	switch {
	case ellipses > 1:
		panic(misuse(what, "index", "%d ellipses, want at most one", ellipses))
	case used > len(a.shape):
		panic(misuse(what, "index", "indices for %d axes, the array of shape %v has %d", used,
			a.shape, len(a.shape)))
	}
	for _, x := range index {
		if x == Ellipsis {
			p.skip(len(a.shape) - used)
			p.apart = true
			continue
		}
		p.add(x)
	}
	p.skip(len(a.shape) - p.axis)
	return p.picks
}

// axes returns the number of axes of the array that an index uses.
func (p *parser) axes(x Index) int {
	switch x := x.(type) {
	case nil:
		panic(misuse(p.what, "index", "nil, want an index"))
	case Marker:
		return 0
	case masked:
		return p.maskAxes(x.array)
	case *Array:
		if x != nil && x.dtype == dtype.Bool {
			return p.maskAxes(x)
		}
	}
	return 1
}

// maskAxes returns the number of axes that a mask uses.
func (p *parser) maskAxes(m *Array) int {
	if m == nil || len(m.shape) == 0 {
		panic(misuse(p.what, "index", "the mask has no axes, want at least one"))
	}
	return len(m.shape)
}

// skip appends picks of the next n axes, whole.
func (p *parser) skip(n int) {
	for range n {
		p.add(Span{})
	}
}

// add appends the picks of an index other than an ellipsis.
func (p *parser) add(x Index) {
	switch x := x.(type) {
	case Int:
		p.push(pick{kind: pickPlace, begin: p.place(int(x)), n: 1, step: 1})
	case Span:
		p.push(p.span(x))
	case Ints:
		list := make([]int, len(x))
		for i, k := range x {
			list[i] = p.place(k)
		}
		p.push(pick{kind: pickList, list: list, shape: Shape{len(list)}})
	case masked:
		p.mask(x.array)
	case *Array:
		p.places(x)
	default:
		p.picks = append(p.picks, pick{kind: pickNew, axis: p.axis, n: 1})
	}
}

// push appends the pick of the next axis.
func (p *parser) push(k pick) {
	k.axis, k.apart = p.axis, p.apart
	p.axis, p.apart = p.axis+1, false
	p.picks = append(p.picks, k)
}

// place checks a position along the next axis and returns it counted from the beginning.
func (p *parser) place(i int) int {
	d := p.array.shape[p.axis]
	k := fromEnd(i, d)
	if k < 0 || k >= d {
		panic(misuse(p.what, "index", "%d for axis %d of an array of shape %v, want %d to %d", i,
			p.axis, p.array.shape, -d, d-1))
	}
	return k
}

// span returns the pick of a range along the next axis.
func (p *parser) span(s Span) pick {
	d := p.array.shape[p.axis]
	k := pick{kind: pickRange, step: s.step.Or(1)}
	if k.step == 0 {
		panic(misuse(p.what, "index", "step 0 for axis %d, want another number", p.axis))
	}
	first, last, low := 0, d, 0
	if k.step < 0 {
		first, last, low = d-1, -1, -1
	}
	bound := func(v op.Opt[int], none int) int {
		if i, ok := v.Get(); ok {
			return max(low, min(fromEnd(i, d), d+low))
		}
		return none
	}
	k.begin = bound(s.begin, first)
	if span, sign := bound(s.end, last)-k.begin, 1; span != 0 && (span > 0) == (k.step > 0) {
		if k.step < 0 {
			sign = -1
		}
		k.n = (span + k.step - sign) / k.step
	}
	switch k.n {
	case 0:
		k.begin, k.step = 0, 1
	case 1:
		k.step = 1
	}
	return k
}

// places appends the picks of an array of indices, or of a mask.
func (p *parser) places(x *Array) {
	switch {
	case x == nil:
		panic(misuse(p.what, "index", "the array is nil"))
	case x.dtype == dtype.Bool:
		p.mask(x)
	case x.dtype.IsFloat():
		panic(misuse(p.what, "index", "an array of %v, want integers (AsType) or a mask (Mask)",
			x.dtype))
	default:
		x.mem(p.what)
		p.push(pick{kind: pickList, array: x, shape: x.shape})
	}
}

// mask waits for a mask and appends a list of places for each of its axes.
func (p *parser) mask(m *Array) {
	want := p.array.shape[p.axis : p.axis+len(m.shape)]
	if !m.shape.Equal(want) {
		panic(misuse(p.what, "index", "the mask has shape %v, want %v: the extents of axes %d "+
			"to %d", m.shape, want, p.axis, p.axis+len(want)-1))
	}
	values, err := m.Float64s()
	if err != nil {
		panic(blame(err, p.what))
	}
	lists := make([][]int, len(want))
	strides := want.Strides()
	for i, v := range values {
		if v == 0 {
			continue
		}
		for k := range lists {
			lists[k] = append(lists[k], i/strides[k]%want[k])
		}
	}
	for _, list := range lists {
		p.push(pick{kind: pickList, list: list, shape: Shape{len(list)}})
	}
}
