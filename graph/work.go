package graph

import (
	"gomx/device"
	"gomx/op"
)

// bytes returns the size of an entry, zero where its shape is not known.
func (f *Facts) bytes(e op.Entry) int64 {
	s, ok := f.Shapes[e]
	if !ok || !s.Known() {
		return 0
	}
	return int64(s.Size()) * int64(f.Types[e].Size())
}

// work estimates how long a node takes on one core, in nanoseconds, from its operator's cost.
func (f *Facts) work(n *op.Node) float64 {
	in, out := make([]op.Desc, len(n.In)), make([]op.Desc, n.NumOutputs())
	for k, e := range n.In {
		in[k] = f.desc(e)
	}
	for i := range out {
		out[i] = f.desc(n.Entry(i))
	}
	c := n.Op.Cost(n.Params, in, out)
	return device.Work{Flops: float64(c.FLOPs), Bytes: float64(c.Bytes)}.NS()
}

// desc describes an entry as a plain operand, of unknown shape where nothing is known of it.
func (f *Facts) desc(e op.Entry) op.Desc { return op.Plain(f.Types[e], f.Shapes[e]) }
