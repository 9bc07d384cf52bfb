package export

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
)

// unary adds a node whose output has the shape and the type of x.
func (w *pen) unary(kind string, x value, attrs ...*attribute) value {
	return w.add(kind, x.shape, x.typ, []value{x}, attrs...)
}

// broadcast is the shape that two shapes broadcast to.
func broadcast(a, b dtype.Shape) dtype.Shape {
	if len(a) < len(b) {
		a, b = b, a
	}
	s := a.Clone()
	for i, d := range b {
		if k := len(a) - len(b) + i; s[k] == 1 {
			s[k] = d
		}
	}
	return s
}

// binary adds a node of two operands that broadcast.
func (w *pen) binary(kind string, a, b value, attrs ...*attribute) value {
	return w.add(kind, broadcast(a.shape, b.shape), a.typ, []value{a, b}, attrs...)
}

func (w *pen) plus(a, b value) value  { return w.binary("Add", a, b) }
func (w *pen) minus(a, b value) value { return w.binary("Sub", a, b) }
func (w *pen) times(a, b value) value { return w.binary("Mul", a, b) }
func (w *pen) over(a, b value) value  { return w.binary("Div", a, b) }

// scaled is x·k.
func (w *pen) scaled(x value, k float64) value {
	if k == 1 {
		return x
	}
	return w.times(x, w.like(x, k))
}

// test adds a comparison, whose output is boolean.
func (w *pen) test(kind string, a, b value) value {
	return w.add(kind, broadcast(a.shape, b.shape), dtype.Bool, []value{a, b})
}

// not inverts a boolean value.
func (w *pen) not(x value) value { return w.unary("Not", x) }

// where takes elements of a where cond holds, of b elsewhere.
func (w *pen) where(cond, a, b value) value {
	return w.add("Where", broadcast(cond.shape, broadcast(a.shape, b.shape)), a.typ,
		[]value{cond, a, b})
}

// cast converts x to a type; it is x if it has the type.
func (w *pen) cast(x value, t dtype.Type) value {
	if x.typ == t {
		return x
	}
	return w.add("Cast", x.shape, t, []value{x}, num("to", int(code(t))))
}

// reshape gives x a shape of as many elements.
func (w *pen) reshape(x value, shape dtype.Shape) value {
	if x.shape.Equal(shape) {
		return x
	}
	if shape.Size() == 0 {
		return w.add("Reshape", shape, x.typ, []value{x, w.indices(shape...)}, num("allowzero", 1))
	}
	return w.add("Reshape", shape, x.typ, []value{x, w.indices(shape...)})
}

// transpose permutes the axes.
func (w *pen) transpose(x value, perm ...int) value {
	shape, moved := make(dtype.Shape, len(perm)), false
	for i, a := range perm {
		shape[i] = x.shape[a]
		moved = moved || a != i
	}
	if !moved {
		return x
	}
	return w.add("Transpose", shape, x.typ, []value{x}, ints("perm", perm...))
}

// expand repeats x to a shape that it broadcasts to.
func (w *pen) expand(x value, shape dtype.Shape) value {
	if x.shape.Equal(shape) {
		return x
	}
	return w.add("Expand", shape, x.typ, []value{x, w.indices(shape...)})
}

// axis makes the number of an axis positive.
func axis(a, rank int) int {
	if a < 0 {
		return a + rank
	}
	return a
}

// upTo lists the numbers from a to n - 1.
func upTo(a, n int) []int {
	list := []int{}
	for ; a < n; a++ {
		list = append(list, a)
	}
	return list
}

// reduce adds a reduction over axes, which must be positive.
func (w *pen) reduce(kind string, x value, axes []int, keep bool) value {
	if len(axes) == 0 { // ONNX would reduce all axes
		return x
	}
	var shape dtype.Shape = dtype.Shape{}
	for i, d := range x.shape {
		switch {
		case !slices.Contains(axes, i):
			shape = append(shape, d)
		case keep:
			shape = append(shape, 1)
		}
	}
	attr := num("keepdims", 0)
	if keep {
		attr = num("keepdims", 1)
	}
	return w.add(kind, shape, x.typ, []value{x, w.indices(axes...)}, attr)
}

// slice takes the elements from, from + step, … before to of an axis; the step is positive.
func (w *pen) slice(x value, axis, from, to, step int) value {
	if from == 0 && to == x.shape[axis] && step == 1 {
		return x
	}
	shape := x.shape.Clone()
	shape[axis] = max(0, (to-from+step-1)/step)
	return w.add("Slice", shape, x.typ, []value{x, w.indices(from), w.indices(to),
		w.indices(axis), w.indices(step)})
}

