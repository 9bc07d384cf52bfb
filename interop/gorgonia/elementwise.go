package gorgonia

import (
	"errors"
	"fmt"
	"math"

	"gomx/dtype"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
)

type (
	function1  = func(data *sym.Symbol, opts ...sym.Option) *sym.Symbol
	function2  = func(lhs, rhs *sym.Symbol, opts ...sym.Option) *sym.Symbol
	withScalar = func(data *sym.Symbol, p sym.ScalarParams, opts ...sym.Option) *sym.Symbol
)

// unary maps the texts of operations to functions of one operand.
var unary = map[string]function1{
	"abs": sym.Abs, "sign": sym.Sign, "ceil": sym.Ceil, "floor": sym.Floor, "sin": sym.Sin,
	"cos": sym.Cos, "exp": sym.Exp,
	"ln": sym.Log, "log2": sym.Log2, "neg": sym.Negative, "square": sym.Square, "sqrt": sym.Sqrt,
	"inv":     sym.Reciprocal,
	"invSqrt": sym.Rsqrt, "cube": cube, "tanh": activation("tanh"),
	"sigmoid": activation("sigmoid"),
	"log1p":   sym.Log1p, "expm1": sym.Expm1, "softplus": activation("softrelu"),
}

func cube(x *sym.Symbol, opts ...sym.Option) *sym.Symbol {
	return sym.ElemwiseMul(sym.Square(x), x, opts...)
}

func activation(kind string) function1 {
	return func(x *sym.Symbol, opts ...sym.Option) *sym.Symbol {
		return sym.Activation(x, sym.ActivationParams{ActType: kind}, opts...)
	}
}

// binary is a function of two operands.
type binary struct {
	same   function2  // for operands of equal shapes
	spread function2  // for operands that broadcast to a common shape
	right  withScalar // for an array and a number
	left   withScalar // for a number and an array, in this order
	fold   func(a, b float64) float64
	truth  bool // the result is true or false
}

// binaries maps the names of operations to functions of two operands.
var binaries = map[string]binary{
	"+": {same: sym.ElemwiseAdd, spread: sym.BroadcastAdd, right: sym.PlusScalar,
		left: sym.PlusScalar, fold: func(a, b float64) float64 { return a + b }},
	"-": {same: sym.ElemwiseSub, spread: sym.BroadcastSub, right: sym.MinusScalar,
		left: sym.RMinusScalar, fold: func(a, b float64) float64 { return a - b }},
	"⊙": {same: sym.ElemwiseMul, spread: sym.BroadcastMul, right: sym.MulScalar,
		left: sym.MulScalar, fold: func(a, b float64) float64 { return a * b }},
	"÷": {same: sym.ElemwiseDiv, spread: sym.BroadcastDiv, right: sym.DivScalar,
		left: sym.RDivScalar, fold: func(a, b float64) float64 { return a / b }},
	"^": {same: sym.Power, spread: sym.BroadcastPower, right: sym.PowerScalar,
		left: sym.RPowerScalar, fold: math.Pow},
	"<": comparison(sym.Lesser, sym.BroadcastLesser, sym.LesserScalar, sym.GreaterScalar,
		func(a, b float64) bool { return a < b }),
	">": comparison(sym.Greater, sym.BroadcastGreater, sym.GreaterScalar, sym.LesserScalar,
		func(a, b float64) bool { return a > b }),
	"<=": comparison(sym.LesserEqual, sym.BroadcastLesserEqual, sym.LesserEqualScalar,
		sym.GreaterEqualScalar, func(a, b float64) bool { return a <= b }),
	">=": comparison(sym.GreaterEqual, sym.BroadcastGreaterEqual, sym.GreaterEqualScalar,
		sym.LesserEqualScalar, func(a, b float64) bool { return a >= b }),
	"==": comparison(sym.Equal, sym.BroadcastEqual, sym.EqualScalar, sym.EqualScalar,
		func(a, b float64) bool { return a == b }),
	"!=": comparison(sym.NotEqual, sym.BroadcastNotEqual, sym.NotEqualScalar, sym.NotEqualScalar,
		func(a, b float64) bool { return a != b }),

	"MinBetween": {same: sym.Minimum, spread: sym.BroadcastMinimum, right: sym.MinimumScalar,
		left: sym.MinimumScalar, fold: math.Min},
	"MaxBetween": {same: sym.Maximum, spread: sym.BroadcastMaximum, right: sym.MaximumScalar,
		left: sym.MaximumScalar, fold: math.Max},
}

func comparison(same, spread function2, right, left withScalar,
	holds func(a, b float64) bool) binary {
	fold := func(a, b float64) float64 {
		if holds(a, b) {
			return 1
		}
		return 0
	}
	return binary{same: same, spread: spread, right: right, left: left, fold: fold, truth: true}
}

