package cpu

// Layout is an order of the elements of an array with axes (batch, channels, spatial...). Blocked
// layouts exist only for channels that fill the blocks, so that every layout has the size of the
// plain one, and operators that work element by element need not know it.
type Layout int

// The layouts.
const (
	LayoutPlain   Layout = iota
	LayoutLast           // channels last
	LayoutBlock8         // channels in blocks of 8 that run fastest
	LayoutBlock16        // in blocks of 16
)

// Fits reports whether an array of a shape can have the layout.
func (l Layout) Fits(shape []int) bool {
	if l == LayoutPlain {
		return true
	}
	return len(shape) >= 3 && len(shape) <= 5 && (l == LayoutLast || shape[1]%l.block() == 0)
}

// block returns how many channels run fastest in a blocked layout.
func (l Layout) block() int {
	if l == LayoutBlock16 {
		return 16
	}
	return 8
}

// Seen returns the shape of a plain array with the same memory in which axis 1 still counts
// channels, or blocks of them: an operator that joins arrays along their channels can join arrays
// of the returned shapes along axis 1.
func (l Layout) Seen(shape []int) []int {
	rest := 1
	for _, n := range shape[2:] {
		rest *= n
	}
	switch l {
	case LayoutPlain:
		return shape
	case LayoutLast:
		return []int{shape[0] * rest, shape[1]}
	}
	return []int{shape[0], shape[1] / l.block(), rest * l.block()}
}