// flip reverses an axis.
func (w *pen) flip(x value, axis int) value {
	return w.add("Slice", x.shape, x.typ, []value{x, w.indices(-1), w.indices(-1 << 62),
		w.indices(axis), w.indices(-1)})
}

// concat joins values along an axis.
func (w *pen) concat(axis int, list ...value) value {
	if len(list) == 1 {
		return list[0]
	}
	shape := list[0].shape.Clone()
	for _, v := range list[1:] {
		shape[axis] += v.shape[axis]
	}
	return w.add("Concat", shape, list[0].typ, list, num("axis", axis))
}

// split cuts an axis into parts of the given extents.
func (w *pen) split(x value, axis int, extents ...int) []value {
	if len(extents) == 1 {
		return one(x)
	}
	outs := make([]value, len(extents))
	for i, n := range extents {
		shape := x.shape.Clone()
		shape[axis] = n
		outs[i] = value{"", shape, x.typ}
	}
	return w.nodes("Split", []value{x, w.indices(extents...)}, outs, num("axis", axis))
}

// gather takes elements of an axis by integers of int32 or int64.
func (w *pen) gather(x, ids value, axis int) value {
	shape := slices.Concat(x.shape[:axis], ids.shape, x.shape[axis+1:])
	return w.add("Gather", shape, x.typ, []value{x, ids}, num("axis", axis))
}

// matmul multiplies matrices in the last two axes; the axes before them broadcast.
func (w *pen) matmul(a, b value) value {
	n, m := len(a.shape), len(b.shape)
	shape := broadcast(a.shape[:n-2], b.shape[:m-2])
	return w.add("MatMul", append(shape, a.shape[n-2], b.shape[m-1]), a.typ, []value{a, b})
}

// swapLast exchanges the last two axes.
func (w *pen) swapLast(x value) value {
	perm := upTo(0, len(x.shape))
	n := len(perm)
	perm[n-2], perm[n-1] = perm[n-1], perm[n-2]
	return w.transpose(x, perm...)
}

// filled is an array of one number.
func (w *pen) filled(typ dtype.Type, shape dtype.Shape, v float64) value {
	one := &onnxpb.TensorProto{DataType: proto.Int32(code(typ)), Dims: []int64{1},
		RawData: appendNumber(nil, typ, v)}
	return w.add("ConstantOfShape", shape, typ, []value{w.indices(shape...)},
		&attribute{Name: proto.String("value"),
			Type: onnxpb.AttributeProto_TENSOR.Enum(), T: one})
}

// along is a constant of numbers along one axis of an array of rank axes.
func (w *pen) along(typ dtype.Type, axis, rank int, numbers ...float64) value {
	shape := make(dtype.Shape, rank)
	for i := range shape {
		shape[i] = 1
	}
	shape[axis] = len(numbers)
	return w.constant(typ, shape, numbers...)
}

// counting is 0, 1, … n - 1.
func counting(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(i)
	}
	return list
}

// perChannel gives a vector the shape (n, 1, …), which broadcasts along axis of an array of rank
// axes.
func (w *pen) perChannel(x value, axis, rank int) value {
	shape := make(dtype.Shape, rank-axis)
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = x.shape.Size()
	return w.reshape(x, shape)
}

// truth is whether the elements of x are not zero.
func (w *pen) truth(x value) value { return w.cast(x, dtype.Bool) }

// floating computes f in float32 for integers and booleans, and in the type of x for floating-point
// types.
func (c *call) floating(x value, f func(x value) value) value {
	if x.typ.IsFloat() {
		return f(x)
	}
	return c.cast(f(c.cast(x, dtype.Float32)), x.typ)
}

// wide is the type in which narrow integers and booleans are added and multiplied: runtimes have
// these operators for wider integers, and cutting the results off gives the same.
func wide(t dtype.Type) dtype.Type {
	switch t {
	case dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16, dtype.Bool:
		return dtype.Int32
	case dtype.Uint32, dtype.Uint64:
		return dtype.Int64
	}
	return t
}

// arithmetic computes a function of two operands in the wide type.
func (c *call) arithmetic(a, b value, f func(a, b value) value) value {
	t := a.typ
	return c.cast(f(c.cast(a, wide(t)), c.cast(b, wide(t))), t)
}