// binary converts a function of two operands, which have equal shapes unless one is a scalar.
func (c *converter) binary(n *G.Node, o operation, b binary) (value, error) {
	if b.truth && !o.flag {
		return value{}, errors.New("has a boolean result: compare with retSame, for a result of " +
			"the operands' type")
	}
	in, err := c.operandsOf(n, 2)
	if err != nil {
		return value{}, err
	}
	if x := c.graph.rectified(o, in); x != nil {
		return c.rectify(x)
	}
	if x, axes := c.graph.averaged(o, in); x != nil {
		return c.mean(n, x, axes)
	}
	lhs, err := c.value(in[0])
	if err != nil {
		return value{}, err
	}
	rhs, err := c.value(in[1])
	if err != nil {
		return value{}, err
	}
	switch {
	case lhs.sym == nil && rhs.sym == nil:
		return value{number: b.fold(lhs.number, rhs.number), shape: dtype.Shape{1}}, nil
	case rhs.sym == nil:
		return value{sym: b.right(lhs.sym, sym.ScalarParams{Scalar: rhs.number}), shape: lhs.shape,
			less: lhs.less}, nil
	case lhs.sym == nil:
		return value{sym: b.left(rhs.sym, sym.ScalarParams{Scalar: lhs.number}), shape: rhs.shape,
			less: rhs.less}, nil
	case lhs.shape.Equal(rhs.shape):
		return value{sym: b.same(lhs.sym, rhs.sym), shape: lhs.shape, less: lhs.less || rhs.less},
			nil
	}
	shape, err := common(lhs.shape, rhs.shape)
	return value{sym: b.spread(lhs.sym, rhs.sym), shape: shape, less: lhs.less || rhs.less}, err
}

// common returns the shape to which two shapes broadcast.
func common(a, b dtype.Shape) (dtype.Shape, error) {
	dims := max(len(a), len(b))
	shape, other := aligned(a, dims), aligned(b, dims)
	for i, extent := range other {
		switch {
		case shape[i] == 1:
			shape[i] = extent
		case extent != 1 && extent != shape[i]:
			return nil, fmt.Errorf("has operands of shapes %v and %v, want shapes that broadcast",
				a, b)
		}
	}
	return shape, nil
}

// rectified returns x if the node multiplies x and x >= 0 or x > 0, in any order: this is
// Gorgonia's form of a rectified linear unit.
func (g view) rectified(o operation, in []*G.Node) *G.Node {
	if o.name != "⊙" {
		return nil
	}
	for i, x := range in {
		step := operationOf(in[1-i])
		if step.name != ">=" && step.name != ">" || !step.flag {
			continue
		}
		if at := g.operands(in[1-i]); len(at) == 2 && at[0] == x && isZero(at[1]) {
			return x
		}
	}
	return nil
}

// isZero reports whether n is the number 0.
func isZero(n *G.Node) bool {
	if !isConstant(n) || len(n.Shape()) > 0 || n.Value() == nil {
		return false
	}
	switch v := n.Value().Data().(type) {
	case float32:
		return v == 0
	case float64:
		return v == 0
	}
	return false
}

// rectify converts a rectified linear unit of x.
func (c *converter) rectify(x *G.Node) (value, error) {
	s, err := c.whole(x)
	return value{sym: activation("relu")(s), shape: shapeOf(x)}, err
}

// averaged returns x and the axes if the node divides a sum over axes of x by the product of their
// extents: this is Gorgonia's form of a mean.
func (g view) averaged(o operation, in []*G.Node) (x *G.Node, axes []int) {
	sum := operationOf(in[0])
	over := g.operands(in[0])
	if o.name != "÷" || sum.name != "Σ" || len(over) != 1 {
		return nil, nil
	}
	sizes, ok := g.extents(in[1], over[0])
	count := 1
	for _, axis := range sum.ints {
		count *= over[0].Shape()[axis]
	}
	product := 1
	for _, size := range sizes {
		product *= size
	}
	if !ok || len(sizes) != len(sum.ints) || product != count {
		return nil, nil
	}
	return over[0], sum.ints
}

// extents returns the axes of x whose extents n multiplies; ok is false if n is not such a product.
func (g view) extents(n, x *G.Node) (sizes []int, ok bool) {
	o, in := operationOf(n), g.operands(n)
	switch {
	case o.name == "SizeOf" && len(o.ints) == 1 && len(in) == 1 && in[0] == x &&
		o.text == fmt.Sprintf("SizeOf=%d", o.ints[0]):
		return o.ints, true
	case o.name == "⊙" && len(in) == 2:
		a, okA := g.extents(in[0], x)
		b, okB := g.extents(in[1], x)
		return append(append([]int(nil), a...), b...), okA && okB
	}
	return nil, false
}

// mean converts a mean. If the symbol is bound to other shapes, it divides by their extents.
func (c *converter) mean(n, x *G.Node, axes []int) (value, error) {
	s, err := c.whole(x)
	return value{sym: sym.Mean(s, sym.ReduceParams{Axis: axes}), shape: shapeOf(n)}, err
}
