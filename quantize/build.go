package quantize

import (
	"math"
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
	"gomx/op/quant"
	sym "gomx/symbol"
)

// Steps of integers: the number of steps that MXNet divides a magnitude into.
const (
	int8Steps   = 127.5
	uint8Steps  = 255.5
	weightSteps = 127
)

// integers is an array of quantized numbers with the ends of its range.
type integers struct{ data, low, high op.Entry }

// builder makes the quantized graph of a network.
type builder struct {
	*sites
	quantized map[*op.Node]bool // layers that compute with integers
	dynamic   bool              // ranges are found when the network runs
	reading   map[op.Entry]bool // entries whose integers are read
	args      map[string]*nd.Array
	now       map[op.Entry]op.Entry // entries of float32, by entry of the network
	made      map[op.Entry]integers // by entry of the network
	back      map[op.Entry]op.Entry // float32 made of integers, by entry of the network
}

// build returns the outputs of the quantized graph, and its arguments.
func build(s *sites, quantized map[*op.Node]bool, dynamic bool) ([]op.Entry,
	map[string]*nd.Array) {
	b := &builder{sites: s, quantized: quantized, dynamic: dynamic,
		reading: s.read(quantized),
		args:    map[string]*nd.Array{}, now: map[op.Entry]op.Entry{},
		made: map[op.Entry]integers{}, back: map[op.Entry]op.Entry{}}
	for _, n := range op.Topo(s.outs) {
		b.visit(n)
	}
	outs := make([]op.Entry, len(s.outs))
	for i, e := range s.outs {
		outs[i] = b.now[e]
	}
	for _, n := range op.Topo(outs) {
		if v := s.args[n.Name]; n.IsVar() && v != nil {
			b.args[n.Name] = v
		}
	}
	return outs, b.args
}

func (b *builder) visit(n *op.Node) {
	if b.quantized[n] {
		b.now[n.Entry(0)] = b.layer(b.network.of[n])
		return
	}
	in := make([]op.Entry, len(n.In))
	for k, e := range n.In {
		in[k] = b.real(e)
	}
	m := n
	if !slices.Equal(in, n.In) {
		c := *n
		c.In, m = in, &c
	}
	for i := range n.NumOutputs() {
		b.now[n.Entry(i)] = m.Entry(i)
	}
}

// real returns e as float32. Where a quantized layer computes e and others read its integers, the
// result is made of these: the float32 numbers then never exist.
func (b *builder) real(e op.Entry) op.Entry {
	if b.dynamic || slices.ContainsFunc(sources(e), func(src op.Entry) bool {
		return !b.reading[src] || !b.computed(src, b.quantized)
	}) {
		return b.now[e]
	}
	if r, ok := b.back[e]; ok {
		return r
	}
	q := b.integers(e)
	r := named(e.Node.Name+"_dequantize", quant.Dequantize, quant.DequantizeParams{}, q.data, q.low,
		q.high).Entry(0)
	b.back[e] = r
	return r
}

// named makes a node.
func named[P any](name string, h op.Handle[P], p P, in ...op.Entry) *op.Node {
	n := h.Node(p, in...)
	n.Name = name
	return n
}

// param makes a variable with a value.
func (b *builder) param(name string, value *nd.Array) op.Entry {
	b.args[name] = value
	return sym.Var(name, sym.Shape(value.Shape()...), sym.DType(value.DType())).Entries()[0]
}

// integers returns the quantized form of e.
func (b *builder) integers(e op.Entry) integers {
	if q, ok := b.made[e]; ok {
		return q
	}
	n, name := e.Node, e.Node.Name+"_quantize"
	var m *op.Node
	if n.IsVar() || !moves(n) {
		m = b.quantize(name, b.now[e], b.sites.of[e])
	} else {
		var data, ranges []op.Entry
		for _, in := range n.In {
			q := b.integers(in)
			data, ranges = append(data, q.data), append(ranges, q.low, q.high)
		}
		name = e.Node.Name + "_quantized"
		in := slices.Concat(data, ranges)
		switch n.Op {
		case nn.Pooling.Op:
			m = named(name, quant.Pooling, n.Params.(nn.PoolingParams), in...)
		case prim.Flatten.Op:
			m = named(name, quant.Flatten, op.NoParams{}, in...)
		case prim.Concat.Op:
			m = named(name, quant.Concat, quant.QuantizedConcatParams{NumArgs: len(n.In),
				Dim: op.Some(1)}, in...)
		}
	}
	q := integers{m.Entry(0), m.Entry(1), m.Entry(2)}
	b.made[e] = q
	return q
}

// quantize makes the node that turns e into integers with the range of a site.
func (b *builder) quantize(name string, e op.Entry, s *site) *op.Node {
	p := quant.QuantizeV2Params{OutType: "uint8"}
	if s.signed() || b.dynamic && !s.positive {
		p.OutType = "int8"
	}
	if !b.dynamic {
		p.MinCalibRange, p.MaxCalibRange = op.Some(s.low), op.Some(s.high)
	}
	return named(name, quant.QuantizeV2, p, e)
}

