package op

// Kind groups operators by the work that they do.
type Kind uint8

// The kinds of operators.
const (
	Other Kind = iota
	Product
	Normalization
	Pooling
	Loss
	Shape    // places elements and computes none
	Function // treats elements one by one
)

var kindNames = [...]string{"other", "product", "normalization", "pooling", "loss", "shape",
	"function"}

// String returns the kind in lower case.
func (k Kind) String() string { return kindNames[k] }

// KindOf returns the Kind that the definition gives, else the one that follows from other traits.
func (o *Op) KindOf() Kind {
	switch {
	case o.Kind != Other:
		return o.Kind
	case o.Moves || o.Identity:
		return Shape
	case o.Pointwise:
		return Function
	}
	return Other
}

// Neutral reports whether, under the given normalized parameters, output 0 equals input 0 wherever
// both have one shape and type.
func (o *Op) Neutral(params any) bool { return o.neutral(params) }

// Fill returns the number that all elements of output 0 are; ok is false where there is none.
func (o *Op) Fill(params any) (v float64, ok bool) {
	if o.fill == nil {
		return 0, false
	}
	return o.fill(params), true
}

// Always is Spec.Neutral of operators that are neutral with any parameters.
func Always[P any](P) bool { return true }
