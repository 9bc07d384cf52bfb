package prim

import (
	"math"
	"strings"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// The functions of two operands of one shape.
var (
	ElemwiseAdd  = op.Declare[op.NoParams]("elemwise_add")
	ElemwiseSub  = op.Declare[op.NoParams]("elemwise_sub")
	ElemwiseMul  = op.Declare[op.NoParams]("elemwise_mul")
	ElemwiseDiv  = op.Declare[op.NoParams]("elemwise_div")
	Mod          = op.Declare[op.NoParams]("_mod")
	Power        = op.Declare[op.NoParams]("_power")
	Hypot        = op.Declare[op.NoParams]("_hypot")
	Maximum      = op.Declare[op.NoParams]("_maximum")
	Minimum      = op.Declare[op.NoParams]("_minimum")
	Equal        = op.Declare[op.NoParams]("_equal")
	NotEqual     = op.Declare[op.NoParams]("_not_equal")
	Greater      = op.Declare[op.NoParams]("_greater")
	GreaterEqual = op.Declare[op.NoParams]("_greater_equal")
	Lesser       = op.Declare[op.NoParams]("_lesser")
	LesserEqual  = op.Declare[op.NoParams]("_lesser_equal")
	LogicalAnd   = op.Declare[op.NoParams]("_logical_and")
	LogicalOr    = op.Declare[op.NoParams]("_logical_or")
	LogicalXor   = op.Declare[op.NoParams]("_logical_xor")
)

// The functions of two operands that broadcast.
var (
	BroadcastAdd          = op.Declare[op.NoParams]("broadcast_add")
	BroadcastSub          = op.Declare[op.NoParams]("broadcast_sub")
	BroadcastMul          = op.Declare[op.NoParams]("broadcast_mul")
	BroadcastDiv          = op.Declare[op.NoParams]("broadcast_div")
	BroadcastMod          = op.Declare[op.NoParams]("broadcast_mod")
	BroadcastPower        = op.Declare[op.NoParams]("broadcast_power")
	BroadcastHypot        = op.Declare[op.NoParams]("broadcast_hypot")
	BroadcastMaximum      = op.Declare[op.NoParams]("broadcast_maximum")
	BroadcastMinimum      = op.Declare[op.NoParams]("broadcast_minimum")
	BroadcastEqual        = op.Declare[op.NoParams]("broadcast_equal")
	BroadcastNotEqual     = op.Declare[op.NoParams]("broadcast_not_equal")
	BroadcastGreater      = op.Declare[op.NoParams]("broadcast_greater")
	BroadcastGreaterEqual = op.Declare[op.NoParams]("broadcast_greater_equal")
	BroadcastLesser       = op.Declare[op.NoParams]("broadcast_lesser")
	BroadcastLesserEqual  = op.Declare[op.NoParams]("broadcast_lesser_equal")
	BroadcastLogicalAnd   = op.Declare[op.NoParams]("broadcast_logical_and")
	BroadcastLogicalOr    = op.Declare[op.NoParams]("broadcast_logical_or")
	BroadcastLogicalXor   = op.Declare[op.NoParams]("broadcast_logical_xor")
)

// binary is a row of the table: one function, declared for operands of one shape and for
// operands that broadcast. The gradient gets the inputs a and b, the output y and its gradient dy
// and is written once, in terms of k; nil means that the function is constant almost everywhere.
type binary struct {
	elem, bcast  op.Handle[op.NoParams]
	what         string // "a + b"
	aliases      []string
	bcastAliases []string
	precision    op.Precision
	commutes     bool
	scalar       [2]op.Handle[ScalarParams] // forms with a number as b, and as a; may be zero
	f            loop.Func2
	grad         func(k kit, a, b, y, dy op.Entry) (da, db op.Entry)
}

// kit applies binary operators in the variant that fits: of one shape, or broadcasting.
type kit struct{ broadcast bool }

func (k kit) mul(a, b op.Entry) op.Entry { return k.apply(ElemwiseMul, BroadcastMul, a, b) }
func (k kit) div(a, b op.Entry) op.Entry { return k.apply(ElemwiseDiv, BroadcastDiv, a, b) }

func (k kit) apply(elem, bcast op.Handle[op.NoParams], a, b op.Entry) op.Entry {
	if k.broadcast {
		return bcast.Apply(none, a, b)
	}
	return elem.Apply(none, a, b)
}

func init() {
	for _, table := range [][]binary{arithmetic(), comparisons()} {
		for _, b := range table {
			b.define()
		}
	}
}

func (b binary) define() {
	ref := func(_ op.NoParams, c *op.Call) error {
		loop.Zip(b.f, c.Out[0], c.In[0], c.In[1])
		return nil
	}
	s := op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc:       goName(b.elem) + " computes " + b.what + " for operands of one shape.",
			Aliases:   b.aliases,
			Inplace:   [][2]int{{0, 0}, {1, 0}},
			Pointwise: true,
			Precision: b.precision,
			Commutes:  b.commutes,
			Scalar:    [2]*op.Op{b.scalar[0].Op, b.scalar[1].Op},
		},
		Inputs: Inputs[op.NoParams]("lhs", "rhs"),
		Infer:  op.SameShape[op.NoParams],
		Grad:   b.gradient(kit{}),
		Ref:    ref,
	}
	plain := s
	b.storeBinary(&s, false)
	b.elem.Define(s)
	s = plain
	s.Doc = goName(b.bcast) + " computes " + b.what +
		" for operands that broadcast: aligned at their last axes, extents of one and missing " +
		"axes repeat."
	s.Broadcasts = true
	s.Aliases, s.Infer, s.Grad = b.bcastAliases, inferBroadcast, b.gradient(kit{broadcast: true})
	b.storeBinary(&s, true)
	b.bcast.Define(s)
}

