package graph

import (
	"math"
	"slices"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// maxConstant is the number of bytes that a constant may have.
const maxConstant = 1 << 20

// FoldConstants computes the nodes that depend on no variable and puts constants in their places.
func FoldConstants(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	c := &folder{value: map[op.Entry]op.Tensor{}}
	return rewrite(outs, f, c.visit)
}

// folder holds the values of constant entries: of old ones and of those that it made.
type folder struct{ value map[op.Entry]op.Tensor }

func (c *folder) visit(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	e := n.Entry(0)
	if n.NumOutputs() != 1 || n.Draws() || len(n.Op.Changes(n.Params)) > 0 || n.Op.Update ||
		len(n.After) > 0 || !r.facts.Known(e) {
		return op.Entry{}
	}
	shape, t := r.facts.Shapes[e], r.facts.Types[e]
	if len(shape) == 0 || shape.Size() == 0 || shape.Size()*t.Size() > maxConstant {
		return op.Entry{}
	}
	args := &op.Args{Threads: device.Cores(), Out: []op.Desc{op.Plain(t, shape)},
		Need: []bool{true}}
	call := &op.Call{}
	for k, e := range in {
		v, ok := c.value[e]
		if ignored := slices.Contains(n.Op.Ignores, k); !ok && !(ignored && r.facts.Known(e)) {
			return op.Entry{}
		} else if !ok || ignored {
			v = op.Tensor{Desc: op.Plain(r.facts.Types[e], r.facts.Shapes[e])}
		}
		args.In, call.In = append(args.In, v.Desc), append(call.In, v)
	}
	call.Out = []op.Tensor{tensor(t, shape)}
	if !c.compute(n, args, call) {
		return op.Entry{}
	}
	made := constantNode(n, call.Out[0])
	if same(n, made) {
		c.value[e] = call.Out[0]
		return op.Entry{}
	}
	made.Attrs, made.Site = n.Attrs, n.Site
	c.value[made.Entry(0)] = call.Out[0]
	return made.Entry(0)
}

// same reports whether n already is a constant node like made, the node that would replace it.
func same(n, made *op.Node) bool {
	switch n.Op {
	case prim.Zeros.Op, prim.Ones.Op:
		return made.Op == n.Op
	case prim.Full.Op:
		return made.Op != prim.Constant.Op
	}
	return false
}

// compute runs the kernel that an executor would run.
func (c *folder) compute(n *op.Node, a *op.Args, call *op.Call) bool {
	k, err := n.Op.Prepare(device.CPU(), device.MaxTier(), n.Params, a)
	if err != nil {
		return false
	}
	if k.Scratch > 0 {
		call.Scratch = tensor(dtype.Uint8, dtype.Shape{k.Scratch}).Data
	}
	return k.Run(call) == nil
}

// tensor allocates an array whose memory is aligned to cache lines.
func tensor(t dtype.Type, s dtype.Shape) op.Tensor {
	const line = 64
	b := make([]byte, s.Size()*t.Size()+line)
	p := unsafe.Pointer(unsafe.SliceData(b))
	return op.Tensor{Desc: op.Plain(t, s), Data: unsafe.Add(p, (line-uintptr(p)%line)%line)}
}

// constantNode makes the node that computes t: cheap ones where all elements are equal.
func constantNode(n *op.Node, t op.Tensor) *op.Node {
	var made *op.Node
	if v, ok := uniform(t); !ok {
		made = prim.Constant.Node(prim.ConstantParams{Shape: t.Shape, DType: t.DType,
			Data: string(raw(t))})
	} else {
		switch v {
		case 0:
			made = prim.Zeros.Node(prim.InitParams{Shape: t.Shape, DType: t.DType,
				NPShape: len(t.Shape) == 0})
		case 1:
			made = prim.Ones.Node(prim.InitParams{Shape: t.Shape, DType: t.DType,
				NPShape: len(t.Shape) == 0})
		default:
			made = prim.Full.Node(prim.FullParams{Shape: t.Shape, DType: t.DType, Value: v,
				NPShape: len(t.Shape) == 0})
		}
	}
	made.Name = n.Name
	return made
}

func raw(t op.Tensor) []byte {
	return unsafe.Slice((*byte)(t.Data), t.Shape.Size()*t.DType.Size())
}

// uniform returns the value that all elements of t have to the bit, if there is one and a number
// can say it.
func uniform(t op.Tensor) (float64, bool) {
	b, size := raw(t), t.DType.Size()
	for at := size; at < len(b); at += size {
		if !slices.Equal(b[at:at+size], b[:size]) {
			return 0, false
		}
	}
	cell := op.Tensor{Desc: op.Plain(t.DType, dtype.Shape{1}), Data: t.Data}
	v := loop.Floats(cell)[0]
	back := tensor(t.DType, dtype.Shape{1})
	loop.Store(back, 0, []float64{v})
	return v, v == v && !(v == 0 && math.Signbit(v)) && slices.Equal(raw(back), b[:size])
}