// shifted returns e as uint8 numbers with a zero point, padded with it as a convolution wants, the
// step of the numbers and the zero point.
func (b *builder) shifted(l *layer, e op.Entry) (q integers, step, zero float64) {
	s, x, name := b.at(e), b.now[e], l.node.Name
	width := float64(float32(s.high - s.low))
	step = width / uint8Steps
	zero = math.RoundToEven(-s.low / step)
	p := l.node.Params.(nn.ConvolutionParams)
	if slices.ContainsFunc(p.Pad, func(v int) bool { return v != 0 }) {
		widths := make([]int, 4, 4+2*len(p.Kernel))
		for _, v := range p.Pad {
			widths = append(widths, v, v)
		}
		x = named(name+"_pad", nn.Pad, nn.PadParams{Mode: "constant", PadWidth: widths},
			x).Entry(0)
	}
	x = named(name+"_shift", prim.PlusScalar, prim.ScalarParams{Scalar: float64(float32(zero *
		step))}, x).Entry(0)
	m := named(name+"_quantize", quant.QuantizeV2, quant.QuantizeV2Params{OutType: "uint8",
		MinCalibRange: op.Some(0.0), MaxCalibRange: op.Some(width)}, x)
	return integers{m.Entry(0), m.Entry(1), m.Entry(2)}, step, zero
}

// layer makes the nodes of a quantized layer; the last one has the name of the layer.
func (b *builder) layer(l *layer) op.Entry {
	data, s := l.node.In[0], b.at(l.node.In[0])
	conv, isConv := l.node.Params.(nn.ConvolutionParams)
	var q integers
	var step, zero float64
	if isConv && !b.dynamic && s.signed() {
		q, step, zero = b.shifted(l, data)
		conv.Pad = make([]int, len(conv.Kernel))
	} else if q = b.integers(data); b.dynamic {
		step = 1 / uint8Steps
	} else {
		step = max(-s.low, s.high) / uint8Steps
	}
	if !isConv && (b.dynamic && !s.positive || s.signed()) {
		step *= uint8Steps / int8Steps
	}
	weight, steps, sums := l.integers()
	limit := float32(0)
	offset := slices.Clone(l.bias)
	for k := range steps {
		limit = max(limit, float32(steps[k]*weightSteps))
		steps[k] *= step
		offset[k] -= float32(zero * sums[k] * steps[k])
	}
	name := l.node.Name
	in := []op.Entry{q.data, b.param(name+"_weight_quantize", nd.FromSlice(weight, l.shape...)),
		q.low, q.high,
		b.param(name+"_weight_quantize_min", nd.FromSlice([]float32{-limit}, 1)),
		b.param(name+"_weight_quantize_max", nd.FromSlice([]float32{limit}, 1))}
	axes := 2
	var m *op.Node
	if isConv {
		conv.NoBias, axes = true, 2+len(conv.Kernel)
		m = named(name+"_sums", quant.Convolution, conv, in...)
	} else {
		p := l.node.Params.(nn.FullyConnectedParams)
		p.NoBias = true
		m = named(name+"_sums", quant.FullyConnected, p, in...)
	}
	shape := ones(axes)
	shape[1] = len(offset)
	return b.scaled(name, m.Entry(0), q, channels{steps, offset, shape})
}

// channels has the steps and the offsets of the channels of a layer, in arrays of a shape.
type channels struct {
	steps  []float64
	offset []float32
	shape  []int
}

func ones(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// scaled makes the outputs of a layer of its sums.
func (b *builder) scaled(layer string, sums op.Entry, q integers, c channels) op.Entry {
	step := make([]float32, len(c.steps))
	for k := range step {
		step[k] = float32(c.steps[k])
	}
	y := named(layer+"_cast", prim.Cast, prim.CastParams{DType: dtype.Float32}, sums).Entry(0)
	// MXNet's Cast leaves its result in the memory of the sums, which some operators of MXNet then
	// read as integers. Clip, which changes nothing, moves it.
	y = named(layer+"_moved", prim.Clip, prim.ClipParams{AMin: -1 << 31, AMax: 1 << 31}, y).Entry(0)
	if b.dynamic { // steps are relative to the range of the batch
		r := named(layer+"_range", prim.Reshape, prim.ReshapeParams{Shape: ones(len(c.shape))},
			q.high).Entry(0)
		y = named(layer+"_ranged", prim.BroadcastMul, op.NoParams{}, y, r).Entry(0)
	}
	y = named(layer+"_scaled", prim.BroadcastMul, op.NoParams{}, y,
		b.param(layer+"_scale", nd.FromSlice(step, c.shape...))).Entry(0)
	return named(layer, prim.BroadcastAdd, op.NoParams{}, y,
		b.param(layer+"_offset", nd.FromSlice(c.offset, c.shape...))).Entry(0)
}

// integers returns the weights as integers, the step of every output channel, and the sum of its
// integers.
func (l *layer) integers() (q []int8, steps, sums []float64) {
	q, row := make([]int8, len(l.weight)), l.row()
	steps, sums = make([]float64, len(l.bias)), make([]float64, len(l.bias))
	for k := range steps {
		w := l.weight[k*row : (k+1)*row]
		m := 0.0
		for _, v := range w {
			m = max(m, math.Abs(float64(v)))
		}
		if m == 0 {
			m = 1
		}
		steps[k] = m / weightSteps
		for i, v := range w {
			n := math.RoundToEven(float64(v) / steps[k])
			q[k*row+i] = int8(n)
			sums[k] += n
		}
	}
	return q, steps, sums
}
