package ndarray

import (
	"gomx/dtype"
	"gomx/op"
)

// Index says what to take along one or more axes of an array; see Array.Index. It is one of
//
//   - Int, a place: the axis goes;
//   - Span, a range, as made by Range, RangeStep, From, Every and All: the axis stays;
//   - Ints, a list of places;
//   - an *Array of integers: for every element the place that it names, its axes taking that of
//     the axis it indexes;
//   - an *Array of booleans or a Mask: the places where it is not zero, along as many axes as it has;
//   - Ellipsis, as many whole axes as are left over;
//   - NewAxis, a further axis of extent one.
//
// Negative places count from the end.
type Index interface{ isIndex() }

// Int is the index of one place along an axis, which the result does not have.
type Int int

// Ints lists places along an axis, in any order and also repeatedly.
type Ints []int

// Span is a range along an axis. Its bounds are those of Python's slices: negative ones count from
// the end, and what lies outside of the axis is left out.
type Span struct{ begin, end, step op.Opt[int] }

// Range is the places from begin up to but not including end.
func Range(begin, end int) Span { return Span{begin: op.Some(begin), end: op.Some(end)} }

// RangeStep is every step-th place from begin up to but not including end. With a negative step it
// goes down; where it is to reach place 0 take From(begin).By(step).
func RangeStep(begin, end, step int) Span { return Range(begin, end).By(step) }

// From is the places from begin through the last.
func From(begin int) Span { return Span{begin: op.Some(begin)} }

// Every is every step-th place of the axis; Every(-1) is all of them backwards.
func Every(step int) Span { return Span{}.By(step) }

// All is the whole axis.
func All() Span { return Span{} }

// By returns the span with another step, which must not be 0. With a negative step it goes down
// from its beginning to its end.
func (s Span) By(step int) Span {
	s.step = op.Some(step)
	return s
}

// Marker is an index that stands for no axis, or for several.
type Marker uint8

// The markers.
const (
	Ellipsis Marker = iota // as many whole axes as other indices leave over
	NewAxis                // a new axis of extent one
)

// masked is an array that is to be read as a mask whatever its element type.
type masked struct{ array *Array }

// Mask makes an index of an array whose elements are zero or not, as comparisons return them.
func Mask(m *Array) Index { return masked{m} }

func (Int) isIndex()    {}
func (Ints) isIndex()   {}
func (Span) isIndex()   {}
func (Marker) isIndex() {}
func (masked) isIndex() {}
func (*Array) isIndex() {}

// pick is what is taken along one axis, or along none for a new one.
type pick struct {
	kind           pickKind
	axis           int
	begin, n, step int    // of a place (n is 1) or a range
	list           []int  // of a list: places, when they are known
	array          *Array // of a list: places, when they are not
	shape          Shape  // of a list
	apart          bool   // from a list before: an ellipsis lies between, if only of no axes
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
	axis  int  // the next axis
	apart bool // of the next pick
}

// parse returns what index takes of a, axis by axis. It panics on misuse.
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

// axes returns how many axes an index stands for.
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

// maskAxes is axes for a mask.
func (p *parser) maskAxes(m *Array) int {
	if m == nil || len(m.shape) == 0 {
		panic(misuse(p.what, "index", "the mask has no axes, want at least one"))
	}
	return len(m.shape)
}

// skip takes n axes as they are.
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

// push appends what is taken of the next axis.
func (p *parser) push(k pick) {
	k.axis, k.apart = p.axis, p.apart
	p.axis, p.apart = p.axis+1, false
	p.picks = append(p.picks, k)
}

// place checks an index along the next axis.
func (p *parser) place(i int) int {
	d := p.array.shape[p.axis]
	k := fromEnd(i, d)
	if k < 0 || k >= d {
		panic(misuse(p.what, "index", "%d for axis %d of an array of shape %v, want %d to %d", i,
			p.axis, p.array.shape, -d, d-1))
	}
	return k
}

// span works out a range along the next axis.
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

// places appends an array of indices, or a mask.
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
		panic(misuse(p.what, "index", "the mask has shape %v, want %v: that of axes %d to %d",
			m.shape, want, p.axis, p.axis+len(want)-1))
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
