package ndarray

import (
	"fmt"
	"iter"
	"math"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// Slice returns a view of rows begin to end-1 along the first axis; negative bounds count from
// the end. Writing to it writes to a. The rows of a sparse array are copied.
func (a *Array) Slice(begin, end int) *Array {
	a.mem("Slice")
	if len(a.shape) == 0 {
		panic(misuse("Slice", "", "the array is a scalar, want at least one axis"))
	}
	n := a.shape[0]
	b, e := fromEnd(begin, n), fromEnd(end, n)
	if b < 0 || e < b || e > n {
		panic(misuse("Slice", "begin, end", "%d, %d, want bounds within 0 and %d", begin, end, n))
	}
	if a.chunk.storage() != op.Dense {
		return apply1(prim.Slice.Op, prim.SliceParams{Begin: []op.Opt[int]{op.Some(b)},
			End: []op.Opt[int]{op.Some(e)}}, a)
	}
	shape := a.shape.Clone()
	shape[0] = e - b
	v := a.view("Slice", shape, b*a.rowBytes())
	return a.recordView(v, prim.SliceAxis.Op, prim.SliceAxisParams{Begin: b, End: op.Some(e)})
}

// At returns a view of row i, without the first axis; a negative i counts from the end. A row of a
// sparse array is a dense copy.
func (a *Array) At(i int) *Array {
	a.mem("At")
	if len(a.shape) == 0 {
		panic(misuse("At", "", "the array is a scalar, want at least one axis"))
	}
	k := fromEnd(i, a.shape[0])
	if k < 0 || k >= a.shape[0] {
		panic(misuse("At", "i", "%d, want an index below %d", i, a.shape[0]))
	}
	row := a.Slice(k, k+1).ToStorage(op.Dense)
	if a.traced() != nil && len(a.shape) > 1 {
		return apply1(prim.Squeeze.Op, prim.SqueezeParams{Axis: []int{0}}, row)
	}
	return row.reshape("At", a.shape[1:].Clone())
}

// Reshape returns a view with another shape. As in MXNet 0 keeps an extent, -1 is inferred, -2
// keeps all remaining axes, -3 joins two axes, and -4 followed by two numbers splits one.
func (a *Array) Reshape(shape ...int) *Array {
	want := Shape(shape)
	if a != nil && a.traced() != nil {
		return apply1(prim.Reshape.Op, prim.ReshapeParams{Shape: want}, a)
	}
	for _, d := range shape {
		if d <= 0 {
			return a.reshape("Reshape", a.resolve(want))
		}
	}
	return a.reshape("Reshape", append(Shape{}, shape...))
}

// resolve replaces the codes in a shape by extents, with the inference of the operator reshape.
func (a *Array) resolve(want Shape) Shape {
	out := []Shape{nil}
	params, err := prim.Reshape.Normalize(prim.ReshapeParams{Shape: want})
	if err == nil {
		err = prim.Reshape.InferShape(params, []Shape{a.shape.Clone()}, out)
	}
	if err != nil || !out[0].Known() {
		panic(misuse("Reshape", "shape", "%v does not fit an array of shape %v", []int(want),
			a.shape))
	}
	return out[0]
}

func (a *Array) reshape(what string, shape Shape) *Array {
	if shape.Size() != a.Size() {
		panic(misuse(what, "shape", "%v has %d elements, the array of shape %v has %d", shape,
			shape.Size(), a.shape, a.Size()))
	}
	return a.recordReshape(a.view(what, shape, 0))
}

// opShapeLike gives an array the shape of another. Unlike the arguments of Reshape this can be any
// shape, also a scalar's or one with an extent of zero.
var opShapeLike = prim.ShapeLike.Op

// recordReshape is recordView for a view of all elements of a in another shape.
func (a *Array) recordReshape(v *Array) *Array {
	switch {
	case a.traced() == nil:
	case len(v.shape) > 0 && v.shape.Size() > 0:
		return apply1(prim.Reshape.Op, prim.ReshapeParams{Shape: v.shape}, a)
	default:
		return apply1(opShapeLike, op.NoParams{}, a, Empty(v.shape, On(a.chunk.dev),
			Using(a.chunk.eng)))
	}
	return a.recordView(v, opShapeLike, op.NoParams{}, v)
}

// view returns an array on the part of a's memory that begins offset bytes after a.
func (a *Array) view(what string, shape Shape, offset int) *Array {
	if a.mem(what).storage() != op.Dense {
		panic(a.notDense(what))
	}
	v := a.alias(what)
	v.shape = shape
	v.offset = a.offset + offset
	return v
}

// rowBytes returns the distance in bytes of neighbours along the first axis.
func (a *Array) rowBytes() int {
	if a.shape[0] == 0 {
		return 0
	}
	return a.Bytes() / a.shape[0]
}

func fromEnd(i, n int) int {
	if i < 0 {
		return i + n
	}
	return i
}

// Set overwrites the values of a with the values of src, which must have the same shape and element
// type and may be on another device.
func (a *Array) Set(src *Array) {
	a.mem("Set")
	if src == nil {
		panic(misuse("Set", "src", "the array is nil"))
	}
	if !a.shape.Equal(src.shape) || a.dtype != src.dtype {
		panic(misuse("Set", "src", "%v %v, want %v %v", src.dtype, src.shape, a.dtype, a.shape))
	}
	a.checkWritable("Set")
	if a.chunk.eng != src.chunk.eng {
		panic(misuse("Set", "src", "the array belongs to another engine"))
	}
	if overlap(a, src) {
		if a.offset == src.offset {
			return
		}
		tmp := src.Detach().Copy()
		defer tmp.Close()
		src = tmp
	}
	copyArray(a, src)
}

// CopyInto overwrites dst with the values of a; see Set.
func (a *Array) CopyInto(dst *Array) {
	a.mem("CopyInto")
	if dst == nil {
		panic(misuse("CopyInto", "dst", "the array is nil"))
	}
	dst.Set(a)
}

// Copy returns a new array with the values of a.
func (a *Array) Copy() *Array { return unary(prim.Identity, a) }

// AsType returns a new array with the values of a converted to another element type.
func (a *Array) AsType(t dtype.Type) *Array {
	if a.Storage() != op.Dense {
		return apply1(prim.CastStored.Op, prim.CastParams{DType: t}, a)
	}
	return apply1(prim.Cast.Op, prim.CastParams{DType: t}, a)
}

// To returns a on a device: a itself when it is there, otherwise a copy. Gradients do not flow
// through a copy.
func (a *Array) To(d device.Device) *Array {
	c := a.mem("To")
	if c.dev == d {
		return a
	}
	if a.traced() != nil {
		panic(a.traced().refuse("To", "the array is traced: copies between devices are made "+
			"outside of the function"))
	}
	b, err := newStored(c.eng, d, op.Stored(c.storage(), a.dtype, a.shape), c.v.Name())
	if err != nil {
		panic(misuse("To", "", "%v", err))
	}
	copyArray(b, a)
	b.trace.tape = a.trace.tape
	return b.enter(a.scope)
}

// checkShape returns an error for extents that no array can have.
func checkShape(s Shape) error {
	n := 1
	for _, d := range s {
		if d < 0 {
			return fmt.Errorf("%v has a negative extent", []int(s))
		}
		if d > 0 && n > math.MaxInt/16/d {
			return fmt.Errorf("%v is too large", []int(s))
		}
		n *= max(d, 1)
	}
	return nil
}

// Rows iterates over the first axis: it yields each index and the view that At returns for it.
//
//	for i, row := range x.Rows() { … }
func (a *Array) Rows() iter.Seq2[int, *Array] {
	a.mem("Rows")
	if len(a.shape) == 0 {
		panic(misuse("Rows", "", "the array is a scalar, want at least one axis"))
	}
	return func(yield func(int, *Array) bool) {
		for i := range a.shape[0] {
			if !yield(i, a.At(i)) {
				return
			}
		}
	}
}

// FromRows makes a matrix on the processor from a copy of rows, which must be equally long.
func FromRows[T op.Element](rows [][]T) *Array {
	width := 0
	if len(rows) > 0 {
		width = len(rows[0])
	}
	data := make([]T, 0, len(rows)*width)
	for i, row := range rows {
		if len(row) != width {
			panic(misuse("FromRows", "rows", "row %d has %d elements, want %d as in row 0", i,
				len(row), width))
		}
		data = append(data, row...)
	}
	return FromSlice(data, len(rows), width)
}

// RowsOf waits for a matrix and returns its rows; T must be the Go type of its elements.
func RowsOf[T op.Element](a *Array) ([][]T, error) {
	if len(a.shape) != 2 {
		return nil, &op.Error{Op: "RowsOf",
			Msg: fmt.Sprintf("the array has shape %v, want two axes", a.shape), Site: op.CallSite()}
	}
	data, err := Values[T](a)
	if err != nil {
		return nil, err
	}
	rows := make([][]T, a.shape[0])
	for i := range rows {
		rows[i] = data[i*a.shape[1] : (i+1)*a.shape[1] : (i+1)*a.shape[1]]
	}
	return rows, nil
}
