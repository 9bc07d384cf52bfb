package export

import (
	"fmt"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/index"
	"gomx/op/loss"
	"gomx/op/prim"
	"gomx/op/vision"
	sym "gomx/symbol"
)

// shapeRules are operators that change shapes and types, or make values from nothing but these.
var shapeRules = rules{
	prim.Reshape.Op: reshaped, prim.ReshapeLike.Op: reshaped, prim.Flatten.Op: reshaped,
	prim.ExpandDims.Op: reshaped, prim.Squeeze.Op: reshaped, prim.ShapeLike.Op: reshaped,
	prim.Identity.Op: identity, prim.IdentityWithAttrLike.Op: identity,
	prim.CrossDeviceCopy.Op: identity, loss.BlockGrad.Op: identity,
	prim.Cast.Op: converted, prim.AmpCast.Op: converted, prim.AmpMultiCast.Op: convertedAll,
	prim.BroadcastTo.Op: expanded, prim.BroadcastAxis.Op: expanded,
	prim.BroadcastLike.Op: expanded,
	prim.Zeros.Op:         filled, prim.Ones.Op: filled, prim.Full.Op: filled,
	prim.ZerosLater.Op: filled, prim.ZerosLike.Op: filled, prim.OnesLike.Op: filled,
	prim.Arange.Op: computed, prim.Linspace.Op: computed, prim.Eye.Op: computed,
	prim.ArangeLike.Op: computed, prim.ShapeArray.Op: computed, prim.SizeArray.Op: computed,
	index.IndexArray.Op: computed, vision.MultiBoxPrior.Op: computed,
}

// reshaped leaves the elements in order.
func reshaped(c *call) []value { return one(c.reshape(c.x(0), c.out(0).shape)) }

func converted(c *call) []value { return one(c.cast(c.x(0), c.out(0).typ)) }

func convertedAll(c *call) []value {
	list := c.all()
	for i := range list {
		list[i] = c.cast(list[i], c.out(i).typ)
	}
	return list
}

// expanded repeats axes of extent one.
func expanded(c *call) []value { return one(c.expand(c.x(0), c.out(0).shape)) }

// filled is an array of one number, which the operator tells.
func filled(c *call) []value {
	v, ok := c.node.Op.Fill(c.node.Params)
	if !ok {
		return c.fail("its elements differ")
	}
	return one(c.filled(c.out(0).typ, c.out(0).shape, v))
}

// computed lets gomx compute values that follow from parameters and shapes alone.
func computed(c *call) []value {
	var values []*nd.Array
	for _, x := range c.all() {
		values = append(values, nd.Zeros(x.shape, nd.As(x.typ)))
	}
	numbers, err := evaluate(c.node, values...)
	if err != nil {
		return c.fail("%v", err)
	}
	return one(c.constant(c.out(0).typ, c.out(0).shape, numbers...))
}

// evaluate computes the first output of a node for values of its inputs.
func evaluate(n *op.Node, values ...*nd.Array) ([]float64, error) {
	in, named := make([]op.Entry, len(values)), map[string]*nd.Array{}
	for i, a := range values {
		v := op.Var(fmt.Sprint("in", i))
		in[i], named[v.Name] = v.Entry(0), a
	}
	twin, err := op.NewNode(n.Op, n.Name, n.Params, in...)
	if err != nil {
		return nil, err
	}
	arrays, err := sym.FromEntries(twin.Entry(0)).Eval(device.CPU(), named)
	if err != nil {
		return nil, err
	}
	return nd.Values[float64](nd.Cast(arrays[0], nd.CastParams{DType: dtype.Float64}))
}

// pickFlat takes elements of the flattened x, and gives them a shape.
func (c *call) pickFlat(x value, ids []int, shape dtype.Shape) value {
	flat := c.reshape(x, dtype.Shape{x.shape.Size()})
	return c.reshape(c.gather(flat, c.indices(ids...), 0), shape)
}

// withZero appends a zero to the flattened x; its place is the size of x.
func (c *call) withZero(x value) value {
	flat := c.reshape(x, dtype.Shape{x.shape.Size()})
	return c.concat(0, flat, c.constant(x.typ, dtype.Shape{1}, 0))
}

// windowIndices lists the elements, numbered in the flattened array of a shape, that a slice has.
func windowIndices(shape dtype.Shape, begin, end, step []op.Opt[int]) []int {
	places := []int{0}
	strides := shape.Strides()
	for a, d := range shape {
		from, to, by := 0, d, 1
		if a < len(step) {
			by = step[a].Or(1)
		}
		if by < 0 {
			from, to = d-1, -1
		}
		clip := func(v int) int {
			if v < 0 {
				v += d
			}
			if by < 0 {
				return min(max(v, -1), d-1)
			}
			return min(max(v, 0), d)
		}
		if a < len(begin) && begin[a].IsSet() {
			from = clip(begin[a].Value())
		}
		if a < len(end) && end[a].IsSet() {
			to = clip(end[a].Value())
		}
		var next []int
		for _, p := range places {
			for i := from; by > 0 && i < to || by < 0 && i > to; i += by {
				next = append(next, p+i*strides[a])
			}
		}
		places = next
	}
	return places
}

// scatterFlat writes elements, in order, into places of the flattened x.
func (c *call) scatterFlat(x value, ids []int, elements value) value {
	flat := c.reshape(x, dtype.Shape{x.shape.Size()})
	at := c.reshape(c.indices(ids...), dtype.Shape{len(ids), 1})
	y := c.add("ScatterND", flat.shape, x.typ, []value{flat, at,
		c.reshape(elements, dtype.Shape{len(ids)})})
	return c.reshape(y, x.shape)
}
