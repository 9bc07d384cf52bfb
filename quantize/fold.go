package quantize

import (
	"fmt"
	"math"
	"slices"

	"gomx/checkpoint"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/nn"
	sym "gomx/symbol"
)

// layer is a convolution or a dense layer whose parameters are known.
type layer struct {
	node   *op.Node // in the folded graph
	weight []float32
	bias   []float32 // one per output channel, zeros without bias
	shape  dtype.Shape
}

// row is the number of weights of one output channel.
func (l *layer) row() int { return len(l.weight) / max(l.shape[0], 1) }

// network is a graph for inference: batch norms are folded into the layers before them, dropouts
// are left out.
type network struct {
	outs   []op.Entry
	args   map[string]*nd.Array
	aux    map[string]*nd.Array
	layers []*layer
	of     map[*op.Node]*layer
	reads  map[op.Entry]int // readers; being an output counts
}

// folder copies a graph.
type folder struct {
	*network
	now   map[op.Entry]op.Entry
	names map[string]bool
}

// fold makes the network of a model.
func fold(m *checkpoint.Model) (*network, error) {
	f := &folder{network: &network{args: map[string]*nd.Array{}, aux: m.Aux,
		of: map[*op.Node]*layer{}}, now: map[op.Entry]op.Entry{}, names: map[string]bool{}}
	for name, a := range m.Args {
		f.args[name] = a
	}
	nodes := m.Symbol.Nodes()
	f.reads = count(m.Symbol.Entries())
	for _, n := range nodes {
		f.names[n.Name] = true
	}
	for _, n := range nodes {
		if err := f.visit(n); err != nil {
			return nil, err
		}
	}
	for _, e := range m.Symbol.Entries() {
		f.outs = append(f.outs, f.now[e])
	}
	f.reads = count(f.outs)
	live := map[*op.Node]bool{}
	for _, n := range op.Topo(f.outs) {
		live[n] = true
	}
	f.layers = slices.DeleteFunc(f.layers, func(l *layer) bool { return !live[l.node] })
	return f.network, nil
}

// count counts the readers of every entry.
func count(outs []op.Entry) map[op.Entry]int {
	reads := map[op.Entry]int{}
	for _, n := range op.Topo(outs) {
		for _, e := range n.In {
			reads[e]++
		}
	}
	for _, e := range outs {
		reads[e]++
	}
	return reads
}

func (f *folder) visit(n *op.Node) error {
	in := make([]op.Entry, len(n.In))
	for k, e := range n.In {
		in[k] = f.now[e]
	}
	switch {
	case n.IsVar():
	case n.Op == nn.Dropout.Op && n.Params.(nn.DropoutParams).Mode == "training":
		f.now[n.Entry(0)] = in[0]
		return nil
	case n.Op == nn.BatchNorm.Op:
		if l := f.foldable(n, in); l != nil {
			return f.norm(n, l)
		}
	}
	m := n
	if !slices.Equal(in, n.In) {
		c := *n
		c.In, m = in, &c
	}
	for i := range n.NumOutputs() {
		f.now[n.Entry(i)] = m.Entry(i)
	}
	return f.layer(m)
}

// layer notes a layer whose parameters are known.
func (f *folder) layer(n *op.Node) error {
	if n.Op != nn.Convolution.Op && n.Op != nn.FullyConnected.Op || !n.In[1].Node.IsVar() {
		return nil
	}
	w := f.args[n.In[1].Node.Name]
	if w == nil || w.DType() != dtype.Float32 || len(w.Shape()) < 2 {
		return nil
	}
	l := &layer{node: n, shape: w.Shape()}
	var err error
	if l.weight, err = w.Float32s(); err != nil {
		return err
	}
	l.bias = make([]float32, l.shape[0])
	if len(n.In) > 2 {
		b := f.args[n.In[2].Node.Name]
		if b == nil || b.DType() != dtype.Float32 {
			return nil
		}
		if l.bias, err = b.Float32s(); err != nil {
			return err
		}
		if len(l.bias) != l.shape[0] {
			return fmt.Errorf("quantize: bias of %s has %d numbers, want %d", n.Name, len(l.bias),
				l.shape[0])
		}
	}
	f.layers = append(f.layers, l)
	f.of[n] = l
	return nil
}

// foldable returns the layer that batch norm n alone reads, nil if there is none.
func (f *folder) foldable(n *op.Node, in []op.Entry) *layer {
	p := n.Params.(nn.BatchNormParams)
	l := f.of[in[0].Node]
	if l == nil || f.reads[n.In[0]] != 1 || p.Axis.Value() != 1 || p.OutputMeanVar ||
		f.reads[n.Entry(1)]+f.reads[n.Entry(2)] > 0 {
		return nil
	}
	if fc, ok := l.node.Params.(nn.FullyConnectedParams); ok && fc.NoFlatten {
		return nil // axis 1 may be another axis than the channels
	}
	return l
}

// norm puts batch norm n into layer l.
func (f *folder) norm(n *op.Node, l *layer) error {
	p := n.Params.(nn.BatchNormParams)
	var v [4][]float32
	for i, e := range n.In[1:] {
		a := f.args[e.Node.Name]
		if i >= 2 {
			a = f.aux[e.Node.Name]
		}
		if a == nil {
			return fmt.Errorf("quantize: %s, of %s, has no value", e.Node.Name, n.Name)
		}
		var err error
		if v[i], err = a.Float32s(); err != nil {
			return err
		}
		if len(v[i]) != len(l.bias) {
			return fmt.Errorf("quantize: %s has %d numbers, want %d", e.Node.Name, len(v[i]),
				len(l.bias))
		}
	}
	w, b, row := make([]float32, len(l.weight)), make([]float32, len(l.bias)), l.row()
	for k := range b {
		s := 1 / math.Sqrt(float64(v[3][k])+p.Eps.Value())
		if p.NoFixGamma {
			s *= float64(v[0][k])
		}
		for i := k * row; i < (k+1)*row; i++ {
			w[i] = float32(float64(l.weight[i]) * s)
		}
		b[k] = float32((float64(l.bias[k])-float64(v[2][k]))*s + float64(v[1][k]))
	}
	name := l.node.Name
	weight := f.param(name+"_folded_weight", nd.FromSlice(w, l.shape...))
	bias := f.param(name+"_folded_bias", nd.FromSlice(b, len(b)))
	c := *l.node
	c.In = []op.Entry{l.node.In[0], weight, bias}
	switch q := c.Params.(type) {
	case nn.ConvolutionParams:
		q.NoBias = false
		c.Params = q
	case nn.FullyConnectedParams:
		q.NoBias = false
		c.Params = q
	}
	made := &layer{node: &c, weight: w, bias: b, shape: l.shape}
	f.layers[slices.Index(f.layers, l)] = made
	f.of[&c] = made
	f.now[n.Entry(0)] = c.Entry(0)
	return nil
}

// param makes a variable with a value.
func (f *folder) param(name string, value *nd.Array) op.Entry {
	for f.names[name] {
		name += "_"
	}
	f.names[name] = true
	f.args[name] = value
	return sym.Var(name, sym.Shape(value.Shape()...), sym.DType(value.DType())).Entries()[0]
}
