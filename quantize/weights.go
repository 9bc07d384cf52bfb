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
	"gomx/op/quant"
	sym "gomx/symbol"
)

// WeightConfig says how weights are stored.
type WeightConfig struct {
	Bits int // of a weight: 8 or 4; 0: 8
	// Group is the number of neighbouring weights of an output that have one scale, a multiple of
	// 32; 0: 32 with 4 bits, all weights of an output with 8.
	Group   int
	Exclude []string // names of layers that keep their weights
}

// complete fills in defaults and checks the rest.
func (c WeightConfig) complete() (WeightConfig, error) {
	if c.Bits == 0 {
		c.Bits = 8
	}
	if c.Bits != 4 && c.Bits != 8 {
		return c, fmt.Errorf("quantize: weights of %d bits, want 4 or 8", c.Bits)
	}
	if c.Group < 0 || c.Group%quant.PackedColumns != 0 {
		return c, fmt.Errorf("quantize: groups of %d weights, want a multiple of %d", c.Group,
			quant.PackedColumns)
	}
	if c.Group == 0 && c.Bits == 4 {
		c.Group = quant.PackedColumns
	}
	return c, nil
}

// fits says why weights of a number of columns cannot be stored; it is empty where they can.
func (c WeightConfig) fits(columns int) string {
	if multiple := max(c.Group, 1); columns%multiple != 0 || columns == 0 {
		return fmt.Sprintf("%d columns, want a multiple of %d", columns, multiple)
	}
	return ""
}

// PackWeights returns the integers and the scales of float32 weights of shape (outputs, columns), as
// operator WeightOnlyFullyConnected reads them: a weight is the nearest multiple of the scale of its
// group, whose greatest magnitude is 127 or 7 steps.
func PackWeights(w *nd.Array, c WeightConfig) (codes, scale *nd.Array, err error) {
	if c, err = c.complete(); err != nil {
		return nil, nil, err
	}
	shape := w.Shape()
	if len(shape) != 2 || w.DType() != dtype.Float32 {
		return nil, nil, fmt.Errorf("quantize: weights of shape %v and type %v, want two axes and "+
			"float32", shape, w.DType())
	}
	if reason := c.fits(shape[1]); reason != "" {
		return nil, nil, fmt.Errorf("quantize: %s", reason)
	}
	values, err := w.Float32s()
	if err != nil {
		return nil, nil, err
	}
	columns := shape[1]
	group := c.Group
	if group == 0 {
		group = columns
	}
	steps := float32(int(1)<<(c.Bits-1) - 1)
	numbers, scales := make([]int8, len(values)), make([]float32, len(values)/group)
	for g := range scales {
		part := values[g*group : (g+1)*group]
		m := float32(0)
		for _, v := range part {
			m = max(m, float32(math.Abs(float64(v))))
		}
		if scales[g] = m / steps; m == 0 {
			continue
		}
		for i, v := range part {
			numbers[g*group+i] = int8(math.RoundToEven(float64(v) / float64(scales[g])))
		}
	}
	scale = nd.FromSlice(scales, shape[0], columns/group)
	if c.Bits == 8 {
		return nd.FromSlice(numbers, shape[0], columns), scale, nil
	}
	const half = quant.PackedColumns / 2
	packed := make([]uint8, len(numbers)/2)
	for i := range packed {
		at := i/half*quant.PackedColumns + i%half
		packed[i] = uint8(numbers[at])&15 | uint8(numbers[at+half])<<4
	}
	return nd.FromSlice(packed, shape[0], columns/2), scale, nil
}

// Weights stores the weights of dense layers as integers of 8 or 4 bits. Data stay float32, and so do
// all sums: networks that read more weights than they compute, such as language models word by
// word, become faster. The model and its arrays stay as they are. No data are needed.
//
// The result has operator WeightOnlyFullyConnected, which gomx alone knows.
func Weights(m *checkpoint.Model, c WeightConfig) (*Result, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	net, err := fold(m)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	now, args := map[op.Entry]op.Entry{}, map[string]*nd.Array{}
	known := map[string]bool{}
	for _, n := range op.Topo(net.outs) {
		in := make([]op.Entry, len(n.In))
		for k, e := range n.In {
			in[k] = now[e]
		}
		node := n
		if l := net.of[n]; l != nil && n.Op == nn.FullyConnected.Op {
			known[n.Name] = true
			d, err := c.layer(l, in, args)
			if err != nil {
				return nil, err
			}
			r.Layers = append(r.Layers, d.Layer)
			if d.node != nil {
				now[n.Entry(0)] = d.node.Entry(0)
				continue
			}
		}
		if !slices.Equal(in, n.In) {
			copied := *n
			copied.In, node = in, &copied
		}
		for i := range n.NumOutputs() {
			now[n.Entry(i)] = node.Entry(i)
		}
	}
	for _, name := range c.Exclude {
		if !known[name] {
			return nil, fmt.Errorf("quantize: layer %q to exclude is not in the network: it has %s",
				name, names(r.Layers))
		}
	}
	r.Model = c.model(net, now, args)
	return r, nil
}

// weighted is the treatment of a layer, with its new node if it has one.
type weighted struct {
	Layer
	node *op.Node
}

// layer makes the node of a layer, whose parameters it adds to args.
func (c WeightConfig) layer(l *layer, in []op.Entry, args map[string]*nd.Array) (weighted, error) {
	p, n := l.node.Params.(nn.FullyConnectedParams), l.node
	w := weighted{Layer: Layer{Name: n.Name, Operator: n.Op.Name}}
	switch {
	case slices.Contains(c.Exclude, n.Name):
		w.Reason = "excluded by name"
	default:
		w.Reason = c.fits(l.row())
	}
	if w.Reason != "" {
		return w, nil
	}
	w.Quantized, w.DType = true, fmt.Sprintf("int%d weights", c.Bits)
	codes, scale, err := PackWeights(nd.FromSlice(l.weight, l.shape[0], l.row()), c)
	if err != nil {
		return w, err
	}
	list := []op.Entry{in[0]}
	for _, a := range []struct {
		end   string
		value *nd.Array
	}{{"_codes", codes}, {"_scale", scale}} {
		args[n.Name+a.end] = a.value
		list = append(list, sym.Var(n.Name+a.end, sym.Shape(a.value.Shape()...),
			sym.DType(a.value.DType())).Entries()[0])
	}
	w.node = named(n.Name, quant.WeightOnlyFullyConnected, quant.WeightOnlyParams{
		NumHidden: p.NumHidden, Bits: c.Bits, Group: c.Group, NoBias: p.NoBias,
		NoFlatten: p.NoFlatten}, append(list, in[2:]...)...)
	return w, nil
}

// model makes the model of the new nodes.
func (c WeightConfig) model(net *network, now map[op.Entry]op.Entry,
	args map[string]*nd.Array) *checkpoint.Model {
	outs := make([]op.Entry, len(net.outs))
	for i, e := range net.outs {
		outs[i] = now[e]
	}
	m := &checkpoint.Model{Symbol: sym.FromEntries(outs...), Args: args,
		Aux: map[string]*nd.Array{}}
	for _, name := range m.Symbol.Arguments() {
		if a := net.args[name]; a != nil && args[name] == nil {
			m.Args[name] = a
		}
	}
	for _, name := range m.Symbol.AuxStates() {
		if a := net.aux[name]; a != nil {
			m.Aux[name] = a
		}
	}
	return m
}