// gradient sums the gradients of broadcast operands back to their shapes.
func (b binary) gradient(k kit) func(g *op.Grad, p op.NoParams) []op.Entry {
	if b.grad == nil {
		return ZeroGrad[op.NoParams]
	}
	return func(g *op.Grad, _ op.NoParams) []op.Entry {
		da, db := b.grad(k, g.In(0), g.In(1), g.Out(0), g.Head(0))
		if k.broadcast {
			da, db = SumLike.Apply(none, da, g.In(0)), SumLike.Apply(none, db, g.In(1))
		}
		return []op.Entry{da, db}
	}
}

// inferBroadcast infers the shape of the output, and extents of the inputs where the other
// operand leaves no choice.
func inferBroadcast(_ op.NoParams, in, out []dtype.Shape) error {
	a, b := in[0], in[1]
	if a == nil || b == nil {
		return nil
	}
	s, err := broadcastShape(a, b)
	if err != nil {
		return err
	}
	return op.Require("output", &out[0], s)
}

// broadcastShape merges two shapes, aligned at their ends. An unknown extent against one stays
// unknown; against more it becomes that or one, so the result is known.
func broadcastShape(a, b dtype.Shape) (dtype.Shape, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	s := a.Clone()
	lead := len(a) - len(b)
	for i, d := range b {
		e := s[lead+i]
		switch {
		case e == d || d == 1:
		case e == 1:
			s[lead+i] = d
		case e == -1:
			s[lead+i] = d
		case d != -1:
			return nil, op.Errorf("rhs", "shapes %v and %v do not broadcast", a, b)
		}
	}
	return s, nil
}

