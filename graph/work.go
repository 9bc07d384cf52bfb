package graph

import (
	"math"

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

// size returns the number of elements of an entry.
func (f *Facts) size(e op.Entry) float64 {
	if s, ok := f.Shapes[e]; ok && s.Known() {
		return float64(s.Size())
	}
	return 0
}

// work estimates how long a node takes on one core, in nanoseconds: what it moves, and the
// multiplications where it has a weight or multiplies matrices.
func (f *Facts) work(n *op.Node) float64 {
	w := device.Work{}
	for _, e := range n.In {
		w.Bytes += float64(f.bytes(e))
	}
	out := 0.0
	for i := range n.NumOutputs() {
		w.Bytes += float64(f.bytes(n.Entry(i)))
		out = max(out, f.size(n.Entry(i)))
	}
	inputs := n.Op.Inputs(n.Params)
	for k := range n.In {
		if k >= len(inputs) {
			break
		}
		s := f.Shapes[n.In[k]]
		switch name := inputs[k].Name; {
		case name == "weight" && len(s) >= 2 && s.Known() && len(n.In) > 0:
			// One multiplication per output and tap, or per input and tap where the weight spreads it.
			each := out
			if n.Op.Name == "Deconvolution" {
				each = f.size(n.In[0])
			}
			w.Flops = max(w.Flops, 2*each*float64(s.Size()/max(s[0], 1)))
		case name == "parameters":
			if d := f.Shapes[n.In[0]]; d.Known() && len(d) == 3 {
				w.Flops = 2 * f.size(n.In[k]) * float64(d[0]*d[1])
			}
		}
	}
	if n.Op.Name == "Embedding" {
		w.Flops = 0
	}
	if (n.Op.Name == "dot" || n.Op.Name == "batch_dot") && len(n.In) == 2 && out > 0 {
		w.Flops = 2 * math.Sqrt(f.size(n.In[0])*f.size(n.In[1])*out)
	}
	return w.NS()
}
