package cut

import (
	"gomx/graph"
	"gomx/op"
)

// Rates are the speeds of a machine, from which times of operators follow.
type Rates struct {
	FLOPs float64 // floating-point operations per second
	Bytes float64 // bytes per second that operators read and write
	// Measured has times in seconds of single operators, forward and backward, by the names of
	// their nodes; operators without a measurement are estimated by FLOPs and Bytes.
	Measured map[string]float64
}

// backward is the number of times that an operator's work is done: once forward, and about twice
// backward, for the gradients of its data and of its parameters.
const backward = 3

// Times returns a function for Costs.Seconds: the measured times, or else the longer one of the
// times for computing and for moving memory. The facts are the facts of the whole graph.
func (r *Rates) Times(f *graph.Facts) func(n *op.Node) float64 {
	return func(n *op.Node) float64 {
		if t, ok := r.Measured[n.Name]; ok {
			return t
		}
		c := n.Op.Cost(n.Params, descs(f, n.In), descs(f, outputs(n)))
		return backward * max(float64(c.FLOPs)/r.FLOPs, float64(c.Bytes)/r.Bytes)
	}
}

// Sizes returns a function for Costs.Bytes.
func Sizes(f *graph.Facts) func(e op.Entry) float64 {
	return func(e op.Entry) float64 { return float64(desc(f, e).Bytes) }
}

// Parameters returns a function for Costs.Memory: the bytes of the variables that an operator is
// the first to read, times copies, and of its outputs. A parameter that is trained has its value,
// its gradient and the states of the optimizer.
func Parameters(outs []op.Entry, f *graph.Facts, copies float64) func(n *op.Node) float64 {
	bytes, seen := map[*op.Node]float64{}, map[*op.Node]bool{}
	for _, n := range op.Topo(outs) {
		if n.IsVar() {
			continue
		}
		for _, e := range n.In {
			if e.Node.IsVar() && !seen[e.Node] {
				seen[e.Node] = true
				bytes[n] += copies * float64(desc(f, e).Bytes)
			}
		}
		for _, d := range descs(f, outputs(n)) {
			bytes[n] += float64(d.Bytes)
		}
	}
	return func(n *op.Node) float64 { return bytes[n] }
}

func outputs(n *op.Node) []op.Entry {
	list := make([]op.Entry, n.NumOutputs())
	for i := range list {
		list[i] = n.Entry(i)
	}
	return list
}

func descs(f *graph.Facts, list []op.Entry) []op.Desc {
	out := make([]op.Desc, len(list))
	for i, e := range list {
		out[i] = desc(f, e)
	}
	return out
}

func desc(f *graph.Facts, e op.Entry) op.Desc { return op.Plain(f.Types[e], f.Shapes[e]) }