// goName returns the name that the generated functions will have.
func goName(h op.Handle[op.NoParams]) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(h.Name, "_"), "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func arithmetic() []binary {
	log := func(x op.Entry) op.Entry { return Log.Apply(none, x) }
	return []binary{
		{elem: ElemwiseAdd, bcast: BroadcastAdd, what: "a + b",
			commutes: true, scalar: [2]op.Handle[ScalarParams]{PlusScalar, PlusScalar},
			aliases: []string{"_Plus", "_add", "_plus", "_sparse_elemwise_add"},
			bcastAliases: []string{"_sparse_broadcast_add", "_sparse_broadcast_plus",
				"broadcast_plus"},
			f: loop.Func2{F: func(a, b float64) float64 { return a + b },
				I: func(a, b int64) int64 { return a + b }},
			grad: func(_ kit, _, _, _, dy op.Entry) (op.Entry, op.Entry) { return dy, dy }},
		{elem: ElemwiseSub, bcast: BroadcastSub, what: "a - b",
			scalar:  [2]op.Handle[ScalarParams]{MinusScalar, RMinusScalar},
			aliases: []string{"_Minus", "_minus", "_sparse_elemwise_sub", "_sub"},
			bcastAliases: []string{"_sparse_broadcast_minus", "_sparse_broadcast_sub",
				"broadcast_minus"},
			f: loop.Func2{F: func(a, b float64) float64 { return a - b },
				I: func(a, b int64) int64 { return a - b }},
			grad: func(_ kit, _, _, _, dy op.Entry) (op.Entry, op.Entry) {
				return dy, neg(dy)
			}},
		{elem: ElemwiseMul, bcast: BroadcastMul, what: "a · b",
			commutes: true, scalar: [2]op.Handle[ScalarParams]{MulScalar, MulScalar},
			aliases:      []string{"_Mul", "_mul", "_sparse_elemwise_mul"},
			bcastAliases: []string{"_sparse_broadcast_mul"},
			f: loop.Func2{F: func(a, b float64) float64 { return a * b },
				I: func(a, b int64) int64 { return a * b }},
			grad: func(k kit, a, b, _, dy op.Entry) (op.Entry, op.Entry) {
				return k.mul(dy, b), k.mul(dy, a)
			}},
		{elem: ElemwiseDiv, bcast: BroadcastDiv, what: "a / b",
			scalar:       [2]op.Handle[ScalarParams]{DivScalar, RDivScalar},
			aliases:      []string{"_Div", "_div", "_sparse_elemwise_div"},
			bcastAliases: []string{"_sparse_broadcast_div"},
			f:            loop.Func2{F: func(a, b float64) float64 { return a / b }, I: divInt},
			grad: func(k kit, a, b, _, dy op.Entry) (op.Entry, op.Entry) {
				return k.div(dy, b), neg(k.div(k.mul(dy, a), Square.Apply(none, b)))
			}},
		{elem: Mod, bcast: BroadcastMod, what: "a modulo b, with the sign of b; 0 where b is 0",
			aliases: []string{"_Mod"},
			f:       loop.Func2{F: mod, I: modInt},
			grad: func(k kit, a, b, _, dy op.Entry) (op.Entry, op.Entry) {
				return dy, neg(k.mul(dy, Floor.Apply(none, k.div(a, b))))
			}},
		{elem: Power, bcast: BroadcastPower, what: "a to the power b", aliases: []string{"_Power"},
			precision: op.Wide,
			f:         loop.Func2{F: math.Pow},
			grad: func(k kit, a, b, y, dy op.Entry) (op.Entry, op.Entry) {
				slope := k.mul(b, k.apply(Power, BroadcastPower, a, plus(b, -1)))
				return k.mul(dy, slope), k.mul(dy, k.mul(y, log(a)))
			}},
		{elem: Hypot, bcast: BroadcastHypot, what: "√(a² + b²)", aliases: []string{"_Hypot"},
			precision: op.Wide,
			f:         loop.Func2{F: math.Hypot},
			grad: func(k kit, a, b, y, dy op.Entry) (op.Entry, op.Entry) {
				return k.mul(dy, k.div(a, y)), k.mul(dy, k.div(b, y))
			}},
		{elem: Maximum, bcast: BroadcastMaximum,
			what:    "the larger of a and b, NaN if one of them is",
			aliases: []string{"_Maximum"}, bcastAliases: []string{"_npi_maximum"},
			f: loop.Func2{F: maxNaN, I: func(a, b int64) int64 { return max(a, b) }},
			grad: func(k kit, a, b, _, dy op.Entry) (op.Entry, op.Entry) {
				return k.mul(dy, k.apply(GreaterEqual, BroadcastGreaterEqual, a, b)),
					k.mul(dy, k.apply(Lesser, BroadcastLesser, a, b))
			}},
		{elem: Minimum, bcast: BroadcastMinimum,
			what:    "the smaller of a and b, NaN if one of them is",
			aliases: []string{"_Minimum"}, bcastAliases: []string{"_npi_minimum"},
			f: loop.Func2{F: minNaN, I: func(a, b int64) int64 { return min(a, b) }},
			grad: func(k kit, a, b, _, dy op.Entry) (op.Entry, op.Entry) {
				return k.mul(dy, k.apply(LesserEqual, BroadcastLesserEqual, a, b)),
					k.mul(dy, k.apply(Greater, BroadcastGreater, a, b))
			}},
	}
}

func comparisons() []binary {
	row := func(elem, bcast op.Handle[op.NoParams], alias, what string, f loop.Func2) binary {
		return binary{elem: elem, bcast: bcast, aliases: []string{alias}, what: "1 where " + what +
			" and 0 elsewhere, in the type of the operands,", f: f}
	}
	return []binary{
		row(Equal, BroadcastEqual, "_Equal", "a = b", compare(func(c int) bool { return c == 0 })),
		row(NotEqual, BroadcastNotEqual, "_Not_Equal", "a ≠ b",
			compare(func(c int) bool { return c != 0 })),
		row(Greater, BroadcastGreater, "_Greater", "a > b",
			compare(func(c int) bool { return c == 1 })),
		row(GreaterEqual, BroadcastGreaterEqual, "_Greater_Equal", "a ≥ b",
			compare(func(c int) bool { return c == 0 || c == 1 })),
		row(Lesser, BroadcastLesser, "_Lesser", "a < b",
			compare(func(c int) bool { return c == -1 })),
		row(LesserEqual, BroadcastLesserEqual, "_Lesser_Equal", "a ≤ b",
			compare(func(c int) bool { return c == 0 || c == -1 })),
		row(LogicalAnd, BroadcastLogicalAnd, "_Logical_And", "a and b are not zero",
			truth(func(a, b bool) bool { return a && b })),
		row(LogicalOr, BroadcastLogicalOr, "_Logical_Or", "a or b is not zero",
			truth(func(a, b bool) bool { return a || b })),
		row(LogicalXor, BroadcastLogicalXor, "_Logical_Xor", "exactly one of a and b is not zero",
			truth(func(a, b bool) bool { return a != b })),
	}
}

// compare makes a function of the order of its operands.
func compare(f func(order int) bool) loop.Func2 {
	return loop.Func2{
		F: func(a, b float64) float64 { return bit[float64](f(order(a, b))) },
		I: func(a, b int64) int64 { return bit[int64](f(order(a, b))) },
	}
}

// order is -1, 0, 1 as a is less than, equal to or greater than b, and 2 where one is NaN.
func order[T float64 | int64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a == b:
		return 0
	case a > b:
		return 1
	}
	return 2
}

// truth makes a function of whether its operands differ from zero.
func truth(f func(a, b bool) bool) loop.Func2 {
	return loop.Func2{
		F: func(a, b float64) float64 { return bit[float64](f(a != 0, b != 0)) },
		I: func(a, b int64) int64 { return bit[int64](f(a != 0, b != 0)) },
	}
}

func divInt(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func mod(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	r := math.Mod(a, b)
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

func modInt(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

func maxNaN(a, b float64) float64 {
	if math.IsNaN(a) || a > b {
		return a
	}
	return b
}

func minNaN(a, b float64) float64 {
	if math.IsNaN(a) || a < b {
		return a
	}
	return b
}
